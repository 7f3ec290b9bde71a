"""Frames are divided by hop and node, each once and in their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drover.flow.frames import DRIVER, Frame, FrameKind, FramePort
from drover.flow.schedule import HopNode
from drover.spark.resident.frame_split import split_frames
from drover.spark.tasks import frames_of, record_batch

places = st.tuples(st.sampled_from([0, 1, DRIVER]), st.integers(0, 3))


@given(st.lists(st.lists(places, min_size=1, max_size=8), max_size=4))
def test_every_frame_goes_to_its_place(batches: list[list[tuple[int, int]]]) -> None:
    port = FramePort(FrameKind.ROWS, "s")
    numbered = [
        [Frame(node, hop, port, index, serial, b"x") for serial, (hop, node) in enumerate(batch)]
        for index, batch in enumerate(batches)
    ]
    found = split_frames(map(record_batch, numbered))
    everything = [frame for batch in numbered for frame in batch]
    assert set(found) == {HopNode(frame.hop, frame.node) for frame in everything}
    for place, parts in found.items():
        frames = [frame for part in parts for frame in frames_of(part.columns)]
        assert frames == [frame for frame in everything if (frame.hop, frame.node) == place]

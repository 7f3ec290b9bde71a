"""Frames are divided by hop and node, each once and in their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drover.flow.frames import DRIVER, Frame, FrameKind, FramePort
from drover.spark.resident.frame_split import split_frames

places = st.tuples(st.sampled_from([0, 1, DRIVER]), st.integers(0, 3))


@given(st.lists(places, max_size=20))
def test_every_frame_goes_to_its_place(numbered: list[tuple[int, int]]) -> None:
    port = FramePort(FrameKind.ROWS, "s")
    everything = [Frame(node, hop, port, 0, serial, b"x") for serial, (hop, node) in enumerate(numbered)]
    by_place, for_driver = split_frames(everything)
    assert for_driver == [frame for frame in everything if frame.hop == DRIVER]
    assert set(by_place) == {(frame.hop, frame.node) for frame in everything if frame.hop != DRIVER}
    for place, frames in by_place.items():
        assert frames == [frame for frame in everything if (frame.hop, frame.node) == place]

"""Frames: every row arrives once at every place, in the same order on every replay."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from drover.flow.frames import (
    DRIVER,
    Edge,
    FrameKind,
    FramePort,
    cut,
    decode,
    edges,
    encode,
    pack,
    stream_port,
    summed_edges,
    unpack,
)
from drover.flow.schedule import HopNode

STREAM = stream_port("s")


def test_rows_survive_the_way() -> None:
    frame = pl.DataFrame({"x": [1, None, 3], "s": ["a", "ü", None], "t": [datetime(2024, 1, 1, tzinfo=UTC)] * 3})
    assert_frame_equal(decode(encode(frame)), frame)


def test_large_frames_are_cut_and_put_together_again() -> None:
    frame = pl.DataFrame({"x": range(100_000)})
    assert len(list(cut(frame, most=100_000))) == 8
    frames = list(pack(frame, STREAM, [HopNode(0, 0), HopNode(1, 2)], origin=7))
    assert {(one.node, one.hop, one.port) for one in frames} == {(0, 0, STREAM), (2, 1, STREAM)}
    mine = [one for one in frames if one.node == 2]
    assert_frame_equal(unpack(reversed(mine))[STREAM], frame)  # whatever order they come in
    assert list(pack(frame, STREAM, [], origin=0)) == []
    assert list(cut(frame.clear())) == []


@pytest.mark.parametrize("most", [64 << 10, 256 << 10, 4 << 20])
def test_pieces_carry_their_own_strings_only(most: int) -> None:
    whole = pl.DataFrame({"url": [f"/a/path/that/is/too/long/to/be/inlined/{k}" for k in range(200_000)]})
    for frame in (whole, whole.filter(pl.int_range(pl.len()) % 50 == 0), pl.concat([whole, whole.head(10)])):
        frames = list(pack(frame, STREAM, [HopNode(0, 0)], origin=0, most=most))
        assert sum(len(one.payload) for one in frames) < 2 * frame.estimated_size()
        assert_frame_equal(unpack(frames)[STREAM], frame)


def test_kinds_keep_equal_names_apart() -> None:
    rows = pl.DataFrame({"x": [1]})
    ports = [FramePort(kind, "s", reader) for kind in FrameKind for reader in ("", "s:j:left")]
    frames = [frame for port in ports for frame in pack(rows, port, [HopNode(0, 1)], origin=0)]
    assert set(unpack(frames)) == set(ports)


def test_edges_of_several_senders_add_up() -> None:
    found = summed_edges([Edge("b", 0, 1, 5), Edge("a", 1, 1, 10), Edge("b", 0, 2, 7)])
    assert found == (Edge("a", 1, 1, 10), Edge("b", 0, 3, 12))


def test_an_edge_counts_what_travels_between_nodes_by_stream() -> None:
    rows = pl.DataFrame({"x": [1]})
    ports = [stream_port("s"), FramePort(FrameKind.JOIN_ROWS, "s", "s:j:left"), stream_port("s:j:left")]
    frames = [frame for port in ports for frame in pack(rows, port, [HopNode(0, 1), HopNode(DRIVER, 0)], origin=0)]
    assert [(edge.stream, edge.node, edge.frames) for edge in edges(frames)] == [("s", 1, 2), ("s:j:left", 1, 1)]

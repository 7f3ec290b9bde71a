"""Frames and the router: every row arrives once at every place that reads it, or among the dead letters."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import drover
from drover.flow.frames import DRIVER, cut, decode, encode, pack, unpack
from drover.flow.router import LATEST, REASON, route
from drover.flow.schedule import Place, make_schedule
from drover.placement.plan import Plan


def test_rows_survive_the_way() -> None:
    frame = pl.DataFrame({"x": [1, None, 3], "s": ["a", "ü", None], "t": [datetime(2024, 1, 1, tzinfo=UTC)] * 3})
    assert_frame_equal(decode(encode(frame)), frame)


def test_large_frames_are_cut_and_put_together_again() -> None:
    frame = pl.DataFrame({"x": range(100_000)})
    assert len(list(cut(frame, most=100_000))) == 8
    frames = list(pack(frame, "s", [Place(0, 0), Place(1, 2)], origin=7))
    assert {(one.node, one.hop, one.port) for one in frames} == {(0, 0, "s"), (2, 1, "s")}
    mine = [one for one in frames if one.node == 2]
    assert_frame_equal(unpack(reversed(mine))["s"], frame)  # whatever order they come in
    assert list(pack(frame, "s", [], origin=0)) == []
    assert list(cut(frame.clear())) == []


@pytest.mark.parametrize("most", [64 << 10, 256 << 10, 4 << 20])
def test_pieces_carry_their_own_strings_only(most: int) -> None:
    whole = pl.DataFrame({"url": [f"/a/path/that/is/too/long/to/be/inlined/{k}" for k in range(200_000)]})
    for frame in (whole, whole.filter(pl.int_range(pl.len()) % 50 == 0), pl.concat([whole, whole.head(10)])):
        frames = list(pack(frame, "s", [Place(0, 0)], origin=0, most=most))
        assert sum(len(one.payload) for one in frames) < 2 * frame.estimated_size()
        assert_frame_equal(unpack(frames)["s"], frame)


def test_the_router_sends_good_rows_on_and_tells_why_others_are_dead() -> None:
    net = drover.Builder("n")
    source = net.source("s", {"ts": "timestamp", "x": "int"}, time="ts")
    source.filter("f", "x > 0").output()
    network = net.build()
    schedule = make_schedule(network, Plan(1, 2, {"f": 1}))
    rows = pl.DataFrame(
        {"ts": [5, None, 9, 260_000_000_000_000_000], "x": [1, 2, 3, 4]}, schema={"ts": pl.Int64, "x": pl.Int32}
    ).with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
    frames = list(route(network, schedule, {"s": rows}, 3))
    sent = unpack(one for one in frames if one.node == 1)
    assert sent["s"]["x"].to_list() == [1, 3]
    (latest,) = (one for one in frames if one.port == LATEST)
    assert (pickle.loads(latest.payload), latest.hop) == ({"s": 9}, DRIVER)
    dead = unpack(one for one in frames if one.port == "dead:s")["dead:s"]
    assert dead["x"].to_list() == [2, 4]
    assert "event time ts is NULL or outside" in dead[REASON][0]

"""The router: every row goes to its readers, or to the dead letters with the reason."""

from __future__ import annotations

import json
import pickle

import polars as pl

import drover
from drover.flow.frames import DRIVER, FrameKind, FramePort, stream_port, unpack
from drover.flow.router import REASON, ROW, route, send_malformed, send_strays
from drover.flow.schedule import make_schedule
from drover.placement.plan import Plan

STREAM = stream_port("s")


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
    assert sent[STREAM]["x"].to_list() == [1, 3]
    (latest,) = (one for one in frames if one.port.kind is FrameKind.EVENT_TIMES)
    assert (pickle.loads(latest.payload), latest.hop) == ({"s": 9}, DRIVER)
    letters = FramePort(FrameKind.DEAD_LETTERS, "s")
    dead = unpack(one for one in frames if one.port == letters)[letters]
    assert [json.loads(row)["x"] for row in dead[ROW]] == [2, 4]
    assert "event time ts is NULL or outside" in dead[REASON][0]


def test_an_output_goes_to_the_driver_and_a_source_without_rows_nowhere() -> None:
    net = drover.Builder("n")
    net.source("s", {"x": "int"}).output()
    net.source("silent", {"x": "int"}).filter("f", "x > 0").output()
    network = net.build()
    schedule = make_schedule(network, Plan(1, 1, {"f": 0}))
    rows = pl.DataFrame({"x": [1, 2]}, schema={"x": pl.Int32})
    frames = list(route(network, schedule, {"s": rows, "silent": rows.clear()}, 0))
    assert {(frame.hop, frame.port) for frame in frames} == {(DRIVER, STREAM)}  # and no event times
    assert unpack(frames)[STREAM]["x"].to_list() == [1, 2]


def test_rows_of_no_stream_say_what_they_had_instead() -> None:
    rows = pl.DataFrame({"site": ["X", None], "x": [1, 2]})
    frames = list(send_strays(rows, ["east", "west"], "site", origin=4))
    letters = unpack(frames)[FramePort(FrameKind.DEAD_LETTERS, "east, west")]
    assert letters[REASON].to_list() == [
        "site is X, which is no stream of east, west",
        "site is NULL, which is no stream of east, west",
    ]
    assert list(send_strays(rows.clear(), ["east"], "site", origin=4)) == []


def test_what_tells_streams_apart_may_have_braces() -> None:
    by = """concat('{}', "{a}", site)"""
    rows = pl.DataFrame({by: ["X"], "x": [1]})
    (letters,) = unpack(send_strays(rows, ["east"], by, origin=4)).values()
    assert letters[REASON].to_list() == [f"{by} is X, which is no stream of east"]


def test_a_malformed_row_is_a_dead_letter_with_its_text() -> None:
    frames = send_malformed(pl.Series(["1,x", '"']), pl.Series(["n is no int", "?"]), ["east"], origin=4)
    letters = unpack(frames)[FramePort(FrameKind.DEAD_LETTERS, "east")]
    assert letters[REASON].to_list() == ["n is no int", "?"]
    assert [json.loads(row) for row in letters[ROW]] == [{"_corrupt_record": "1,x"}, {"_corrupt_record": '"'}]
    assert list(send_malformed(pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.String), ["east"], 4)) == []

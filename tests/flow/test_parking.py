"""Parked operators: what a batch starts with, and how watermarks stand still behind them."""

from __future__ import annotations

import json

import pytest
from numpy.random import default_rng

import drover
from drover.flow.operators import Watermarks
from drover.flow.parking import (
    HeldInput,
    ParkedOperator,
    Parking,
    begin_parking,
    describe_parked,
    details_to_json,
    holders_of,
    newly_parked,
    parked_from_json,
)
from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.network.model import Network
from drover_lab.generate import DagParameters, dags

SECOND = 1_000_000
HELD = ParkedOperator("it failed", holds=True, frozen=5 * SECOND, since=3, at=0.0, rows=2, bytes=30)


def network() -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, {"ts": "timestamp", "k": "int"}, time="ts") for name in "ab")
    first = a.filter("first", "k > 0")
    first.filter("second", "k > 1").output()
    first.join("both", b, within="1 s", on="k").output()
    b.filter("alone", "k > 0").output()
    net.source("c", {"k": "int"}).filter("plain", "k > 0").output()
    return net.build()


def progress(late: int, now: int) -> SourceProgress:
    return SourceProgress(dict.fromkeys("ab", late * SECOND), dict.fromkeys("ab", now * SECOND))


@pytest.mark.parametrize(
    ("parking", "expected"),
    [
        pytest.param(Parking(), (8, 9), id="nobody holds"),
        pytest.param(Parking({"first": HELD}), (5, 5), id="parked"),
        pytest.param(Parking({}, {"first": HELD}), (5, 9), id="resumed: its rows are not late, and windows may close"),
        pytest.param(Parking({"first": ParkedOperator("it failed")}), (8, 9), id="its input is lost"),
        pytest.param(
            Parking({"first": HELD}).park({"first": ParkedOperator("it failed")}), (5, 9), id="its input is given up"
        ),
        pytest.param(Parking({"first": ParkedOperator("", holds=True)}), (None, None), id="before any watermark"),
    ],
)
def test_watermarks_behind_an_operator(parking: Parking, expected: tuple[int | None, int | None]) -> None:
    found = operator_watermarks(network(), progress(8, 9), parking.caps())
    late, now = (None if each is None else each * SECOND for each in expected)
    assert found["second"] == found["both"] == Watermarks(late, now)
    assert found["first"] == found["alone"] == Watermarks(8 * SECOND, 9 * SECOND)  # before it, or beside it


def test_an_operator_without_event_time_holds_nothing_back() -> None:
    held = Parking({"plain": ParkedOperator("", holds=True)})
    found = operator_watermarks(network(), progress(8, 9), held.caps())
    assert found["both"] == Watermarks(8 * SECOND, 9 * SECOND)


def test_streams_know_the_operators_that_their_rows_pass() -> None:
    found = holders_of(network(), {"first", "both"})
    assert found["a"] == frozenset()
    assert found["first"] == found["second"] == {"first"}
    assert found["both"] == {"first", "both"}


def test_late_is_always_what_now_was_in_the_batch_before() -> None:
    """Whatever is parked and resumed, and in whatever order."""
    rng = default_rng(1)
    for _ in range(30):
        made = dags(rng, DagParameters(sources=2, operators=8))
        names = [operator.name for operator in made.operators]
        reached = SourceProgress()
        parked: dict[str, ParkedOperator] = {}
        before: dict[str, Watermarks] | None = None
        for batch in range(12):
            parking = begin_parking(parked, [name for name in parked if rng.random() < 0.3], {})
            failed = {name: "no" for name in names if name not in parking.parked and rng.random() < 0.2}
            watermarks = operator_watermarks(made, reached, parking.caps())
            parking = parking.park(newly_parked(failed, watermarks, batch, holds=True, at=None))
            watermarks = operator_watermarks(made, reached, parking.caps())
            if before is not None:
                assert {name: each.late for name, each in watermarks.items()} == {
                    name: each.now for name, each in before.items()
                }
            before = watermarks
            parked = parking.after([])
            latest = {source.name: int(rng.integers(100)) * SECOND for source in made.sources if rng.random() < 0.7}
            reached = reached.after(made, latest)


def test_a_resume_that_fails_keeps_watermark_and_batch_of_the_first_failure() -> None:
    parking = begin_parking({"first": HELD}, ["first"], {"first": ParkedOperator("again", holds=True, since=9)})
    assert parking.resumed == {}
    assert (parking.parked["first"].reason, parking.parked["first"].frozen) == ("again", 5 * SECOND)
    assert parking.parked["first"].since == 3


def test_sizes_are_those_after_the_batch() -> None:
    parking = Parking({"first": HELD, "lost": ParkedOperator("no")})
    after = parking.after([HeldInput("first", 7, 80)])
    assert (after["first"].rows, after["first"].bytes) == (7, 80)
    assert after["lost"] == ParkedOperator("no")


def test_parked_operators_come_back_from_json() -> None:
    details = json.loads(json.dumps(details_to_json({"first": HELD})))
    assert parked_from_json({"first": "it failed"}, details) == {"first": HELD}
    later = {"first": {**details["first"], "colour": "red"}}
    assert parked_from_json({"first": "it failed"}, later) == {"first": HELD}  # written by a later version


def test_a_parked_operator_in_words() -> None:
    assert describe_parked("f", HELD) == (
        "f is parked since batch 3, 1970-01-01 00:00:00 UTC: it failed. It holds 2 rows, 30 bytes."
    )
    assert describe_parked("f", ParkedOperator("no")) == "f is parked: no. Its input is lost meanwhile."

"""Late rows: every one is counted, once, at the operator that dropped it, whatever the plan."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl
import pytest

import drover
from drover.flow.instances import explicit, request_spread
from drover.flow.late_rows import LATE_ROW, StateFacts, late_rows, sources_of, state_facts
from drover.flow.operators import UnitState, Watermarks
from drover.network.build import Stream
from drover.network.model import Network
from drover.placement.plan import round_robin
from tests import user_functions
from tests.flow.harness import Batch, Harness

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA: Final = {"ts": pl.Datetime("us", "UTC"), "key": pl.Int32(), "amount": pl.Int64()}
COLUMNS: Final = {"ts": "timestamp", "key": "int", "amount": "bigint"}
SIZE: Final = 5  # seconds of a window
ADVANCE: Final = 2
LATENESS: Final = 3


def a_network(attach: Callable[[Stream, Stream], Stream]) -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, COLUMNS, time="ts", lateness=f"{LATENESS} s") for name in ("a", "b"))
    attach(a, b).output()
    b.output()
    return net.build()


def windows(a: Stream, _b: Stream) -> Stream:
    return a.aggregate("x", {"n": "count(*)"}, size=f"{SIZE} s", advance=f"{ADVANCE} s", group_by="key")


def timeouts(a: Stream, _b: Stream) -> Stream:
    return a.aggregate("x", {"n": "count(*)"}, size=f"{SIZE} s", group_by="key", timeout="2 s")


def union_windows(a: Stream, b: Stream) -> Stream:
    return a.union("both", b).aggregate("x", {"n": "count(*)"}, size=f"{SIZE} s", advance=f"{ADVANCE} s")


def pairs(a: Stream, b: Stream) -> Stream:
    return a.join("x", b, within="4 s", on="key", select={"v": "left.amount"})


def spread_pairs(a: Stream, b: Stream) -> Stream:
    return a.join("x", b, within="4 s", on="key", select={"v": "left.amount"}, spread="2 x 3")


def function(a: Stream, _b: Stream) -> Stream:
    return a.apply("x", user_functions.rows_so_far)


def batches(seed: int, count: int = 8, length: int = 20) -> list[Batch]:
    """Rows that go forward two seconds per batch, and some that lie up to twenty seconds behind."""
    chance = random.Random(seed)
    made: list[Batch] = []
    for number in range(count):
        batch = {}
        for source in ("a", "b"):
            behind = [20 * chance.random() ** 4 for _ in range(length)]
            rows = [(START + timedelta(seconds=round(2 * number - one, 3)), chance.randrange(4), 1) for one in behind]
            batch[source] = pl.DataFrame(rows, schema=SCHEMA, orient="row")
        made.append(batch)
    return made


def is_late(at: float, watermark: float, *, windowed: bool) -> bool:
    """Return whether a row of second `at` is late: its last window has ended, or the watermark has passed it."""
    return (at // ADVANCE) * ADVANCE + SIZE <= watermark if windowed else at <= watermark


def expected(given: list[Batch], sources: tuple[str, ...], *, windowed: bool) -> dict[str, int]:
    """Count late rows in plain Python: rows of a batch are late by the watermark of the batch before the last."""
    latest = dict.fromkeys(sources, float("-inf"))
    reached = [float("-inf"), float("-inf")]
    late = dict.fromkeys(sources, 0)
    for batch in given:
        for source in sources:
            seconds = [(at - START).total_seconds() for at in batch[source]["ts"]]
            late[source] += sum(is_late(at, reached[-2], windowed=windowed) for at in seconds)
            latest[source] = max(latest[source], *seconds)
        reached.append(min(latest.values()) - LATENESS)
    return late


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize(
    ("attach", "sources", "windowed"),
    [
        pytest.param(windows, ("a",), True, id="windows"),
        pytest.param(timeouts, ("a",), False, id="windows with a time-out"),
        pytest.param(union_windows, ("a", "b"), True, id="windows over a union"),
        pytest.param(pairs, ("a", "b"), False, id="join"),
        pytest.param(spread_pairs, ("a", "b"), False, id="spread join"),
        pytest.param(function, ("a",), False, id="function with state"),
    ],
)
def test_every_late_row_is_counted_once(
    attach: Callable[[Stream, Stream], Stream], sources: tuple[str, ...], windowed: bool, nodes: int
) -> None:
    network = a_network(attach)
    given = batches(1)
    harness = Harness(network, keeps_late=True)
    plan = explicit(round_robin(network, nodes), network)
    for number, batch in enumerate(given):
        if attach is spread_pairs and number == 5:  # two epochs are live for a while
            plan = request_spread(plan, network, "x", "3 x 1")
        harness.run(batch, plan)
    wanted = expected(given, sources, windowed=windowed)
    assert sum(wanted.values()) > 10
    counted: dict[str, int] = {}
    for facts in harness.facts:
        for stream, late in facts.state.late.items() if facts.state is not None else ():
            counted[stream] = counted.get(stream, 0) + late
    assert counted == ({"both": sum(wanted.values())} if attach is union_windows else wanted)
    rows = pl.concat(harness.late)
    assert rows.schema == LATE_ROW
    assert rows["operator"].unique().to_list() == ["x"]
    assert rows.height == sum(wanted.values())
    assert (rows["time"] <= rows["watermark"]).all()
    for at, text in rows.select("time", "row").rows():
        assert json.loads(text)["ts"][:19] == at.isoformat(sep=" ")[:19]
        assert set(json.loads(text)) == set(COLUMNS)
    assert harness.failures == []


def test_without_a_sink_late_rows_do_not_travel() -> None:
    harness = Harness(a_network(windows))
    for batch in batches(1):
        harness.run(batch, round_robin(harness.network, 2))
    assert harness.late == []


def test_the_sources_of_a_stream() -> None:
    network = a_network(union_windows)
    assert sources_of(network, "both") == "a, b"
    assert sources_of(network, "a") == "a"


def test_what_a_batch_did_to_a_state() -> None:
    rows = pl.DataFrame({"ts": [START], "key": [1], "amount": [2]}, SCHEMA)
    state = UnitState({"old": rows})
    state.append("new", rows)
    state.replace("blob", rows)
    state.drop_late("a", rows)
    state.drop_late("a", rows)
    assert state_facts(state) == StateFacts(3, 2, {"a": 2})
    found = late_rows(a_network(windows), "x", state, Watermarks(1_000_000, 2_000_000))
    assert found.rows()[0][:4] == ("x", "a", START, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    state.begin()
    assert state_facts(state) == StateFacts(3, 0, {})


def test_an_operator_that_fails_has_dropped_nothing() -> None:
    state = UnitState()
    state.begin()
    state.drop_late("a", pl.DataFrame({"ts": [START]}))
    state.restore()
    assert state.late == {}

"""Aggregates that share panes give the bytes that each gives alone, wherever they run and whatever moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count, pairwise
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import drover
from drover.flow.distribute import ship
from drover.flow.node import NodeOutput, Task, run_place
from drover.flow.operators import CompileContext, Runner, UnitState, Watermarks, late_streams, make_runner
from drover.flow.operators.aggregate import RunAggregate
from drover.flow.operators.panes import PaneNeeds
from drover.flow.operators.partials import Partial
from drover.flow.parking import ParkedOperator, Parking
from drover.flow.schedule import HopNode, make_schedule
from drover.flow.shared_panes import share_panes
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.types import polars_type
from drover.placement.plan import Plan, round_robin, units_of
from tests.flow.harness import Batch, Harness
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.strategies.values import Draw

SECOND: Final = 1_000_000
COLUMNS: Final = {"ts": "timestamp", "k": "string", "d": "int", "v": "bigint", "x": "double"}
WINDOWS: Final = ((1, 1), (2, 1), (4, 2), (6, 4), (6, 6), (5, 3), (8, 1))  # seconds: size and advance
GROUPS: Final = ((), ("k",), ("d",), ("k", "d"), ("d", "k"))
COMPUTED: Final = (
    "count(*)",
    "count(v)",
    "sum(v)",
    "avg(v)",
    "min(k)",
    "max(v)",
    "first(v)",
    "last(x)",
    "sum(x)",
    "avg(x)",
    "min(x)",
    "stddev(x)",
    "count(DISTINCT d)",
)


@st.composite
def networks(draw: Draw) -> Network:
    """Several aggregates of one stream, some of them with a time-out."""
    net = drover.Builder("n")
    source = net.source("s", COLUMNS, time="ts", lateness="1 s")
    for number in range(draw(st.integers(2, 6))):
        size, advance = draw(st.sampled_from(WINDOWS))
        texts = draw(st.lists(st.sampled_from(COMPUTED), min_size=1, max_size=3))
        source.aggregate(
            f"a{number}",
            {f"c{i}": text for i, text in enumerate(texts)},
            size=f"{size} s",
            advance=f"{advance} s",
            group_by=draw(st.sampled_from(GROUPS)),
            timeout=draw(st.sampled_from([None, None, None, "3 s"])),
        ).output()
    return net.build()


def frame(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:  # Any: cells of every type
    schema = {name: polars_type(kind) for name, kind in network_of(1).streams["s"].types.items()}
    return pl.DataFrame(rows, schema=schema | {"ts": pl.Int64()}, orient="row").cast({"ts": schema["ts"]})


def network_of(several: int, compute: str = "count(*)") -> Network:
    net = drover.Builder("n")
    source = net.source("s", COLUMNS, time="ts")
    for number in range(several):
        source.aggregate(f"a{number}", {"c": compute}, size="2 s", group_by=("k", "d")[: 1 + number % 2]).output()
    return net.build()


ROWS: Final = st.lists(
    st.tuples(
        st.integers(0, 20 * SECOND),
        st.none() | st.sampled_from("ab"),
        st.none() | st.integers(0, 1),
        st.none() | st.integers(-5, 5) | st.just(2**62),
        st.none() | st.sampled_from([0.0, -0.0, 0.1, 0.7, 1e9]),
    ),
    max_size=80,
)


@st.composite
def batches(draw: Draw) -> list[Batch]:
    """Rows in up to five batches, mostly in order of time, so that some are late and some are not."""
    rows = draw(ROWS)
    ordered = sorted(rows, key=lambda row: row[0] + (7 * SECOND if row[4] == 0.7 else 0))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    return [{"s": frame(ordered[a:b])} for a, b in pairwise([0, *cuts, len(rows)])]


def moving(network: Network, draw: Draw) -> Plan:
    nodes = draw(st.integers(1, 3))
    return Plan(1, nodes, {unit: draw(st.integers(0, nodes - 1)) for unit in units_of(network)})


def run(network: Network, given_batches: Sequence[Batch], plans: Sequence[Plan]) -> Harness:
    harness = Harness(network, keeps_late=True)
    for batch, plan in zip([*given_batches, {}], plans, strict=True):
        harness.run(batch, plan)
    assert harness.failures == []
    return harness


def bits(harness: Harness) -> str:
    """Return all results in order, and all states, in a text that tells 0.0 from -0.0 and shows every digit."""
    results = {stream: harness.output(stream).rows() for stream in harness.network.outputs}
    states = {name: {part: rows.rows() for part, rows in one.parts.items()} for name, one in harness.states.items()}
    schemas = {name: {part: rows.schema for part, rows in one.parts.items()} for name, one in harness.states.items()}
    late = sorted(repr(row) for rows in harness.late for row in rows.rows())
    return repr((results, states, schemas, late))


@settings(max_examples=150, deadline=None)
@given(network=networks(), rows=batches(), data=st.data())
def test_sharing_and_moving_change_no_bit(network: Network, rows: list[Batch], data: st.DataObject) -> None:
    steps = len(rows) + 1
    apart = run(network, rows, [round_robin(network, len(network.operators))] * steps)
    together = run(network, rows, [round_robin(network, 1)] * steps)
    moved = run(network, rows, [moving(network, data.draw) for _ in range(steps)])
    assert bits(together) == bits(apart)
    assert bits(moved) == bits(apart)


@settings(max_examples=6, deadline=None, derandomize=True)
@given(network=networks(), rows=batches(), data=st.data())
def test_sharing_gives_what_spark_gives(
    spark: SparkSession, network: Network, rows: list[Batch], data: st.DataObject
) -> None:
    found = run(network, rows, [moving(network, data.draw) for _ in range(len(rows) + 1)])
    expected = expected_streams(spark, network, dict(enumerate(rows)))
    for stream in network.outputs:
        assert_same_rows(found.output(stream), expected[stream])


class OnePlace:
    """One node, batch by batch, with all that a test may want to change in plain sight."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.schedule = make_schedule(network, round_robin(network, 1))
        context = CompileContext(network, lambda _: None, late_streams(network))
        self.runners: dict[str, Runner] = {one.name: make_runner(one, context) for one in network.operators}
        self.states = {one.name: UnitState() for one in network.operators}
        self.ticks = count()

    def cpu(self) -> float:
        return float(next(self.ticks))

    def runner(self, operator: Operator) -> Runner:
        return self.runners[operator.name]

    def run(self, rows: pl.DataFrame, clock: Watermarks, parking: Parking | None = None, batch: int = 0) -> NodeOutput:
        clocks = dict.fromkeys(self.states, clock)
        task = Task(self.network, self.schedule, HopNode(0, 0), clocks, parking or Parking(), batch=batch)
        frames, _ = ship(self.schedule, "s", rows, -1)
        for state in self.states.values():
            state.begin()
        return run_place(task, frames, self.runner, lambda operator: self.states[operator.name], self.cpu)


GIVEN: Final = frame([(i * SECOND // 10, "ab"[i % 2], i % 3, i, i / 3) for i in range(200)])


def test_those_who_share_pay_the_same_for_the_same_table() -> None:
    place = OnePlace(network_of(5))
    shared = share_panes(place.network.operators, place.runner, place.cpu)
    first, *others = place.network.operators
    for operator in place.network.operators:
        shared.runner(operator).run({"s": GIVEN}, UnitState(), Watermarks(None, None))
    # One tick for each of two tables: of (k) for three aggregates, and of (k, d), from which it is rolled up, for all.
    owed = {one.name: shared.owed(one.name) for one in others}
    assert owed == pytest.approx({"a1": 1 / 5, "a2": 1 / 5 + 1 / 3, "a3": 1 / 5, "a4": 1 / 5 + 1 / 3})
    assert shared.owed(first.name) == pytest.approx(-sum(owed.values()))


def test_the_busy_seconds_of_all_are_what_the_place_has_spent() -> None:
    found = OnePlace(network_of(4)).run(GIVEN, Watermarks(None, None))
    busy = [facts.sample.busy for facts in found.operators]
    # Each looks at the clock before and after; the first also before and after each of two tables.
    assert math.isclose(sum(busy), 4 + 4)
    assert all(each > 1 for each in busy)


@pytest.mark.parametrize("several", [1, 3])
def test_one_that_fails_is_the_only_one(several: int) -> None:
    network = network_of(4)
    place = OnePlace(network)
    alone = [OnePlace(network).run(GIVEN, Watermarks(None, 20 * SECOND)).results[f"a{i}"] for i in range(4)]
    broken = Partial({"drover.bad": pl.col("no such column").sum()}, {}, pl.lit(0))
    for number in range(several):
        runner = place.runners[f"a{number}"]
        assert isinstance(runner, RunAggregate)
        runner.needs = PaneNeeds(runner.needs.key, {**runner.needs.partials, "bad": broken})
    found = place.run(GIVEN, Watermarks(None, 20 * SECOND))
    assert [failure.operator for failure in found.failures] == [f"a{i}" for i in range(several)]
    assert "no such column" in found.failures[0].reason
    for number in range(several, 4):
        assert found.results[f"a{number}"].equals(alone[number])


def test_one_that_was_parked_works_off_what_it_held_beside_those_that_share() -> None:
    network = network_of(4, "sum(x)")
    cuts = [GIVEN.slice(i, 50) for i in (0, 50, 100, 150)]
    clocks = [Watermarks(late, now) for late, now in pairwise([None, 4 * SECOND, 9 * SECOND, 14 * SECOND, 30 * SECOND])]
    held = {"a1": ParkedOperator("said so", holds=True)}
    parkings = [Parking(), Parking(parked=held), Parking(parked=held), Parking(resumed=held)]
    place = OnePlace(network)
    undisturbed = OnePlace(network)
    found, expected = (
        [
            one.run(rows, clock, parking, batch)
            for batch, (rows, clock, parking) in enumerate(zip(cuts, clocks, given_parkings, strict=True))
        ]
        for one, given_parkings in ((place, parkings), (undisturbed, [Parking()] * 4))
    )
    for stream in network.outputs:
        assert rows_of(found, stream) == rows_of(expected, stream)
    assert len(rows_of(found[:3], "a1")) < len(rows_of(expected[:3], "a1"))


def rows_of(outcomes: Sequence[NodeOutput], stream: str) -> list[tuple[Any, ...]]:  # Any: cells of every type
    return [row for outcome in outcomes if stream in outcome.results for row in outcome.results[stream].rows()]

"""Only columns that somebody reads travel, and they are enough: results are those of whole rows."""

from __future__ import annotations

import polars as pl
import pytest
from numpy.random import default_rng

import drover
from drover.flow.distribute import DRAW, ship
from drover.flow.families.assignment import with_families
from drover.flow.frames import stream_port, unpack
from drover.flow.instances import port_of
from drover.flow.node import Task, run_place
from drover.flow.operators import CompileContext, UnitState, Watermarks, make_runner
from drover.flow.parking import ParkedOperator, Parking
from drover.flow.pruning import ColumnPruner, in_order
from drover.flow.schedule import HopNode, Schedule, make_schedule
from drover.network.model import Network
from drover.network.operators import Filter, Join, Map, Named
from drover.network.queries import Query, shape_of
from drover.placement.plan import Plan
from drover_lab.generate import DagParameters, dags
from tests.flow.families.test_assignment import table
from tests.flow.harness import Batch, Harness
from tests.flow.test_against_oracle import random_batches, random_plan

COLUMNS = {"ts": "timestamp", "key": "int", "tag": "string", "amount": "bigint", "price": "double", "spare": "string"}
NOT_PARKED = Parking()


def network() -> Network:
    net = drover.Builder("pruned")
    source = net.source("s", COLUMNS, time="ts")
    source.filter("f", "price > 1").map("tags", {"tag": "tag"}).output()
    source.aggregate("a", {"n": "sum(amount)"}, size="5 s", group_by="key").output()
    return net.build()


def pruned(found: Network, plan: Plan, parking: Parking = NOT_PARKED, *, keeps_late: bool = False) -> Schedule:
    return ColumnPruner(found, keeps_late).prune(make_schedule(found, plan), parking, {})


def sent(schedule: Schedule) -> dict[tuple[str, int], str]:
    """Return the columns that travel, by stream and node."""
    return {(port.stream, place.node): " ".join(names) for (port, place), names in schedule.columns.items()}


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        pytest.param((0, 0, 0), {("s", 0): "ts key tag amount price"}, id="what all operators of a node read"),
        pytest.param((0, 0, 1), {("s", 0): "tag price", ("s", 1): "ts key amount"}, id="each node its own"),
        pytest.param((0, 1, 1), {("s", 0): "tag price", ("s", 1): "ts key amount", ("f", 1): "tag"}, id="further hops"),
    ],
)
def test_a_node_gets_the_columns_that_are_read_there(
    nodes: tuple[int, int, int], found: dict[tuple[str, int], str]
) -> None:
    plan = Plan(1, 2, dict(zip(("f", "tags", "a"), nodes, strict=True)))
    assert sent(pruned(network(), plan)) == found


def test_an_operator_that_drops_late_rows_for_a_sink_or_holds_its_input_gets_whole_rows() -> None:
    plan = Plan(1, 2, {"f": 0, "tags": 0, "a": 1})
    assert sent(pruned(network(), plan, keeps_late=True)) == {("s", 0): "tag price"}
    parking = Parking({"f": ParkedOperator("by hand", holds=True)})
    assert sent(pruned(network(), plan, parking)) == {("s", 1): "ts key amount"}
    assert ColumnPruner(network()).source_columns() == {"s": ("ts", "key", "tag", "amount", "price")}
    assert ColumnPruner(network(), keeps_late=True).source_columns() == {"s": tuple(COLUMNS)}


def test_what_a_run_does_not_read_does_not_travel_to_an_operator_that_holds_its_input() -> None:
    net = drover.Builder("chain")
    mapped = net.source("s", COLUMNS, time="ts").map("m", {"tag": "tag", "both": "concat(tag, spare)"})
    mapped.filter("f", "tag > 'a'").map("x", {"tag": "tag"}).output()
    found = net.build()
    assert ColumnPruner(found).source_columns() == {"s": ("ts", "tag")}
    plan = Plan(1, 2, {"m": 0, "f": 1, "x": 1})
    schedule = pruned(found, plan, Parking({"f": ParkedOperator("by hand", holds=True)}))
    assert sent(schedule) == {("s", 0): "tag spare"}
    read = pl.DataFrame({"ts": pl.Series([1]).cast(pl.Datetime("us", "UTC")), "tag": ["a"]})
    frames, _ = ship(schedule, "s", read, 0)
    assert unpack(frames)[stream_port("s")].columns == ["tag"]
    outcome = run_place(
        Task(found, schedule, HopNode(0, 0), {"m": Watermarks(None, None)}),
        frames,
        lambda operator: make_runner(operator, CompileContext(found, lambda _: None, frozenset())),
        lambda _: UnitState(),
        lambda: 0.0,
    )
    assert unpack(outcome.frames)[stream_port("m")].columns == ["tag"]


def test_an_operator_that_works_off_its_input_is_told_what_is_needed_of_it() -> None:
    parking = Parking(resumed={"f": ParkedOperator("by hand", holds=True)})
    assert pruned(network(), Plan(1, 1, {"f": 0, "tags": 0, "a": 0}), parking).resumed == {"f": {"s": ("tag", "price")}}


def test_the_instances_of_a_spread_join_get_what_its_windows_keep() -> None:
    net = drover.Builder("spread")
    left, right = (net.source(name, COLUMNS, time="ts") for name in ("l", "r"))
    left.join("j", right, within="1 s", on="key", select={"x": "left.tag"}, spread="1 x 2").output()
    found = net.build()
    join = found.operator("j")
    assert isinstance(join, Join)
    assert pruned(found, Plan(1, 2, {"j": 0})).columns == {
        **{(port_of(join, 0), HopNode(0, node)): ("ts", "key", "tag", DRAW) for node in (0, 1)},
        **{(port_of(join, 1), HopNode(0, node)): ("ts", "key", DRAW) for node in (0, 1)},
    }


def test_a_family_gets_what_its_queries_read() -> None:
    found = network()
    shape = shape_of(Query("whole", "me", (Filter(name="q", input="f", where="tag = 'a'"),), "q"), found).shape
    steps = (Filter(name="p", input="s", where="tag = 'a'"), Map(name="m", input="p", select=(Named("key", "key"),)))
    other = shape_of(Query("narrow", "me", steps, "m"), found).shape
    assert shape.columns == {"f": frozenset(COLUMNS)}
    assert other.columns == {"s": frozenset({"tag", "key"})}
    tables = {shape.id: table(shape.id, 1), other.id: table(other.id, 1)}
    schedule = with_families(make_schedule(found, Plan(1, 2, {"f": 0, "tags": 0, "a": 0})), [shape, other], tables)
    made = ColumnPruner(found).prune(schedule, NOT_PARKED, {one.id: one.columns for one in (shape, other)})
    assert sent(made) == {("s", 1): "key tag"}  # all columns of s go to node 0, because a query reads all of f


def test_a_schedule_is_pruned_anew_only_if_something_has_changed() -> None:
    found = network()
    pruner = ColumnPruner(found)
    schedule = make_schedule(found, Plan(1, 1, {"f": 0, "tags": 0, "a": 0}))
    first = pruner.prune(schedule, NOT_PARKED, {})
    assert pruner.prune(schedule, NOT_PARKED, {}) is first
    parking = Parking({"f": ParkedOperator("by hand", holds=True)})
    assert pruner.prune(schedule, parking, {}) is not first
    assert pruner.prune(schedule, NOT_PARKED, {}) == first


def test_columns_are_in_the_order_of_their_schema() -> None:
    assert in_order(network().streams["s"], {"price", "ts", "no such column"}) == ("ts", "price")


class ReadsAll(ColumnPruner):
    """Prunes nothing."""

    def prune(self, schedule: Schedule, _parking: Parking, _families: object) -> Schedule:
        return schedule

    def source_columns(self) -> dict[str, tuple[str, ...]]:
        return {source.name: source.schema.names for source in self.network.sources}


def whole_rows(found: Network, batches: list[Batch], seed: int) -> Harness:
    harness = Harness(found)
    harness.pruner = ReadsAll(found)
    return ran(harness, batches, seed)


def ran(harness: Harness, batches: list[Batch], seed: int) -> Harness:
    rng = default_rng(seed)
    for number, batch in enumerate([*batches, {}]):
        harness.run(batch, random_plan(harness.network, number, rng))
    return harness


@pytest.mark.parametrize("seed", range(60))
def test_results_and_state_are_those_of_whole_rows(seed: int) -> None:
    rng = default_rng(seed)
    found = dags(rng, DagParameters(sources=int(rng.integers(1, 4)), operators=int(rng.integers(1, 14))))
    batches = random_batches(found, rng)
    whole = whole_rows(found, batches, seed)
    less = ran(Harness(found), batches, seed)
    assert less.failures == whole.failures == []
    for stream in found.outputs:
        assert less.output(stream).equals(whole.output(stream))
    assert [one.sample.rows_in for one in less.facts] == [one.sample.rows_in for one in whole.facts]
    assert [one.sample.rows_out for one in less.facts] == [one.sample.rows_out for one in whole.facts]
    # A checkpoint of one continues with the other: parts of state have the same columns and rows.
    for operator, state in whole.states.items():
        assert state.parts.keys() == less.states[operator].parts.keys()
        for part, rows in state.parts.items():
            assert less.states[operator].parts[part].equals(rows)


@pytest.mark.parametrize("seed", range(20))
def test_whole_and_pruned_batches_may_follow_each_other(seed: int) -> None:
    rng = default_rng(seed)
    found = dags(rng, DagParameters(sources=2, operators=10))
    batches = random_batches(found, rng)
    whole = whole_rows(found, batches, seed)
    mixed = Harness(found)
    plans = default_rng(seed)
    pruners = (ReadsAll(found), ColumnPruner(found))
    for number, batch in enumerate([*batches, {}]):
        mixed.pruner = pruners[number % 2]
        mixed.run(batch, random_plan(found, number, plans))
    assert mixed.failures == []
    for stream in found.outputs:
        assert mixed.output(stream).equals(whole.output(stream))


def test_late_rows_for_a_sink_are_whole() -> None:
    found = network()
    rows = pl.DataFrame(
        {"ts": pl.Series([9_000_000, 20_000_000]), "key": [1, 1], "tag": ["a", "b"], "amount": [1, 2]}
        | {"price": [2.0, 0.0], "spare": ["x", "y"]},
        schema_overrides={"ts": pl.Datetime("us", "UTC"), "key": pl.Int32()},
    )
    harness = Harness(found, keeps_late=True)
    plan = Plan(1, 2, {"f": 0, "tags": 0, "a": 1})
    for batch in ({"s": rows}, {}, {"s": rows.head(1)}):
        harness.run(batch, plan)
    (late,) = harness.late
    assert late["row"].str.json_decode(pl.Struct({"tag": pl.String(), "spare": pl.String()})).to_list() == [
        {"tag": "a", "spare": "x"}
    ]

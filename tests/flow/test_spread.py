"""Spread joins on random rows, predicates, windows, batches, shapes and moves: every pair once, none missing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from numpy.random import Generator, default_rng
from polars.testing import assert_frame_equal

import drover
from drover.errors import DroverError
from drover.flow.instances import explicit, instances_of, reshape, retire_epochs
from drover.flow.schedule import HopNode, make_schedule
from drover.network.grid import Epoch, Grid
from drover.network.model import Network
from drover.placement.plan import Instances, Move, Plan, apply, moves, round_robin
from tests.flow.harness import Batch, Harness
from tests.flow.operators.test_join import PREDICATES
from tests.flow.pairs import COLUMNS, SELECT, all_pairs, random_rows
from tests.flow.spreading import assert_as_whole, chaos, joins_of, spread_all
from tests.flow.stored import StoredHarness

KINDS = list(PREDICATES)


def two_streams(rng: Generator, kind: str) -> Network:
    """A join of two sources, or of one with itself."""
    on, where = PREDICATES[kind]
    net = drover.Builder("n")
    sources = [net.source(name, COLUMNS, time="ts", lateness="2 s") for name in "ab"[: 1 + int(rng.random() < 0.8)]]
    within = (f"{rng.integers(0, 6000)} ms", f"{rng.integers(0, 3000)} ms")
    sources[0].join("j", sources[-1], within=within, on=on, where=where, select=SELECT).output()
    return spread_all(net.build(), rng)


def random_batches(network: Network, rng: Generator, most: int = 40) -> list[Batch]:
    """Batches with skewed, late and missing rows; a stream may be idle for a while, or for good."""
    silent = rng.random() < 0.15
    return [
        {
            source.name: random_rows(
                0 if rng.random() < 0.2 or (silent and index) else int(rng.integers(0, most)),
                1000 * number,
                3.0 * number,
                4.0,
                rng,
            )
            for index, source in enumerate(network.sources)
        }
        for number in range(int(rng.integers(2, 8)))
    ]


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_equal_all_pairs_whatever_changes(kind: str, seed: int) -> None:
    rng = default_rng([seed, *kind.encode()])
    network = two_streams(rng, kind)
    batches = random_batches(network, rng)
    harness = Harness(network)
    run = chaos(network, rng)
    for batch in batches:
        seen = len(harness.facts)
        harness.run(batch, run.step())
        run.retire_epochs(harness.facts[seen:])
    assert harness.failures == []
    expected = all_pairs(network, joins_of(network)[0], batches)
    assert_frame_equal(harness.output("j").select("a", "b").sort("a", "b"), expected)


def three_way(rng: Generator) -> Network:
    """Three streams in a tree of joins, with readers of what they make."""
    net = drover.Builder("n")
    a, b, c = (net.source(name, COLUMNS, time="ts", lateness="1 s") for name in "abc")
    first = a.join("ab", b, within="2 s", on="k", select={"k": "left.k", "x": "right.x", "n": "left.n", "m": "right.n"})
    second = first.join(
        "abc",
        c,
        within=("1 s", "3 s"),
        where="abs(left.x - right.x) <= 4",
        select={"k": "left.k", "n": "left.n", "m": "left.m", "o": "right.n"},
    )
    second.output()
    first.filter("some", "n % 2 = 0").output()
    second.aggregate("counts", {"c": "count(*)", "s": "sum(o)"}, size="2 s", group_by="k").output()
    return spread_all(net.build(), rng)


@pytest.mark.parametrize("seed", range(24))
def test_a_tree_of_spread_joins_gives_what_whole_ones_give(seed: int) -> None:
    rng = default_rng([seed, 3])
    network = three_way(rng)
    batches = [*random_batches(network, rng), {}]
    assert_as_whole(network, batches, chaos(network, rng))


@pytest.mark.parametrize("seed", range(12))
def test_state_on_disk_crashes_and_replays(tmp_path: Path, seed: int) -> None:
    rng = default_rng([seed, 4])
    network = two_streams(rng, KINDS[seed % len(KINDS)])
    batches = random_batches(network, rng)
    harness = StoredHarness(network, tmp_path, rng)
    run = chaos(network, rng)
    for batch in batches:
        harness.run(batch, run.step())
        run.retire_epochs(harness.facts)
    assert harness.failures == []
    expected = all_pairs(network, joins_of(network)[0], batches)
    assert_frame_equal(harness.output("j").select("a", "b").sort("a", "b"), expected)


def join_of(spread: object, nodes: int = 4) -> tuple[Network, Plan]:
    net = drover.Builder("n")
    a, b = (net.source(name, COLUMNS, time="ts") for name in "ab")
    a.join("j", b, within="1 s", on="k", select=SELECT, spread=spread).output()  # type: ignore[arg-type]
    network = net.build()
    return network, round_robin(network, nodes)


def test_epochs_come_and_go() -> None:
    network, plan = join_of("auto")
    (join,) = joins_of(network)
    harness = Harness(network)
    rng = default_rng(0)
    for number, grid in enumerate([Grid(1, 1), Grid(4, 1), Grid(1, 4), Grid(1, 4), Grid(1, 4), Grid(1, 4)]):
        plan = reshape(plan, join, grid)
        seen = len(harness.facts)
        harness.run({name: random_rows(40, 100 * number, 4.0 * number, 4.0, rng) for name in "ab"}, plan)
        shown = [one.oldest for one in harness.facts[seen:] if one.oldest is not None]
        plan = retire_epochs(plan, network, {"j": min(shown, default=None)})
    assert plan.instances["j"] == Instances((Epoch(2, Grid(1, 4)),), (1, 2, 3))


def test_instances_that_are_no_more_leave_no_state(tmp_path: Path) -> None:
    network, plan = join_of("auto")
    (join,) = joins_of(network)
    rng = default_rng(0)
    harness = StoredHarness(network, tmp_path, rng, trouble=0)
    units = []
    for number, grid in enumerate([Grid(4, 1), Grid(1, 2), Grid(1, 2), Grid(1, 2), Grid(1, 2)]):
        plan = reshape(plan, join, grid)
        harness.run({name: random_rows(40, 100 * number, 4.0 * number, 4.0, rng) for name in "ab"}, plan)
        units.append(set(harness.checkpoint.version.units))
        shown = [one.oldest for one in harness.facts if one.oldest is not None]
        plan = retire_epochs(plan, network, {"j": min(shown, default=None)})
    assert units[0] == {"j", "j[1]", "j[2]", "j[3]"}
    assert units[-1] == {"j", "j[1]"}


def test_rows_are_spread_over_instances_also_in_many_small_batches() -> None:
    network, plan = join_of((4, 1))
    harness = Harness(network)
    rng = default_rng(0)
    for number in range(200):
        harness.run({"a": random_rows(1, number, number / 10, 0.1, rng)}, plan)
    counts = dict.fromkeys(range(4), 0.0)
    for one in harness.facts:
        counts[one.instance] += sum(one.sample.rows_in.values())
    assert sum(counts.values()) == 200
    assert min(counts.values()) > 30


def test_a_sample_counts_the_rows_of_its_instance_alone() -> None:
    network, plan = join_of((4, 1), nodes=1)
    harness = Harness(network)
    harness.run({"a": random_rows(100, 0, 0.0, 1.0, default_rng(0))}, plan)
    assert sum(one.sample.rows_in["a"] for one in harness.facts) == 100
    assert {one.instance for one in harness.facts} == {0, 1, 2, 3}


def test_weights_decide_who_gets_more() -> None:
    network, plan = join_of("auto")
    (join,) = joins_of(network)
    plan = reshape(plan, join, Grid(4, 1), weights=([8, 0, 1, 1], [1]))
    harness = Harness(network)
    harness.run({"a": random_rows(100, 0, 0.0, 1.0, default_rng(0))}, plan)
    taken = {one.instance: one.sample.rows_in["a"] for one in harness.facts}
    assert taken[1] == 0
    assert taken[0] > 70


@pytest.mark.parametrize(
    ("spread", "nodes", "grid", "others"),
    [
        pytest.param("auto", 4, Grid(1, 1), (), id="auto begins whole"),
        pytest.param(4, 4, Grid(2, 2), (1, 2, 3), id="a number is the cheapest grid"),
        pytest.param((3, 1), 2, Grid(3, 1), (1, 0), id="instances may share a node"),
    ],
)
def test_a_network_says_how_joins_begin(spread: object, nodes: int, grid: Grid, others: tuple[int, ...]) -> None:
    network, plan = join_of(spread, nodes)
    (join,) = joins_of(network)
    assert instances_of(join, plan) == Instances((Epoch(0, grid, min(grid) > 1),), others)
    schedule = make_schedule(network, plan)
    assert sum(map(len, schedule.runs.values())) == grid.cells
    assert schedule.place_of["j"] == HopNode(0, 0)
    assert (schedule.hops, schedule.routes["a"]) == (1, ())


def test_instances_move_one_by_one() -> None:
    network, plan = join_of("auto")
    (join,) = joins_of(network)
    plan = reshape(plan, join, Grid(2, 2)).move("j[2]", 0).move("j", 3)
    assert (plan.node_of["j"], plan.instances["j"].others) == (3, (1, 0, 3))
    assert plan.scale(2).instances["j"].others == (1, 0, 1)
    with pytest.raises(DroverError, match=r"there is no unit 'j\[4\]' in plan 4. Units: j, j\[1\]"):
        plan.move("j[4]", 0)
    with pytest.raises(DroverError, match="nodes for 2 instances, but the largest live grid has 4 cells"):
        Instances((Epoch(0, Grid(2, 2)),), (1,))


def test_plans_differ_by_moves_of_instances_too() -> None:
    network, plan = join_of(4)
    before = explicit(plan, network)
    assert make_schedule(network, before) == make_schedule(network, plan)
    after = before.move("j[3]", 0).move("j", 2)
    found = moves(before, after, {"j": 5.0, "j[3]": 7.0})
    assert found == (Move("j", 0, 2, 5.0), Move("j[3]", 3, 0, 7.0))
    assert apply(before, found).places == after.places == {"j": 2, "j[1]": 1, "j[2]": 2, "j[3]": 0}


def test_a_row_goes_once_to_a_node_with_several_instances() -> None:
    network, plan = join_of((1, 4), nodes=1)
    harness = Harness(network)
    harness.run({"a": random_rows(10, 0, 0.0, 1.0, default_rng(0))}, plan)
    (rule,) = make_schedule(network, plan).distributions["a"]
    assert set(rule.places) == {HopNode(0, 0)}
    assert [one.sample.rows_in for one in harness.facts] == [{"a": 10, "b": 0}] * 4
    assert pl.concat(harness.results["j"]).height == 0 if harness.results["j"] else True

"""Spread joins on the real driver: instances with state of their own, a move of one, a restart; against the oracle."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, default_rng
from pyspark.sql import SparkSession

import drover
from drover.control.weights import weights_for
from drover.diffusion.choose import Weights
from drover.errors import DroverError
from drover.flow.instances import request_spread, with_weights
from drover.network.grid import Epoch, Grid
from drover.network.model import Network
from drover.placement.plan import Plan, round_robin
from drover.spark.handle import Handle
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds
from tests.spark.crashes import POINTS, dying, raise_crash
from tests.spark.runs import COLUMNS, World, both_engines, ordered_batches

Change = Callable[[Handle], object]


def two_joins() -> Network:
    """One join by key on a grid, one that Spark refuses, because it has no equality, on three instances."""
    net = drover.Builder("spread")
    a, b = (net.source(source, COLUMNS, time="ts", lateness="1 s") for source in ("a", "b"))
    names = {"x": "left.amount", "y": "right.amount"}
    pairs = a.join("pairs", b, within="2 s", on="key", select=names, spread=(2, 2))
    pairs.filter("larger", "x > y").output()
    near = "abs(left.amount - right.amount) <= 40"
    a.join("near", b, within="1 s", where=near, select=names, spread=3).output()
    return net.build()


@both_engines
def test_spread_joins_give_what_plain_spark_gives(spark: SparkSession, worlds: Worlds) -> None:
    network = two_joins()
    world = worlds(network)
    numbered = dict[int, Batch]()
    batches = ordered_batches(network, 6, 40)
    world.add(batches[:3])
    numbered |= dict(enumerate(batches[:3]))
    first = world.drain(nodes=3, control={"mode": "auto", "period": 0, "warm_up": 2, "window": 2, "trial": 0})
    assert first.control.status.failure is None
    instances = {(each["operator"], each["instance"]) for each in first.batches[0]["samples"]}
    assert {("pairs", k) for k in range(4)} | {("near", k) for k in range(3)} <= instances
    begun = world.committed() + 1
    world.add(batches[3:])
    numbered |= {begun + k: batch for k, batch in enumerate(batches[3:])}
    again = world.start(nodes=3)
    again.move("pairs", (again.plan.node_of["pairs"] + 1) % 3)
    assert again.awaitTermination(120)
    expected = expected_streams(spark, network, numbered)
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])
        assert expected[stream].height > 0


def changing(nodes: int, world: World, changes: list[Change]) -> Handle:
    """Start, and make one change after every batch."""
    handle = world.start(nodes=nodes)
    left = deque(changes)

    def change(_figures: object) -> None:
        if left:
            left.popleft()(handle)

    handle.listen(change)
    return handle


def grids(handle: Handle, join: str) -> list[Grid]:
    return [epoch.grid for epoch in handle.plan.instances[join].epochs]


def auto_joins() -> Network:
    """A join that begins whole and one on two instances, with windows that outlast a batch."""
    net = drover.Builder("shapes")
    a, b = (net.source(source, COLUMNS, time="ts", lateness="1 s") for source in ("a", "b"))
    names = {"x": "left.amount", "y": "right.amount"}
    a.join("pairs", b, within=("20 s", "10 s"), on="key", select=names, spread="auto").output()
    near = a.join("near", b, within="1 s", where="abs(left.amount - right.amount) <= 40", select=names, spread=2)
    near.filter("larger", "x > y").output()
    return net.build()


@pytest.mark.slow
@both_engines
def test_shapes_change_while_it_runs_crashes_and_starts_again(spark: SparkSession, worlds: Worlds) -> None:
    network = auto_joins()
    world = worlds(network)
    batches = ordered_batches(network, 10, 40)
    world.add(batches[:5])
    changes: list[Change] = [
        lambda handle: (handle.spread("pairs", (2, 2)), handle.spread("near", 3)),
        lambda handle: (handle.move("pairs[3]", 0), handle.move("near[1]", 0)),
        lambda handle: handle.spread("pairs", (1, 3)),
    ]
    with dying(POINTS["after the batch is computed"], [4], raise_crash):  # the first that has the third shape
        first = changing(3, world, changes)
        with pytest.raises(DroverError, match="CrashError"):
            first.awaitTermination(120)
        first.stop()
    assert grids(first, "pairs")[-2:] == [Grid(2, 2), Grid(1, 3)]
    begun = 6  # five batches, and one without rows
    again = changing(3, world, [])
    assert grids(again, "pairs") == grids(first, "pairs")  # what is in windows was dealt for these
    assert again.awaitTermination(120)
    assert world.committed() == begun - 1
    world.add(batches[5:])
    last = changing(3, world, [lambda handle: handle.scale(2), lambda handle: handle.spread("pairs", 1)])
    assert last.awaitTermination(120)
    numbered = {number + (number >= 5): batch for number, batch in enumerate(batches)}
    expected = expected_streams(spark, network, numbered)
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])
        assert expected[stream].height > 0
    assert max(len(figures["samples"]) for figures in last.batches) > 4
    assert (grids(last, "pairs")[-1], last.plan.instances["pairs"].asked) == (Grid(1, 1), 1)
    assert last.plan.nodes == 2


def drawn_weights(rng: Generator, epoch: Epoch) -> Weights:
    """Weights of the instances of a join; some are much larger than others, and none is 0."""
    return weights_for(rng.dirichlet([0.5] * epoch.grid.cells) + 0.01, epoch)


def reweighted(plan: Plan, rng: Generator) -> Plan:
    """The next plan, with other weights of every join."""
    for name, spread in plan.instances.items():
        plan = with_weights(plan, name, drawn_weights(rng, spread.epochs[-1]))
    return plan


def pairs_made(figures: Mapping[str, Any]) -> list[int]:
    """The pairs that each instance of the join on a grid made in a batch."""
    made = {one["instance"]: one["rows_out"] for one in figures["samples"] if one["operator"] == "pairs"}
    return [made[k] for k in sorted(made)]


@both_engines
def test_pairs_stay_the_same_while_weights_change_in_every_batch(spark: SparkSession, worlds: Worlds) -> None:
    network = two_joins()
    world = worlds(network)
    batches = ordered_batches(network, 8, 60)
    world.add(batches)
    rng = default_rng(5)
    plans = []

    def renew(handle: Handle) -> None:
        plans.append(handle.control._planner.replan(lambda plan: reweighted(plan, rng)))

    handle = changing(3, world, [renew] * 7)
    assert handle.awaitTermination(120)
    expected = expected_streams(spark, network, dict(enumerate(batches)))
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])
        assert expected[stream].height > 0
    assert len({plan.instances["pairs"].weights for plan in plans}) == 7
    assert grids(handle, "pairs") == [Grid(2, 2)], "other weights are no other shape"


@both_engines
def test_an_instance_with_a_small_weight_makes_few_pairs(worlds: Worlds) -> None:
    network = two_joins()
    world = worlds(network)
    world.add(ordered_batches(network, 8, 300))
    shares = np.array([0.4, 0.2, 0.3, 0.1])

    def weigh(handle: Handle) -> None:
        handle.control._planner.replan(
            lambda plan: with_weights(plan, "pairs", weights_for(shares, plan.instances["pairs"].epochs[-1]))
        )

    handle = changing(3, world, [weigh])
    assert handle.awaitTermination(120)
    made = np.array([pairs_made(figures) for figures in handle.batches[4:8]]).sum(axis=0)
    assert made / made.sum() == pytest.approx(shares, abs=0.06)


@pytest.mark.parametrize(
    ("join", "spread", "words"),
    [
        pytest.param("pears", 2, "Did you mean pairs", id="no such join"),
        pytest.param("larger", 2, "'larger' is not a join that can be spread", id="no join"),
        pytest.param("pairs", (0, 2), "Write auto, a number of instances such as 4, or rows x columns", id="no grid"),
        pytest.param("pairs", "whole", "spread is 'whole', but a join is spread over a grid", id="no word"),
    ],
)
def test_what_cannot_be_spread_is_refused(join: str, spread: object, words: str) -> None:
    network = auto_joins()
    with pytest.raises(DroverError, match=re.escape(words)):
        request_spread(round_robin(network, 3), network, join, spread)  # type: ignore[arg-type]

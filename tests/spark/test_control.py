"""The control loop on the real driver: a load shift, moves by themselves, a restart; against the oracle throughout."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.random import default_rng
from pyspark.sql import SparkSession

import drover
from drover.control.record import PeriodOutcome
from drover.network.model import Network
from drover.placement.plan import Plan, units_of
from drover.spark.handle import Handle
from drover_lab.generate import rows
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds
from tests.spark.runs import COLUMNS, World, both_engines

EVEN = (40, 40)  # rows of each source per batch
UNEVEN = (240, 40)
# Every batch is a period, and nothing is on trial: a test has few batches, and what it shifts is large.
# Nodes count as cores: by the model of a batch, no move is worth its hop at a load of a few per cent.
CONTROL: dict[str, Any] = {"mode": "auto", "period": 0, "warm_up": 3, "window": 3, "trial": 0, "cool_down": 30} | {
    "capacity": 1
}


def two_queries() -> Network:
    """Two chains that cost much, each with windows at its end."""
    net = drover.Builder("shifting")
    for name in ("a", "b"):
        stream = net.source(name, COLUMNS, time="ts", lateness="1 s")
        for step in range(3):
            stream = stream.synthetic(f"{name}-{step}", cost=5e-4, selectivity=1.0, seed=step)
        stream.aggregate(f"{name}-sums", {"n": "count(*)", "total": "sum(amount)"}, size="5 s", group_by="key").output()
    return net.build()


def batches(network: Network, lengths: list[tuple[int, int]]) -> list[Batch]:
    """Return rows in batches of so many of each source."""
    drawn = rows(network, max(map(sum, zip(*lengths, strict=True))), default_rng(0))
    found: list[Batch] = []
    for i, now in enumerate(lengths):
        starts = [sum(before[k] for before in lengths[:i]) for k in range(2)]
        found.append({name: drawn[name].slice(starts[k], now[k]) for k, name in enumerate(("a", "b"))})
    return found


def drain(world: World, some: list[Batch], numbered: dict[int, Batch], **options: Any) -> Handle:
    """Run some batches, and note under which numbers."""
    first = world.committed() + 1
    numbered |= {first + i: batch for i, batch in enumerate(some)}
    world.add(some)
    return world.drain(**options)


@both_engines
@pytest.mark.slow
def test_auto_moves_after_a_shift_and_goes_on_after_a_restart(spark: SparkSession, worlds: Worlds) -> None:
    network = two_queries()
    world = worlds(network)
    numbered = dict[int, Batch]()
    whole = Plan(1, 2, {unit: "ab".index(unit[0]) for unit in units_of(network)})
    drawn = batches(network, [EVEN] * 7 + [UNEVEN] * 10)
    first = drain(world, drawn[:14], numbered, plan=whole, control=CONTROL)
    assert first.control.status.failure is None
    assert PeriodOutcome.MOVED in {record.kind for record in first.control.records}
    assert {first.plan.node_of[f"a-{step}"] for step in range(3)} == {0, 1}  # what has become heavy is on both nodes
    period = first.control.status.period
    resting = dict(first.control._state.moved)

    again = drain(world, drawn[14:], numbered, control=CONTROL)
    assert again.control.status.period > period
    assert {unit: again.plan.node_of[unit] for unit in resting} == {unit: first.plan.node_of[unit] for unit in resting}
    assert {unit: again.control._state.moved[unit] for unit in resting} == resting
    expected = expected_streams(spark, network, numbered)
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])

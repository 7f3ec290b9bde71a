"""Trades and offers with three hot symbols: a join that spreads itself under the loop, and gives what Spark gives."""

from __future__ import annotations

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.control.record import PeriodOutcome, PeriodRecord
from drover.network.grid import WHOLE
from drover.spark.handle import Handle
from examples import asof
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds

CONTROL = {"period": 0, "window": 3, "warm_up": 3, "cool_down": 30, "certainty": 0}  # a period per batch


def tick_batches(spark: SparkSession, count: int) -> list[Batch]:
    """The ticks of five minutes, cut by time."""
    frames = {name: pl.DataFrame(rows.toArrow()).sort("ts") for name, rows in asof.inputs(spark).items()}
    begin = min(frame["ts"].min() for frame in frames.values())  # type: ignore[type-var]  # instants, which have an order
    number = ((pl.col("ts") - begin).dt.total_microseconds() * count // 300_000_001).alias("number")
    cut = {name: frame.with_columns(number) for name, frame in frames.items()}
    return [{name: rows.filter(number=k).drop("number") for name, rows in cut.items()} for k in range(count)]


def shapes(records: list[PeriodRecord]) -> list[str]:
    done = [record.proposal for record in records if record.kind is PeriodOutcome.MOVED]
    return [str(shape) for proposal in done if proposal is not None for shape in proposal.shapes]


@pytest.mark.slow
def test_the_join_of_trades_and_offers_spreads_itself(spark: SparkSession, worlds: Worlds) -> None:
    network = asof.build()
    world = worlds(network)
    batches = tick_batches(spark, 14)
    numbered = dict[int, Batch]()

    def drained(part: list[Batch], **control: object) -> Handle:
        begun = world.committed() + 1 if numbered else 0
        numbered.update({begun + k: batch for k, batch in enumerate(part)})
        world.add(part)
        return world.drain(plan=asof.PLAN, control={**CONTROL, **control})

    watched = drained(batches[:5], mode="observe")
    capacity = asof.scarce(lambda unit: watched.explain(unit).load)
    grown = drained(batches[5:11], mode="auto", capacity=capacity)
    assert grown.control.status.failure is None
    assert shapes(grown.decisions)[0].startswith("standing: 1 x 1 -> ")
    assert any("join standing takes" in record.reason for record in grown.decisions)
    again = drained(batches[11:], mode="observe")
    assert again.plan.instances["standing"].epochs[-1].grid != WHOLE
    instances = {one["instance"] for one in again.batches[-1]["samples"] if one["operator"] == "standing"}
    assert len(instances) >= 2
    expected = expected_streams(spark, network, numbered)
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])
    assert expected["standing"].height > 10_000

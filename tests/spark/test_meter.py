"""What a run measures is what a plan can be made from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from drover.load.files import dumps, loads
from drover.load.profile import Origin, make_profile
from drover.placement.model import problem_of
from drover.placement.policy import propose
from drover.spark.facts import BatchFacts, BatchSeconds
from drover.spark.meter import Meter
from tests.flow.harness import Batch
from tests.spark.conftest import Worlds
from tests.spark.runs import chaos_network


@pytest.mark.slow
def test_statistics_of_a_run_make_a_plan(worlds: Worlds, ordered: list[Batch]) -> None:
    world = worlds(chaos_network())
    world.add(ordered)
    seconds = iter(range(1000))
    meter = Meter(world.network, lambda: float(next(seconds)))
    handle = world.start()
    handle.on_batch(meter)
    assert handle.awaitTermination(120)
    shown = loads(dumps(meter.statistics(), world.network), world.network)
    assert set(shown.rates) == {"a", "b"}
    assert all(rate > 0 for rate in shown.rates.values())
    assert shown.operators["both"].selectivity == {"both": pytest.approx(1.0)}
    assert shown.operators["some"].cost is not None
    profile = make_profile(world.network, [(Origin.MEASURED, shown)])
    assert profile.counts()["costs"] == {"measured": len(world.network.operators)}
    problem = problem_of(profile, np.ones(2))
    assert set(propose(problem, "searched", default_rng(0)).tolist()) <= {0, 1}


def test_rates_are_those_of_the_clock() -> None:
    moments = iter([0.0, 2.0, 2.0, 6.0])
    meter = Meter(chaos_network(), lambda: next(moments))
    for batch, rows in enumerate((10, 0, 20)):  # the second ends in the same instant
        meter(BatchFacts(batch, batch, 1, 1, 1, BatchSeconds(0, 0, 0), {"a": rows} if rows else {}))
    assert meter.statistics().rates == {"a": pytest.approx(5.0), "b": 0.0}
    assert meter.statistics().series["a"][2] == pytest.approx(5.0)

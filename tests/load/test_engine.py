"""What the engine counts is what the load model needs: real samples, from batch to profile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from drover.load.profile import Origin, make_profile
from drover.load.window import Window, measured
from drover.network.build import Builder
from drover.network.model import Network
from drover.placement.plan import round_robin
from tests.flow.harness import Harness
from tests.load.networks import COLUMNS

BATCHES = 3
ROWS = 60
START = datetime(2024, 1, 1, tzinfo=UTC)


def network() -> Network:
    builder = Builder("counted")
    source = builder.source("s", COLUMNS, time="ts")
    even = source.filter("even", "k % 2 = 0")
    branches = source.switch("third", {"zero": "k % 3 = 0", "one": "k % 3 = 1"}, rest="two")
    branches["one"].union("not_zero", branches["two"]).output()
    branches["zero"].filter("zeros", "k < 30").output()
    even.join("pairs", source, within="0 s", on=["k"]).output()
    return builder.build()


def rows(batch: int) -> pl.DataFrame:
    stamps = [START + timedelta(seconds=batch * ROWS + k) for k in range(ROWS)]
    return pl.DataFrame({"ts": stamps, "k": range(ROWS)}, schema={"ts": pl.Datetime("us", "UTC"), "k": pl.Int32()})


def test_a_run_measures_rates_and_selectivities() -> None:
    counted = network()
    harness = Harness(counted)
    window = Window()
    for batch in range(BATCHES):
        harness.facts.clear()
        harness.run({"s": rows(batch)}, round_robin(counted, 2))
        window = window.push(batch, 60.0, {"s": ROWS}, [one.sample for one in harness.facts])
    profile = make_profile(counted, [(Origin.MEASURED, measured(window))])
    assert profile.counts() == {
        "rates": {"measured": 1},
        "costs": {"measured": len(counted.operators)},
        "selectivities": {"measured": 7},
    }
    assert profile.selectivities["even"] == pytest.approx(1 / 2)
    assert profile.selectivities["third.zero"] == pytest.approx(1 / 3)
    assert profile.selectivities["zeros"] == pytest.approx(1 / 2)
    for stream, rate in profile.stream_rates().items():
        if stream in counted.outputs:
            assert rate == pytest.approx(harness.output(stream).height / BATCHES / 60.0), stream

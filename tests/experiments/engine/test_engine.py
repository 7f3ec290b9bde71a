"""Experiments on the real engine: that they run, and that verdicts follow from rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.random import default_rng
from pyspark.sql import SparkSession

from drover.cli import main
from drover.experiments.catalogue import EXPERIMENTS
from drover.experiments.engine.bursts import auto_finds, cut_below, day_network, saved
from drover.experiments.engine.migration import linear
from drover.experiments.engine.rows import arrivals, bursts, busy_day, day
from drover.experiments.engine.traffic import POLICIES, best, survives
from drover.experiments.run import run
from drover.network.generate import two_chains

NAMES = [name for name, experiment in EXPERIMENTS.items() if experiment.engine]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "R-fig6.13-spark"])  # its rows are those of 6.12
def test_the_quick_version_runs_on_spark(spark: SparkSession, name: str) -> None:
    assert spark is not None
    result = run(EXPERIMENTS[name], quick=True, seeds=1)
    assert len(result.rows) == len(EXPERIMENTS[name].rows(quick=True, seeds=1))
    assert all(verdict.measured for verdict in result.verdicts)


@pytest.mark.parametrize("option", [["--spark"], ["--jobs", "2"]])
def test_a_run_on_spark_is_not_spread(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "run", NAMES[0], *option]) != 0
    assert "is a run on Spark by itself. Leave it out." in capsys.readouterr().err


def test_arrivals_follow_their_rate() -> None:
    found = arrivals(np.array([100.0, 300.0]), 10.0, default_rng(0))
    assert 900 < (found < 10).sum() < 1100
    assert 2800 < (found >= 10).sum() < 3200
    assert (np.diff(found) >= 0).all()


def test_bursts_are_out_of_phase() -> None:
    rows = bursts(two_chains(default_rng(0)), 300.0, 20.0, 0)
    second = ((pl.col("ts").dt.epoch("us") / 1e6) % 10 < 5).alias("first")
    counts = {(name, first): count for name, first, count in rows.group_by("stream", second).len().iter_rows()}
    assert counts["s0", True] > 1.5 * counts["s0", False]
    assert counts["s1", False] > 1.5 * counts["s1", True]


def test_a_day_has_the_rate_that_is_asked_for() -> None:
    rows = busy_day(day_network(), 200.0, 20.0, 0)
    assert 0.95 < len(rows) / 4000 < 1.05
    assert day().shape == (1440, 24)


def test_verdicts_on_two_chains() -> None:
    rows = pl.DataFrame(
        [
            {"load": 0.5, "plan": plan, "latency_mean": latency, "critical": critical, "moves": moves}
            for plan, latency, critical, moves in (
                ("connected", 2.0, 0.6, 0),
                ("cut", 1.0, 0.4, 0),
                ("auto", 1.5, 0.45, 2),
            )
        ]
    )
    assert cut_below(rows).holds
    assert auto_finds(rows).holds
    worse = rows.with_columns(latency_mean=pl.lit(1.0), critical=pl.lit(0.5) + pl.col("moves"))
    assert not cut_below(worse).holds
    assert not auto_finds(worse).holds


def test_the_verdict_on_a_day() -> None:
    rows = pl.DataFrame(
        [
            {"nodes": 4, "placement": "hash", "critical": 1.0, "moves": 0},
            {"nodes": 4, "placement": "auto", "critical": 0.6, "moves": 9},
            {"nodes": 4, "placement": "known", "critical": 0.5, "moves": 0},
        ]
    )
    assert saved("critical", 0.3, 4, rows).holds
    assert not saved("critical", 0.5, 4, rows).holds
    assert not saved("critical", 0.3, 2, rows).judged


def test_the_verdict_on_moves() -> None:
    rows = pl.DataFrame({"groups": [1, 2, 3], "extra": [0.1, 0.2, 0.31], "error": [0.01, 0.01, 0.02]})
    assert linear("groups", {}, rows).holds
    assert not linear("groups", {}, rows.with_columns(error=pl.lit(0.2))).holds  # it may be chance
    assert not linear("groups", {}, rows.with_columns(extra=pl.Series([0.3, 0.1, 0.2]))).holds
    assert not linear("groups", {}, rows.head(2)).judged


def test_the_verdict_on_policies() -> None:
    rows = pl.DataFrame(
        [
            {"multiplier": rate, "policy": policy, "latency_mean": 1.0 if policy == "resilient" or rate == 1 else 9.0}
            for rate in (1, 4)
            for policy in POLICIES
        ]
    )
    assert best("latency_mean", rows.with_columns(critical=pl.lit(0.4))).holds
    assert survives(rows).holds
    assert not survives(rows.with_columns(latency_mean=pl.lit(1.0))).holds

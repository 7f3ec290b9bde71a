"""The verdicts on predicted headroom, and how a staircase of rates is read."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from numpy.random import default_rng

from drover.load.arrays import Floats
from drover.placement.plan import by_hash
from drover.spark.facts import BatchFacts, BatchSeconds
from drover_lab.engine import saturation
from drover_lab.engine.rehearsal import Rehearsal
from drover_lab.engine.rows import BEGIN
from drover_lab.engine.saturation import (
    CASES,
    EXPERIMENTS,
    GROWTH,
    SaturationCase,
    auto_gains,
    climb,
    errors_within,
    highest,
    inside,
    searched,
    staircase,
    sustained_steps,
)
from drover_lab.engine.saturation_networks import RATE, SHAPES, network_of


def made(took: list[float], lag: list[float]) -> Rehearsal:
    """A run with a batch in every second, each with so many seconds, and rows that were so late at its end."""
    newest = np.arange(1.0, len(took) + 1)
    batches = tuple(BatchFacts(at, at, 1, 2, 1, BatchSeconds(each, 0.0, 0.0), {}) for at, each in enumerate(took))
    return Rehearsal(batches, newest + np.array(lag), np.empty(0), newest, behind=False, newest=newest)


@pytest.mark.parametrize(
    ("took", "lag", "kept"),
    [
        pytest.param([0.5] * 8, [0.5] * 8, [True, True], id="both steps are in time"),
        pytest.param([0.5] * 4 + [1.2] * 4, [0.5] * 8, [True, False], id="batches of the second are too long"),
        pytest.param([2.0] * 2 + [0.5] * 6, [0.5] * 8, [True, True], id="the first batches of a step do not count"),
        pytest.param([0.5] * 8, [0.5] * 7 + [3.5], [True, False], id="rows are later and later"),
        pytest.param([0.5] * 5, [0.5] * 5, [True, False], id="a step that the run did not reach"),
        pytest.param([0.5] * 2, [0.5] * 2, [False, False], id="too few batches"),
    ],
)
def test_a_step_is_sustained_if_its_batches_are_in_time(took: list[float], lag: list[float], kept: list[bool]) -> None:
    assert sustained_steps(made(took, lag), seconds=4.0, trigger=1.0, steps=2) == kept


@pytest.mark.parametrize(
    ("kept", "factor"),
    [
        pytest.param([True, True, True], 4.0, id="the last step"),
        pytest.param([True, False, False], math.sqrt(2.0), id="between the last sustained one and the next"),
        pytest.param([False, True, False], math.sqrt(8.0), id="a failure at a lower rate does not count"),
        pytest.param([False, False, False], 0.0, id="none"),
    ],
)
def test_the_factor_is_above_the_last_step_that_was_sustained(kept: list[bool], factor: float) -> None:
    assert highest(np.array([1.0, 2.0, 4.0]), kept) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("limit", "found", "ended"),
    [
        pytest.param(1.3, 1.3, False, id="above the prediction"),
        pytest.param(0.7, 0.7, False, id="below it"),
        pytest.param(0.3, 0.3, False, id="so far below that a second staircase is needed"),
        pytest.param(50.0, 2.0, True, id="beyond the staircase"),
        pytest.param(0.0, 0.0, False, id="at no rate"),
    ],
)
def test_a_staircase_finds_the_limit_within_a_step(
    limit: float, found: float, ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def runs(_case: SaturationCase, factors: Floats, seconds: float, **_: float) -> Rehearsal:
        each = np.repeat(factors, int(seconds))
        return made(np.where(each <= limit, 0.9, 1.1).tolist(), [1.0] * len(each))

    monkeypatch.setattr(saturation, "_run", runs)
    network = network_of("chains", 0, 10)
    factor, was_ended = climb(SaturationCase(network, by_hash(network, 10), 1.0, 0), 1.0, 8.0)
    assert factor == pytest.approx(found, rel=GROWTH - 1)
    assert was_ended is ended


def test_a_staircase_reaches_its_top_in_equal_steps() -> None:
    found = staircase(1.2, 4.0)
    assert found[0] == 1.2
    assert found[-2] < 4.0 <= found[-1]
    assert np.ptp(np.diff(np.log(found))) == pytest.approx(0, abs=1e-12)


def test_rows_come_faster_from_step_to_step() -> None:
    network = network_of("chains", 0, 10)
    case = SaturationCase(network, by_hash(network, 2), 1.0, 0)
    rows = case.rows(np.array([1.0, 3.0]), 20.0)
    at = (rows["ts"].dt.epoch("us").to_numpy() / 1e6) - BEGIN
    counts = [int(((at >= begin) & (at < begin + 20)).sum()) for begin in (0, 20)]
    expected = RATE * 20 * len(network.sources)
    assert counts == [pytest.approx(expected, rel=0.05), pytest.approx(3 * expected, rel=0.05)]


def test_the_search_uses_all_nodes() -> None:
    network = network_of("mixed", 0, 10)
    assert set(searched(network, 10).places.values()) == set(range(10))


def cases(**columns: list[float]) -> pl.DataFrame:
    keys = [{"network": f"n{at // 3}", "plan": ("hash", "auto", "searched")[at % 3], "seed": 0} for at in range(21)]
    return pl.DataFrame(keys).with_columns(pl.Series(name, values) for name, values in columns.items())


def test_verdicts_on_errors() -> None:
    errors = default_rng(0).permutation([*[0.05] * 11, *[0.2] * 8, 0.9, math.inf]).tolist()
    rows = cases(relative_error=errors)
    half, nine = partial(errors_within, 0.5), partial(errors_within, 0.9)
    assert half(0.1, rows).holds
    assert not half(0.04, rows).holds
    assert nine(0.25, rows).holds
    assert not nine(0.1, rows).holds
    assert not half(0.1, rows.head(CASES - 1)).judged
    assert not half(10.0, cases(relative_error=[math.nan] * 21)).holds, "no prediction is a wrong one"


def test_the_verdict_on_intervals() -> None:
    rows = cases(low=[1.0] * 21, high=[2.0] * 21, sustained=[1.5] * 19 + [2.5, 0.5])
    assert inside(rows, 0.9).holds
    assert not inside(rows, 0.95).holds
    assert not inside(rows.head(3), 0.9).judged


def test_the_verdict_on_the_control_loop() -> None:
    def gains(least: float) -> pl.DataFrame:
        return cases(sustained=[value for at in range(7) for value in (1.0, least if at == 0 else 1.5, 1.0)])

    assert auto_gains(gains(0.98), 1.3, 0.97).holds
    assert not auto_gains(gains(0.9), 1.3, 0.97).holds
    assert not auto_gains(gains(0.98), 1.6, 0.97).holds
    assert not auto_gains(gains(0.98).filter(pl.col("plan") != "auto"), 1.3, 0.97).judged


def test_there_are_enough_cases() -> None:
    (experiment,) = EXPERIMENTS
    assert len(experiment.rows()) >= CASES
    assert {row["network"] for row in experiment.rows()} == set(SHAPES)

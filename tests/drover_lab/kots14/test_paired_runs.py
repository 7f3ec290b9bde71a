from __future__ import annotations

import math

import numpy as np
import pytest

from drover_lab.kots14.paired_runs import BASE, PairedRuns, excess, fewer_when, less, pair_of, spell
from drover_lab.trees.outcome import TreeRun


def outcome(levels: list[list[float]]) -> TreeRun:
    """Levels of each node, sample by sample, two seconds apart."""
    array = np.array(levels)
    none = np.zeros(array.shape[1], dtype=np.int64)
    return TreeRun(np.linspace(0.0, 2.0 * (len(array) - 1), len(array)), array, none, {}, none, 0, 0, 0.0)


# Above 0.6 is overloaded: five samples of nodes without the protocol, and two with it.
WITHOUT = outcome([[0.5, 0.5], [0.8, 0.5], [0.8, 0.8], [0.8, 0.8], [0.5, 0.5]])
WITH = outcome([[0.5, 0.5], [0.7, 0.6], [0.6, 0.6], [0.7, 0.6], [0.5, 0.5]])
PAIR = PairedRuns(WITHOUT, WITH)


def test_overloaded_time_and_load_above_the_threshold() -> None:
    assert less(PAIR) == pytest.approx(1 - 2 / 5)
    assert excess(PAIR) == pytest.approx(1 - 0.2 / 1.0)


def test_samples_with_fewer_and_with_more_overloaded_nodes() -> None:
    assert PAIR.fewer.tolist() == [False, False, True, True, False]
    assert PAIR.more.tolist() == [False] * 5
    assert PairedRuns(WITH, WITHOUT).more.sum() == 2
    assert fewer_when(PAIR) == pytest.approx(2 / 3)
    assert math.isnan(fewer_when(PairedRuns(outcome([[0.1], [0.1]]), outcome([[0.1], [0.1]]))))


def test_the_mean_duration_of_an_overload() -> None:
    assert spell(WITHOUT) == pytest.approx(2.0 * (3 + 2) / 2)
    assert spell(WITH) == pytest.approx(2.0)
    assert math.isnan(spell(outcome([[0.1], [0.1]])))


def test_rows_of_one_scenario_share_its_runs() -> None:
    row = {**BASE, "nodes": 3, "operators": 6, "seed": 0}
    assert pair_of({**row, "minute": 1}) is pair_of({**row, "minute": 2})

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.cli.whatif.answer import VariantResult, heaviest
from drover.cli.whatif.scenario import Variant
from drover.sim.outcome import SimulationResult


@given(values=st.lists(st.integers(-20, 20), max_size=12))
def test_the_heaviest_stretch_is_the_heaviest_of_all(values: list[int]) -> None:
    begin, stop, pile = heaviest(np.array(values, dtype=np.float64))
    sums = [sum(values[i:j]) for i in range(len(values) + 1) for j in range(i, len(values) + 1)]
    assert pile == max(sums) == sum(values[begin:stop])


@pytest.mark.parametrize(
    ("values", "found"),
    [
        pytest.param([-1.0, -2.0], (0, 0, 0.0), id="never behind"),
        pytest.param([-1.0, 2.0, 3.0, -1.0], (1, 3, 5.0), id="a while"),
        pytest.param([-1.0, 2.0, -0.5, 3.0], (1, 4, 4.5), id="a second of rest does not end it"),
        pytest.param([3.0, -9.0, 2.0], (0, 1, 3.0), id="the worse of two"),
    ],
)
def test_stretches(values: list[float], found: tuple[int, int, float]) -> None:
    assert heaviest(np.array(values)) == found


def result(name: str, waiting: float, latency: float) -> VariantResult:
    none = pl.DataFrame()
    summary = {"queued_mean": waiting, "latency_p99": latency}
    return VariantResult(Variant(name, None), SimulationResult(summary, none, none, none, none, ()), (), 0.0, (0.5,))


@pytest.mark.parametrize(
    ("results", "best"),
    [
        pytest.param([("a", 900.0, 1.0), ("b", 100.0, 2.0)], "b", id="fewer wait, though results take longer"),
        pytest.param([("a", 100.0, 2.0), ("b", 105.0, 1.0)], "b", id="as many wait, and results are quicker"),
        pytest.param([("a", 0.0, 2.0), ("b", 9.0, 1.0)], "b", id="a few are chance"),
        pytest.param([("a", 5.0, 1.0), ("b", 5.0, 1.0)], "a", id="the first of equals"),
        pytest.param([("a", 0.0, float("nan")), ("b", 0.0, 9.0)], "b", id="no results are not quick ones"),
    ],
)
def test_the_best(results: list[tuple[str, float, float]], best: str) -> None:
    assert min((result(*each) for each in results), key=lambda each: each.rank).variant.name == best

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from drover.cli.whatif.workload import RateChange, RateTrace, ScaledArrivals, peak
from drover.sim.rates import mean_rate
from drover.sim.workload import Poisson

STEPS = st.lists(st.tuples(st.integers(1, 8), st.integers(0, 100)), min_size=1, max_size=6)


def trace_of(steps: list[tuple[int, int]]) -> RateTrace:
    lengths, values = (np.array(each, dtype=np.float64) for each in zip(*steps, strict=True))
    return RateTrace(np.cumsum(lengths), values)


def rate_at(trace: RateTrace, time: float) -> float:
    return float(trace.values[np.searchsorted(trace.ends, time % trace.seconds, side="right")])


@given(steps=STEPS, stop=st.integers(1, 60))
def test_a_trace_begins_again(steps: list[tuple[int, int]], stop: int) -> None:
    trace = trace_of(steps)
    expected = np.mean([rate_at(trace, time + 0.5) for time in range(stop)])
    assert_allclose(mean_rate(trace.path(default_rng(0)), 0.0, stop), expected, atol=1e-9)


@given(steps=STEPS, factor=st.integers(0, 5), since=st.integers(0, 30), stop=st.integers(1, 60))
def test_a_factor_holds_from_its_time_on(steps: list[tuple[int, int]], factor: int, since: int, stop: int) -> None:
    trace = trace_of(steps)
    scaled = ScaledArrivals(trace, RateChange("east", factor, since))
    rates = [rate_at(trace, time + 0.5) * (factor if time >= since else 1) for time in range(stop)]
    assert_allclose(mean_rate(scaled.path(default_rng(0)), 0.0, stop), np.mean(rates), atol=1e-9)
    assert peak(scaled.path(default_rng(0)), stop) == max(rates)
    ends = [until for until, _ in itertools.islice(scaled.path(default_rng(0)), 50)]
    assert all(before < after for before, after in itertools.pairwise(ends))


def test_factors_multiply() -> None:
    stream = ScaledArrivals(ScaledArrivals(Poisson(10.0), RateChange("east", 2.0)), RateChange("east", 3.0, 5.0))
    assert list(stream.path(default_rng(0))) == [(5.0, 20.0), (np.inf, 60.0)]

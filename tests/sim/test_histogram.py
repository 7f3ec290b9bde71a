from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.sim.event_kernels import bucket
from drover.sim.histogram import MIDDLES, percentiles
from drover.sim.world import BUCKETS


@given(st.floats(1e-8, 1e6))
def test_a_bucket_is_close_to_its_values(latency: float) -> None:
    assert MIDDLES[bucket(latency)] == pytest.approx(latency, rel=1 / 128)


def test_percentiles_are_those_of_the_counted_values() -> None:
    values = np.random.default_rng(0).lognormal(0, 2, 20_000)
    counts = np.zeros(BUCKETS)
    np.add.at(counts, [bucket(value) for value in values], 1.0)
    shares = (0.01, 0.5, 0.9, 0.999, 1.0)
    assert percentiles(counts, shares) == pytest.approx(np.quantile(values, shares, method="inverted_cdf"), rel=1 / 128)
    assert bucket(0.0) == bucket(1e-300) == 0
    assert bucket(1e300) == BUCKETS - 1

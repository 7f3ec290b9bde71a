"""A fit finds what is in the data, keeps what is assumed of the rest, and ignores wild values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.robust_fit import Assumption, fit_robust

WIDE = Assumption(np.zeros(2), np.array([10.0, 10.0]))


def test_without_values_the_assumption_is_the_fit() -> None:
    assumed = Assumption(np.array([1.0, 2.0]), np.array([0.5, 0.1]))
    found = fit_robust(np.empty((0, 2)), np.empty(0), assumed)
    assert found.coefficients.tolist() == [1.0, 2.0]
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx([0.5, 0.1])


@given(
    st.integers(0, 10_000), st.floats(0.05, 2.0), st.floats(0.0, 3.0), st.floats(0.0, 0.25), st.sampled_from([1, 40])
)
@settings(max_examples=60, deadline=None)
def test_known_coefficients_are_found_despite_wild_values(
    seed: int, fixed: float, slope: float, wild: float, size: float
) -> None:
    rng = default_rng(seed)
    features = np.column_stack([np.ones(60), rng.uniform(0, 1, 60)])
    values = (features @ [fixed, slope]) * rng.normal(1, 0.02, 60)
    values[rng.choice(60, int(60 * wild), replace=False)] *= size
    found = fit_robust(features, values, WIDE)
    assert found.coefficients == pytest.approx([fixed, slope], abs=0.03 * (fixed + slope))


def test_nothing_is_below_zero() -> None:
    features = np.column_stack([np.ones(20), np.arange(20.0)])
    found = fit_robust(features, 5.0 - 0.1 * np.arange(20.0), WIDE)
    assert (found.coefficients >= 0).all()
    assert found.coefficients[1] == 0


def test_a_steady_value_goes_to_the_coefficient_that_may_be_larger() -> None:
    features = np.tile([1.0, 1000.0], (30, 1))  # the same rows in every batch
    found = fit_robust(features, np.full(30, 0.5), Assumption(np.zeros(2), np.array([1.0, 1e-6])))
    assert found.coefficients[0] == pytest.approx(0.5, rel=0.01)
    unsure = np.array([1.0, 10_000.0])
    assert found.variance(unsure) > 10 * found.variance(features[0]), "far from what was seen, it is less sure"


def test_more_values_make_it_surer() -> None:
    rng = default_rng(1)
    features = np.column_stack([np.ones(400), rng.uniform(0, 1, 400)])
    values = features @ [0.2, 0.5] + rng.normal(0, 0.05, 400)
    few, many = (fit_robust(features[:n], values[:n], WIDE) for n in (10, 400))
    assert many.variance(features[0]) < few.variance(features[0]) / 4
    assert many.scatter == pytest.approx(0.05, rel=0.2)

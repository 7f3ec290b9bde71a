"""A robust linear fit with few coefficients, none below 0, that starts from what is assumed.

Rule 1: what the data do not tell stays as assumed. A run at a steady rate cannot tell a fixed cost from one per row.
Rule 2: a few wild values change nothing. A batch that waits for a garbage collection is not evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.load.arrays import Floats, frozen

ROUNDS: Final = 12  # of reweighting; the weights change little after half of them
CONVEX_ROUNDS: Final = 6  # first rounds, which limit the pull of a wild value; later rounds ignore it
LIMITED: Final = 1.345  # deviations from which on a value pulls no harder (Huber)
IGNORED: Final = 4.685  # deviations from which on a value does not count (Tukey)
FLOOR: Final = 0.02  # of the typical value: the least deviation that measurements are assumed to have
LEAST: Final = 1e-4  # the least deviation of any value: a tenth of a millisecond
TINY: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Assumption:
    """What is assumed of p coefficients: a value each, and how far it may be off."""

    value: Floats  # (p,)
    deviation: Floats  # (p,), above 0


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    """Coefficients, and how sure they are."""

    coefficients: Floats  # (p,), at least 0
    covariance: Floats  # (p, p)
    scatter: float  # standard deviation of a single value

    def __post_init__(self) -> None:
        """Store read-only copies."""
        object.__setattr__(self, "coefficients", frozen(self.coefficients))
        object.__setattr__(self, "covariance", frozen(self.covariance))

    def mean(self, features: Floats) -> float:
        """Return the expected value at features, (p,)."""
        return float(features @ self.coefficients)

    def variance(self, features: Floats) -> float:
        """Return the variance of the expected value at features, (p,); that of a single value is larger."""
        return max(float(features @ self.covariance @ features), 0.0)


def fit_robust(features: Floats, values: Floats, assumed: Assumption) -> LinearFit:
    """Fit values, (b,), as sums of features, (b, p), times coefficients; without values, the assumption is the fit."""
    # Each column is divided by the deviation of its coefficient. Then all coefficients are as uncertain.
    scaled = features * assumed.deviation
    start = assumed.value / assumed.deviation
    theta = start
    least = max(FLOOR * float(np.median(np.abs(values))), LEAST) if len(values) else TINY
    scatter = least
    weights = np.ones(len(values))
    normal = np.eye(len(start))
    for round_ in range(ROUNDS if len(values) else 0):
        if round_ > 0:
            residuals = values - scaled @ theta
            scatter = max(_deviation(residuals), least)
            weights = _weights(residuals / scatter, convex=round_ < CONVEX_ROUNDS)
        weighted = scaled.T * (weights / scatter**2)
        data = weighted @ scaled
        # Beside very certain data, the assumption would be lost in rounding.
        normal = data + (1 + 1e-13 * np.trace(data)) * np.eye(len(start))
        theta = _solve_above_zero(normal, weighted @ values + start)
    covariance = np.linalg.inv(normal) * np.outer(assumed.deviation, assumed.deviation)
    return LinearFit(theta * assumed.deviation, covariance, scatter)


def _deviation(residuals: Floats) -> float:
    """Return the standard deviation of residuals, from their median, which half of them cannot change."""
    return 1.4826 * float(np.median(np.abs(residuals)))


def _weights(distances: Floats, *, convex: bool) -> Floats:
    """Return the weight of each value from its distance in deviations."""
    away = np.abs(distances)
    if convex:
        return np.asarray(np.minimum(1.0, LIMITED / np.maximum(away, TINY)))
    return np.asarray(np.where(away < IGNORED, (1 - np.minimum(away / IGNORED, 1.0) ** 2) ** 2, 0.0))


def _solve_above_zero(normal: Floats, right: Floats) -> Floats:
    """Solve normal @ x = right for x >= 0; what would be below 0 becomes 0, and the others are solved again."""
    kept = np.ones(len(right), dtype=bool)
    found = np.zeros(len(right))
    while kept.any():
        part = np.linalg.solve(normal[np.ix_(kept, kept)], right[kept])
        if (part >= 0).all():
            found[kept] = part
            break
        at = np.flatnonzero(kept)
        kept[at[part < 0]] = False
    return found

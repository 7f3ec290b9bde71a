"""The exact size of a feasible set in few dimensions, to test estimates against.

Rule 1: this module uses neither random numbers nor a geometry library, so it can serve as an independent check.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from drover.errors import LoadError
from drover.load.arrays import Floats

MOST_DIMENSIONS: Final = 5  # the work grows as (n + d)^d
SAME: Final = 1e-12  # coefficients below this are 0
PARALLEL: Final = 1e-9  # rows of length 1 that differ by less have the same direction


def exact_ratio(weights: Floats) -> float:
    """Return the size of {y >= 0 : W y <= 1} over that of the ideal set {y >= 0 : sum y <= 1}; W is (n, d).

    The ratio is infinite if a stream loads no node.
    """
    d = weights.shape[1]
    if d > MOST_DIMENSIONS:
        raise LoadError(
            f"the feasible set has {d} dimensions, but its exact size is computed for at most {MOST_DIMENSIONS}. "
            "Use `estimate` instead."
        )
    if d == 0:
        return 1.0
    if not np.isfinite(weights).all():
        return 0.0
    if (weights.max(axis=0) <= 0).any():
        return math.inf
    rows = np.vstack([weights, -np.eye(d)])  # (n + d, d)
    bounds = np.concatenate([np.ones(len(weights)), np.zeros(d)])  # (n + d,)
    return math.factorial(d) * _volume(rows, bounds)


def _volume(rows: Floats, bounds: Floats) -> float:
    """Return the volume of {y : rows y <= bounds} by Lasserre's recursion over its facets.

    J. B. Lasserre, An analytical expression and an algorithm for the volume of a convex polyhedron in R^n, 1983: the
    volume is 1/d times the sum, over the facets, of their area times their signed distance from the origin.
    """
    rows, bounds, empty = _distinct(rows, bounds)
    if empty:
        return 0.0
    d: int = rows.shape[1]
    if d == 1:
        upper = (bounds[rows[:, 0] > 0] / rows[rows[:, 0] > 0, 0]).min()
        lower = (bounds[rows[:, 0] < 0] / rows[rows[:, 0] < 0, 0]).max()
        return max(0.0, float(upper - lower))
    volume: float = 0.0
    for facet, bound in zip(rows, bounds, strict=True):
        if bound == 0:
            continue  # the facet contains the origin, so its distance is 0
        # Eliminate the coordinate with the largest coefficient, and describe the facet in the remaining ones.
        pivot = int(np.argmax(np.abs(facet)))
        factor: Floats = rows[:, pivot] / facet[pivot]
        inside = np.delete(rows - np.outer(factor, facet), pivot, axis=1)
        others = (np.abs(inside) > SAME).any(axis=1) | (np.abs(factor - 1) > SAME)
        volume += float(bound / abs(facet[pivot])) * _volume(inside[others], (bounds - factor * bound)[others])
    return volume / d


def _distinct(rows: Floats, bounds: Floats) -> tuple[Floats, Floats, bool]:
    """Return the inequalities with rows of length 1, only the tightest of parallel ones, and whether they conflict."""
    lengths = np.linalg.norm(rows, axis=1)
    flat = lengths <= SAME
    if (bounds[flat] < -SAME).any():
        return rows, bounds, True
    rows = rows[~flat] / lengths[~flat, None]
    bounds = bounds[~flat] / lengths[~flat]
    # Nodes with equal weights share a facet, which must count once only.
    order = np.argsort(bounds, kind="stable")
    rows = rows[order]
    bounds = bounds[order]
    parallel = np.abs(rows[:, None, :] - rows[None, :, :]).max(axis=2) <= PARALLEL
    tightest = ~np.tril(parallel, -1).any(axis=1)
    return rows[tightest], bounds[tightest], False

"""Small placement problems that anyone can check by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from drover.placement.problem import PlacementProblem


def problem(
    loads: Sequence[float | Sequence[float]],
    current: Sequence[int],
    *,
    capacity: Sequence[float] = (1.0, 1.0),
    state: Sequence[float] = (),
    pinned: Sequence[int] = (),
    allowed: ArrayLike = (),
) -> PlacementProblem:
    """Units a, b, ... with a load in every period, or the same one in three of them."""
    series = [[load] * 3 if isinstance(load, (int, float)) else list(load) for load in loads]
    return PlacementProblem(
        units=tuple("abcdefgh"[: len(loads)]),
        capacity=np.array(capacity),
        series=np.array(series),
        current=np.array(current),
        state=np.array(state, dtype=np.float64),
        pinned=np.array(pinned, dtype=np.int64),
        allowed=np.array(allowed, dtype=np.bool_),
    )

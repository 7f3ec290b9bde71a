"""Strategies for load models: coefficients of nodes, and their capacities."""

from __future__ import annotations

from typing import Final

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.strategies.values import Draw

Floats = NDArray[np.float64]

# Zero often, since every rule has a case for it; else within three orders of magnitude, so that rounding is no topic.
COEFFICIENTS: Final = st.one_of(st.just(0.0), st.floats(0.01, 10.0))
CAPACITIES: Final = st.floats(0.1, 10.0)


@st.composite
def node_loads(draw: Draw, nodes: int = 5, streams: int = 4, idle: bool = False) -> tuple[Floats, Floats]:
    """L^n, (n, d), and C, (n,); every stream loads some node unless `idle` ones are allowed."""
    n = draw(st.integers(1, nodes))
    d = draw(st.integers(1, streams))
    flat = draw(st.lists(COEFFICIENTS, min_size=n * d, max_size=n * d))
    coefficients = np.array(flat, dtype=np.float64).reshape(n, d)
    if not idle:
        coefficients[0, coefficients.sum(axis=0) == 0] = 1.0
    capacity = np.array(draw(st.lists(CAPACITIES, min_size=n, max_size=n)), dtype=np.float64)
    return coefficients, capacity

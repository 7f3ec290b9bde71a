from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.load.arrays import Floats
from drover.placement.resilient.twins import assign, order

FREE = np.array([[0.0, 0.0], [np.inf, np.inf], [1.0, 1.0]])  # no bounds on two rates


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param([[0.1, 0.0], [0.0, 0.4], [0.3, 0.3]], [2, 1, 0], id="the longest first"),
        pytest.param([[0.0, 0.5], [0.5, 0.0], [0.3, 0.4]], [0, 1, 2], id="equal lengths by index"),
    ],
)
def test_the_order_of_units(shares: list[list[float]], expected: list[int]) -> None:
    assert order(np.array(shares)).tolist() == expected


@pytest.mark.parametrize(
    ("shares", "portion", "expected"),
    [
        pytest.param([[0.5, 0.0], [0.5, 0.0]], [0.5, 0.5], [0, 1], id="two halves of a stream are separated"),
        pytest.param([[0.5, 0.0], [0.0, 0.5]], [0.5, 0.5], [0, 1], id="the plane that stays farther away wins"),
        pytest.param([[1.0, 1.0]], [0.2, 0.8], [1], id="the larger node takes a single unit"),
    ],
)
def test_places_by_hand(shares: list[list[float]], portion: list[float], expected: list[int]) -> None:
    assert assign(np.array(shares), np.array(portion), FREE).tolist() == expected


@given(st.integers(1, 6), st.integers(1, 4))
def test_equal_units_are_spread_evenly(each: int, nodes: int) -> None:
    shares: Floats = np.full((each * nodes, 2), 1 / (each * nodes))
    places = assign(shares, np.full(nodes, 1 / nodes), FREE)
    assert np.bincount(places, minlength=nodes).tolist() == [each] * nodes

"""The compiled functions for one tuple equal the plain functions for arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drover.diffusion import epochs as plain
from drover.diffusion import split
from drover.network.grid import Epoch, Grid
from drover_lab.diffused import grid_kernels as kernels

GRIDS = st.builds(Grid, st.integers(1, 5), st.integers(1, 5))
DRAWS = st.integers(0, 2**32 - 1)
LIVE = st.lists(GRIDS, min_size=1, max_size=4).map(
    lambda grids: tuple(Epoch(number + 3, grid) for number, grid in enumerate(grids))
)


def table(live: plain.Epochs) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array([(epoch.number, *epoch.grid) for epoch in live], dtype=np.int64)


@given(DRAWS, st.integers(1, 1000))
def test_parts(draw: int, parts: int) -> None:
    assert kernels.part_of(draw, parts) == split.part_of(np.array([draw], dtype=np.uint32), parts)[0]


@given(st.integers(0, 9), DRAWS, st.integers(10, 1000))
def test_places(chosen: int, inner: int, parts: int) -> None:
    (expected,) = split.place(np.array([chosen]), np.array([inner], dtype=np.uint32), parts)
    assert kernels.place(chosen, inner, parts) == expected


@given(DRAWS, st.integers(0, 1), LIVE)
def test_destinations(draw: int, side: int, live: plain.Epochs) -> None:
    (expected,) = plain.destinations(np.array([draw], dtype=np.uint32), side, live)
    found = [kernels.goes_to(draw, side, table(live), 0, len(live), cell) for cell in range(len(expected))]
    assert found == expected.tolist()


@given(DRAWS, DRAWS, st.integers(0, 7), st.integers(0, 7), LIVE)
def test_owners(left: int, right: int, one: int, other: int, live: plain.Epochs) -> None:
    sides = [(np.array([number]), np.array([draw], dtype=np.uint32)) for number, draw in ((one, left), (other, right))]
    (expected,) = plain.owners(sides[0], sides[1], live)
    assert kernels.owner(min(one, other), left, right, table(live), len(live)) == expected


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_the_least(loads: list[int]) -> None:
    values = np.array(loads, dtype=np.float64)
    assert kernels.least(values, len(values)) == split.least_loaded(values, np.ones(len(values)), 1)[0]

"""Any change of the grid at any time: the pairs are those of a nested loop, none missing and none twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.diffusion.epochs import (
    LEFT,
    MOST_LIVE,
    RIGHT,
    START,
    begin,
    cells_of,
    destinations,
    instances,
    oldest_of,
    owners,
    retire,
)
from drover.diffusion.split import SCALE, cyclic_draws
from drover.errors import DroverError
from drover.network.grid import WHOLE, Epoch, Grid
from tests.diffusion.bruteforce import Spread, close

GRIDS = st.builds(Grid, st.integers(1, 4), st.integers(1, 4))
DRAWS = st.integers(0, SCALE - 1)
# What happens: a row comes (side, step in time, lag behind, key, draw), the shape changes, or the watermark moves.
ROW = st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 5), st.integers(0, 2), DRAWS)
EVENTS = st.lists(st.one_of(ROW, ROW, ROW, GRIDS, st.just("close")), max_size=60)
LATENESS = 5


@given(EVENTS, st.tuples(st.integers(0, 12), st.integers(0, 12)), GRIDS, st.booleans(), st.booleans())
@settings(max_examples=400)
def test_pairs_are_those_of_all_against_all(
    events: list[object], windows: tuple[int, int], first: Grid, began_by_row: bool, by_row: bool
) -> None:
    spread = Spread(windows, (Epoch(0, first, began_by_row),), by_row=by_row)
    now = 0
    watermark = -1
    rows: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for event in events:
        if isinstance(event, Grid):
            if len(spread.epochs) < MOST_LIVE:
                spread.reshape(event)
        elif isinstance(event, tuple):
            side, step, lag, key, draw = event
            now += step
            time = max(now - lag, watermark + 1)  # late, but not too late
            spread.take(side, len(rows[side]), time, key, draw)
            rows[side].append((time, key))
        else:
            watermark = max(watermark, now - LATENESS)
            spread.close(watermark)
    expected = [
        (i, j)
        for i, (t1, a) in enumerate(rows[LEFT])
        for j, (t2, b) in enumerate(rows[RIGHT])
        if a == b and close(t1, t2, windows)
    ]
    assert sorted(spread.made) == expected


def test_without_the_rule_for_older_epochs_pairs_would_be_missing() -> None:
    spread = Spread((10, 10), (Epoch(0, Grid(4, 1)),))
    for number, draw in enumerate(cyclic_draws(8, 0)):
        spread.take(LEFT, number, 0, 0, int(draw))
    spread.reshape(Grid(1, 4))
    spread.epochs = spread.epochs[-1:]  # as if nothing older were in the window
    spread.take(RIGHT, 0, 1, 0, 0)
    assert len(spread.made) < 8


@given(GRIDS, DRAWS, DRAWS)
def test_a_row_and_a_column_cross_in_one_cell(grid: Grid, left: int, right: int) -> None:
    one, other = (np.array([draw], dtype=np.uint32) for draw in (left, right))
    both = cells_of(one, LEFT, grid, grid.cells) & cells_of(other, RIGHT, grid, grid.cells)
    zero = np.array([0])
    (owner,) = owners((zero, one), (zero, other), (Epoch(0, grid),))
    assert np.flatnonzero(both).tolist() == [owner]


@given(GRIDS, GRIDS, DRAWS)
def test_a_row_goes_to_the_cells_of_every_live_epoch(old: Grid, new: Grid, draw: int) -> None:
    draws = np.array([draw], dtype=np.uint32)
    epochs = (Epoch(3, old), Epoch(4, new))
    (found,) = destinations(draws, LEFT, epochs)
    assert len(found) == instances(epochs) == max(old.cells, new.cells)
    assert max(old.columns, new.columns) <= found.sum() <= old.columns + new.columns


def test_the_same_shape_is_no_new_epoch() -> None:
    assert begin(START, WHOLE) is START
    assert begin(START, Grid(2, 3)) == (Epoch(0, WHOLE), Epoch(1, Grid(2, 3)))


def test_live_epochs_are_bounded() -> None:
    epochs = START
    for rows in range(2, MOST_LIVE + 1):
        epochs = begin(epochs, Grid(rows, 1))
    with pytest.raises(DroverError, match=r"the grid should change to 1 x 9, but 4 epochs are live"):
        begin(epochs, Grid(1, 9))


@pytest.mark.parametrize(
    ("oldest", "numbers"),
    [
        pytest.param(0, [0, 1, 2], id="rows of the first are left"),
        pytest.param(1, [1, 2], id="the first is over"),
        pytest.param(2, [2], id="only the present one"),
        pytest.param(None, [2], id="no rows at all"),
        pytest.param(7, [2], id="the present one never ends"),
    ],
)
def test_epochs_end_with_their_rows(oldest: int | None, numbers: list[int]) -> None:
    epochs = (Epoch(0, WHOLE), Epoch(1, Grid(2, 1)), Epoch(2, Grid(1, 2)))
    assert [epoch.number for epoch in retire(epochs, oldest)] == numbers


@pytest.mark.parametrize("grid", [Grid(0, 1), Grid(1, -1), Grid(100, 100)])
def test_grids_that_cannot_be_are_refused(grid: Grid) -> None:
    with pytest.raises(DroverError, match="rows and columns are 1 or more"):
        begin(START, grid)


def test_cells_beyond_a_grid_get_no_rows() -> None:
    draws = cyclic_draws(8, 0)
    found = cells_of(draws, LEFT, Grid(2, 1), 4)
    assert found[:, 2:].sum() == 0
    assert found[:, :2].sum() == 8


def test_a_pair_belongs_to_the_older_epoch_of_its_rows() -> None:
    """The left row is of epoch 1 and the right one of epoch 2, or the other way round; 0 is no longer live."""
    epochs = (Epoch(1, Grid(1, 1)), Epoch(2, Grid(2, 1)))
    draws = np.array([SCALE - 1] * 4, dtype=np.uint32)
    left = np.array([1, 2, 2, 0])
    right = np.array([2, 1, 2, 2])
    found = owners((left, draws), (right, draws), epochs)
    assert found.tolist() == [0, 0, 1, -1]
    assert found.dtype == np.int64


def test_the_oldest_epoch_that_is_held() -> None:
    assert oldest_of([None, 3, 2, None]) == 2
    assert oldest_of([None]) is None
    assert oldest_of([]) is None

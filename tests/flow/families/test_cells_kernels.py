"""Compiled loops over cells give what plain loops give."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drover.flow.families.cells_kernels import (
    NO_ROW,
    Flags,
    Ints,
    least,
    narrow,
    reach,
    running_least,
    running_sums,
    sort_by_cell,
    sums,
)

cells = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=4), min_size=1, max_size=4)
members = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=5)


def starts(given_cells: list[list[tuple[int, int]]]) -> tuple[Ints, Ints]:
    """Return the start of each cell, and two keys of each row, sorted by the first."""
    rows = [row for cell in given_cells for row in sorted(cell)]
    start = np.concatenate([[0], np.cumsum([len(cell) for cell in given_cells])]).astype(np.int64)
    return start, np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()


@given(numbers=st.lists(st.integers(0, 4), max_size=12))
def test_rows_are_sorted_by_cell_and_keep_their_order(numbers: list[int]) -> None:
    start, rows = np.empty(6, np.int64), np.empty(len(numbers), np.int64)
    order = np.arange(len(numbers))[::-1].copy()
    sort_by_cell(np.array(numbers, dtype=np.int64), order, start, rows)
    assert rows.tolist() == sorted(order.tolist(), key=lambda row: numbers[row])
    assert start.tolist() == [sum(number < cell for number in numbers) for cell in range(6)]


@given(given_cells=cells, limits=members, strict=st.tuples(st.booleans(), st.booleans()))
def test_members_take_the_rows_within_their_bounds(
    given_cells: list[list[tuple[int, int]]], limits: list[tuple[int, int]], strict: tuple[bool, bool]
) -> None:
    start, keys = starts(given_cells)
    wanted = np.array(limits, dtype=np.int64).T.copy()
    flags: Flags = np.array(strict)
    chosen, code = np.arange(len(limits)), np.zeros(len(limits), np.int64)
    first = np.array([0, len(given_cells)])
    found = [np.empty(len(limits) * len(given_cells), np.int64) for _ in range(3)]
    count = reach(chosen, code, first, start, keys, wanted, flags, *found)
    takers, at, stops = (one[:count] for one in found)
    places = np.empty(int((stops - start[at]).sum()), np.int64)
    ends = np.empty(count, np.int64)
    taken = narrow(takers, at, stops, start, keys, wanted, flags, places, ends)
    expected = [
        (member, cell, place)
        for member in range(len(limits))
        for cell in range(len(given_cells))
        for place in range(start[cell], start[cell + 1])
        if all(
            keys[bound, place] < limits[member][bound]
            or (keys[bound, place] == limits[member][bound] and not strict[bound])
            for bound in range(2)
        )
    ]
    pair_of = np.searchsorted(ends, np.arange(taken), side="right")
    got = zip(takers[pair_of].tolist(), at[pair_of].tolist(), places[:taken].tolist(), strict=True)
    assert list(got) == expected


def test_without_bounds_members_take_all_rows() -> None:
    none = np.empty((0, 3), np.int64)
    found = [np.empty(2, np.int64) for _ in range(3)]
    zero = np.zeros(1, np.int64)
    first, start = np.array([0, 2]), np.array([0, 3, 3])
    assert reach(zero, zero, first, start, none, none, np.empty(0, bool), *found) == 1
    assert [one[0] for one in found] == [0, 0, 3]


@given(given_cells=cells, known=st.lists(st.booleans(), min_size=16, max_size=16))
def test_folds_are_those_of_plain_loops(given_cells: list[list[tuple[int, int]]], known: list[bool]) -> None:
    start, keys = starts(given_cells)
    values, rows = keys[1].astype(np.float64), np.arange(keys.shape[1])[::-1].copy()
    counts = np.array(known[: len(values)], dtype=bool)
    running, at = np.empty_like(values), np.empty(len(values), np.int64)
    running_sums(start, values, running)
    running_least(start, keys[1], counts, rows, at)
    ends, places = start[1:], np.arange(len(values))
    total, best = np.empty(len(ends)), np.empty(len(ends), np.int64)
    sums(ends, places, values, total)
    least(ends, places, keys[1], counts, rows, best)

    def least_of(some: list[int]) -> int:
        return min((place for place in some if counts[place]), key=lambda p: (keys[1, p], rows[p]), default=NO_ROW)

    for cell in range(len(ends)):
        mine = list(range(start[cell], start[cell + 1]))
        assert running[mine].tolist() == np.cumsum(values[mine]).tolist()
        assert at[mine].tolist() == [least_of(mine[: n + 1]) for n in range(len(mine))]
        assert (total[cell], best[cell]) == (values[mine].sum(), least_of(mine))

"""Compiled loops over cells: which rows of a cell a member takes, and what they add up to.

Rule 1: rows of a cell lie one after the other, in ascending order of a key. So a bound takes the first rows of a cell.
Rule 2: keys are whole numbers that compare as the values do (`order_keys`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[Any]  # Any: int64 or float64

NO_ROW = -1

compiled = numba.njit(cache=True, error_model="numpy")
part = numba.njit(cache=True, error_model="numpy", forceinline=True)


@compiled
def sort_by_cell(number: Ints, given: Ints, start: Ints, out: Ints) -> None:
    """Sort the rows `given` by the number of their cells; rows of one cell keep their order.

    Fills `start`, (cells + 1,), with the place of each cell's first row, and `out` with the rows.
    """
    start[:] = 0
    for row in given:
        start[number[row] + 1] += 1
    for cell in range(1, len(start)):
        start[cell] += start[cell - 1]
    place = start[:-1].copy()
    for row in given:
        cell = number[row]
        out[place[cell]] = row
        place[cell] += 1


@part
def is_within(key: int, limit: int, strict: bool) -> bool:
    """Return whether a key is below a limit, or equal to it unless `strict`."""
    return bool(key < limit or (key == limit and not strict))


@compiled
def reach(
    chosen: Ints,
    code: Ints,
    first: Ints,
    start: Ints,
    keys: Ints,
    limits: Ints,
    strict: Flags,
    members: Ints,
    cells: Ints,
    stops: Ints,
) -> int:
    """Pair chosen members with the cells of their code of which they take rows, and return the number of pairs.

    The cells of a code c are `first[c]` to `first[c + 1]` - 1. `keys` is (bounds, rows), `limits` (bounds, members).
    Only the first bound counts. Without bounds, members take all rows. Fills `members`, `cells`, and `stops` with the
    place after the last row that is taken.
    """
    count = 0
    for member in chosen:
        for cell in range(first[code[member]], first[code[member] + 1]):
            low = start[cell]
            high = start[cell + 1]
            if not len(strict):
                low = high
            while low < high:
                middle = (low + high) // 2
                if is_within(keys[0, middle], limits[0, member], strict[0]):
                    low = middle + 1
                else:
                    high = middle
            if low > start[cell]:
                members[count] = member
                cells[count] = cell
                stops[count] = low
                count += 1
    return count


@compiled
def narrow(
    members: Ints,
    cells: Ints,
    stops: Ints,
    start: Ints,
    keys: Ints,
    limits: Ints,
    strict: Flags,
    places: Ints,
    ends: Ints,
) -> int:
    """Keep of each pair's rows those that are within all bounds but the first, and return how many these are.

    Fills `places` with those of rows, pair by pair, and `ends` with the end of each pair's part of it.
    """
    count = 0
    for pair in range(len(members)):
        for place in range(start[cells[pair]], stops[pair]):
            inside = True
            for bound in range(1, len(strict)):
                inside = inside and is_within(keys[bound, place], limits[bound, members[pair]], strict[bound])
            places[count] = place
            count += inside
        ends[pair] = count
    return count


@compiled
def running_sums(start: Ints, values: Numbers, out: Numbers) -> None:
    """Fill `out` with the sum of the first row of a cell, of the first two, and so on."""
    for cell in range(len(start) - 1):
        total = values.dtype.type(0)
        for place in range(start[cell], start[cell + 1]):
            total += values[place]
            out[place] = total


@part
def better(place: int, best: int, keys: Ints, rows: Ints) -> bool:
    """Return whether the key at a place is less than the best one so far; of equal ones, the earlier row is better."""
    if best == NO_ROW or keys[place] < keys[best]:
        return True
    return bool(keys[place] == keys[best] and rows[place] < rows[best])


@compiled
def running_least(start: Ints, keys: Ints, counts: Flags, rows: Ints, out: Ints) -> None:
    """Fill `out` with the place of the least key up to each row of a cell; NO_ROW while none counts."""
    for cell in range(len(start) - 1):
        best = NO_ROW
        for place in range(start[cell], start[cell + 1]):
            if counts[place] and better(place, best, keys, rows):
                best = place
            out[place] = best


@compiled
def sums(ends: Ints, places: Ints, values: Numbers, out: Numbers) -> None:
    """Fill `out` with the sum of the values at the places of each pair."""
    begin = 0
    for pair in range(len(ends)):
        total = values.dtype.type(0)
        for i in range(begin, ends[pair]):
            total += values[places[i]]
        out[pair] = total
        begin = ends[pair]


@compiled
def least(ends: Ints, places: Ints, keys: Ints, counts: Flags, rows: Ints, out: Ints) -> None:
    """Fill `out` with the place of the least key of each pair; NO_ROW if none counts."""
    begin = 0
    for pair in range(len(ends)):
        best = NO_ROW
        for i in range(begin, ends[pair]):
            if counts[places[i]] and better(places[i], best, keys, rows):
                best = places[i]
        out[pair] = best
        begin = ends[pair]

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.diffusion.split import (
    GOLDEN,
    SCALE,
    cyclic_draws,
    digit_of,
    digits_of,
    draws_by_row,
    least_loaded,
    part_of,
    place,
    shares_of,
    weighted_draws,
)
from drover.errors import DroverError

STARTS = st.integers(0, 2**40)


@given(st.lists(st.integers(0, 6), max_size=30), st.integers(7, 1000), STARTS)
def test_draws_belong_to_the_chosen_parts(chosen: list[int], parts: int, start: int) -> None:
    draws = place(np.array(chosen, dtype=np.int64), cyclic_draws(len(chosen), start), parts)
    assert part_of(draws, parts).tolist() == chosen


@pytest.mark.parametrize("part", [0, 5, 999])
def test_the_ends_of_a_part_belong_to_it(part: int) -> None:
    ends = np.array([0, SCALE - 1], dtype=np.uint32)
    assert part_of(place(np.array([part, part]), ends, 1000), 1000).tolist() == [part, part]


@given(st.integers(1, 400), st.integers(1, 12), STARTS)
def test_turns_are_even_for_any_number_of_parts(count: int, parts: int, start: int) -> None:
    counts = np.bincount(part_of(cyclic_draws(count, start), parts), minlength=parts)
    assert abs(counts - count / parts).max() <= 5


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1, 400), STARTS)
def test_shares_follow_weights(weights: list[int], count: int, start: int) -> None:
    shares = shares_of(weights)
    counts = np.bincount(part_of(weighted_draws(count, weights, start), len(weights)), minlength=len(weights))
    assert abs(counts - count * shares).max() <= 6
    if any(weights):
        assert not counts[np.array(weights) == 0].any()


@given(st.integers(1, 12), st.integers(1, 12), STARTS)
def test_equal_weights_are_even_in_other_grids_too(parts: int, other: int, start: int) -> None:
    counts = np.bincount(part_of(weighted_draws(400, [1.0] * parts, start), other), minlength=other)
    assert abs(counts - 400 / other).max() <= 8


@pytest.mark.parametrize(
    ("parts", "digits"),
    [pytest.param(1, 1, id="one part"), pytest.param(2, 30, id="bits"), pytest.param(3, 18, id="fewer"), (1000, 3)],
)
def test_a_draw_has_so_many_digits(parts: int, digits: int) -> None:
    assert digits_of(parts) == digits


@given(st.integers(1, 1000), st.lists(st.integers(0, SCALE - 1), min_size=1, max_size=20))
def test_the_first_digit_of_a_draw_is_its_part(parts: int, numbers: list[int]) -> None:
    draws = np.array(numbers, dtype=np.uint32)
    assert digit_of(draws, parts, 0).tolist() == part_of(draws, parts).tolist()
    assert digit_of(draws, parts, digits_of(parts)).tolist() == part_of(draws, parts).tolist(), "they begin again"
    for place_ in range(digits_of(parts)):
        assert digit_of(draws, parts, place_).max() < parts


TABLES = st.integers(1, 5).flatmap(
    lambda parts: st.lists(st.lists(st.integers(0, 5), min_size=parts, max_size=parts), min_size=1, max_size=5)
)


@given(TABLES, st.integers(1, 400), STARTS)
def test_every_row_of_weights_gets_its_shares(table: list[list[int]], count: int, start: int) -> None:
    draws = draws_by_row(count, np.array(table, dtype=np.float64), start)
    assert draws.dtype == np.uint32
    for row, weights in enumerate(table):
        counts = np.bincount(digit_of(draws, len(weights), row), minlength=len(weights))
        assert abs(counts - count * shares_of(weights)).max() <= 6
        if any(weights):
            assert not counts[np.array(weights) == 0].any()


@pytest.mark.parametrize("weights", [[], [-1.0], [float("nan")], [float("inf"), 1.0]])
def test_weights_that_cannot_be_are_refused(weights: list[float]) -> None:
    with pytest.raises(DroverError, match="each must be finite and at least 0"):
        shares_of(weights)


@pytest.mark.parametrize(
    ("loads", "costs", "chosen"),
    [
        pytest.param([0.0, 0.0], [1.0, 1.0], [0, 1, 0, 1], id="in turn if they are alike"),
        pytest.param([5.0, 0.0], [1.0, 1.0], [1, 1, 1, 1], id="not where much waits"),
        pytest.param([0.0, 0.0], [1.0, 3.0], [0, 1, 0, 0], id="the fast one more often"),
    ],
)
def test_the_least_loaded_is_taken(loads: list[float], costs: list[float], chosen: list[int]) -> None:
    assert least_loaded(loads, costs, 4).tolist() == chosen


def test_draws_continue_where_the_last_ones_ended() -> None:
    together = cyclic_draws(10, 7).tolist()
    assert [*cyclic_draws(4, 7).tolist(), *cyclic_draws(6, 11).tolist()] == together
    assert cyclic_draws(10, SCALE + 7).tolist() == together
    assert cyclic_draws(2, 0).tolist() == [0, GOLDEN]


def test_types_of_draws() -> None:
    draws = cyclic_draws(3, 0)
    assert draws.dtype == weighted_draws(3, [1.0, 2.0], 0).dtype == np.uint32
    assert place(np.array([1]), draws[:1], 2).dtype == np.uint32
    assert least_loaded([0.0, 0.0], [1.0, 1.0], 2).dtype == np.int64


def test_loads_of_whole_numbers_grow_by_fractions() -> None:
    assert least_loaded([0, 0], [0.6, 0.5], 4).tolist() == [0, 1, 1, 0]

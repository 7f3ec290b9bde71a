"""Fan-out: every member gets its rows in the order of arrival, and slices bound the number of pairs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.flow.families.fan_out import Memo, group_rows, match_members, member_slices
from drover.network.queries import ShapeStep
from tests.flow.families.test_interest import family

ROWS = pl.DataFrame(
    {"source": ["a", "b", "a", "z"], "x": [1.0, 2.0, 3.0, 4.0], "k": [1, 1, 1, 1]}, schema_overrides={"k": pl.Int32}
)


def only_step(*conditions: str) -> tuple[ShapeStep, pl.DataFrame, list[list[float]]]:
    _, local = family(0, *conditions)
    (step,) = local.shape.steps
    grouped = group_rows(step, 0, ROWS, local)
    rows, positions = grouped.fan_out(0, len(local))
    found = [rows.filter(pl.Series(positions == member))["x"].to_list() for member in range(len(local))]
    assert grouped.pairs.tolist() == [len(one) for one in found]
    return step, rows, found


def test_each_member_gets_the_rows_of_its_key() -> None:
    _, rows, found = only_step("source = 'b' AND x > 0", "source = 'a' AND x > 0", "source = 'none' AND x > 0")
    assert found == [[2.0], [1.0, 3.0], []]
    assert rows["x"].to_list() == [2.0, 1.0, 3.0]  # by member, then by arrival


def test_without_a_key_each_member_gets_all_rows() -> None:
    _, _, found = only_step("x > 1", "x > 2")
    assert found == [[1.0, 2.0, 3.0, 4.0]] * 2


def test_the_common_condition_is_applied_once() -> None:
    step, _, found = only_step("source = 'a' AND k IS NULL", "source = 'b' AND k IS NULL")
    assert step.common is not None
    assert found == [[], []]


def test_families_with_the_same_keys_share_work() -> None:
    memo: Memo = {}
    for condition in ("source = 'a' AND x > 1", "source = 'b' AND x < 1"):
        _, local = family(0, condition)
        match_members(local.shape.steps[0], ROWS, local, memo)
    assert len(memo) == 1


@given(pairs=st.lists(st.integers(0, 9), max_size=30), most=st.integers(1, 12))
def test_slices_cover_all_members_and_are_small(pairs: list[int], most: int) -> None:
    found = list(member_slices(np.array(pairs, dtype=np.int64), most))
    assert [position for first, last in found for position in range(first, last)] == list(range(len(pairs)))
    assert all(sum(pairs[first:last]) <= most or last == first + 1 for first, last in found)


@pytest.mark.parametrize("slice_", [(0, 1), (1, 3)])
def test_a_slice_has_the_rows_of_its_members(slice_: tuple[int, int]) -> None:
    _, local = family(0, "source = 'b' AND x > 0", "source = 'a' AND x > 0", "source = 'z' AND x > 0")
    rows, positions = group_rows(local.shape.steps[0], 0, ROWS, local).fan_out(*slice_)
    expected = [[(2.0, 0)], [(1.0, 1), (3.0, 1)], [(4.0, 2)]][slice_[0] : slice_[1]]
    assert list(zip(rows["x"].to_list(), positions.tolist(), strict=True)) == [pair for one in expected for pair in one]

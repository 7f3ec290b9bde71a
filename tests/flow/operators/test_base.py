"""The state of an operator: what it holds, what the log must get, and the way back to the start of a batch."""

from __future__ import annotations

import polars as pl
import pytest

from drover.flow.operators.base import UnitState, passing, scalar
from drover.network.schema import Column, Schema
from drover.network.types import BIGINT


def rows(*times: int) -> pl.DataFrame:
    return pl.DataFrame({"t": times}, schema={"t": pl.Int64()})


def times(found: dict[str, pl.DataFrame]) -> dict[str, list[int]]:
    return {part: each["t"].to_list() for part, each in found.items()}


def test_appended_rows_are_state_and_are_logged_per_batch() -> None:
    state = UnitState()
    state.begin()
    state.append("a", rows(1))
    state.append("a", rows(2))
    state.append("b", rows())  # nothing is no part
    assert (times(state.parts), times(state.appended)) == ({"a": [1, 2]}, {"a": [1, 2]})
    state.begin()
    state.append("a", rows(3))
    assert (times(state.parts), times(state.appended)) == ({"a": [1, 2, 3]}, {"a": [3]})
    assert state.bytes() == 24


@pytest.mark.parametrize(
    ("bounds", "left", "reached"),
    [
        pytest.param([2], [2, 3], 2, id="rows at the bound stay"),
        pytest.param([3, 2], [3], 3, id="a bound never goes back"),
        pytest.param([9], [], 9, id="all rows may go"),
        pytest.param([-5], [1, 2, 3], -5, id="the first bound is kept, however low"),
    ],
)
def test_eviction_drops_the_rows_below_a_bound(bounds: list[int], left: list[int], reached: int) -> None:
    state = UnitState()
    state.append("a", rows(1, 2, 3))
    for bound in bounds:
        state.evict("a", bound)
    assert (times(state.parts), state.bounds) == ({"a": left}, {"a": reached})


def test_a_part_without_rows_has_a_bound_all_the_same() -> None:
    state = UnitState()
    state.evict("a", 5)
    assert (state.parts, state.bounds) == ({}, {"a": 5})


def test_a_replaced_part_is_logged_and_a_merged_one_is_not() -> None:
    state = UnitState()
    state.append("merged", rows(1, 1))
    state.begin()
    state.replace("whole", rows(7))
    state.merge("merged", rows(1))
    assert times(state.parts) == {"merged": [1], "whole": [7]}
    assert (times(state.replaced), state.appended) == ({"whole": [7]}, {})


def test_restore_returns_to_the_start_of_the_batch() -> None:
    state = UnitState()
    state.append("a", rows(1, 2))
    state.evict("a", 1)
    state.begin()
    state.append("a", rows(3))
    state.replace("b", rows(4))
    state.evict("a", 3)
    state.restore()
    assert (times(state.parts), state.bounds) == ({"a": [1, 2]}, {"a": 1})
    assert (state.appended, state.replaced) == ({}, {})
    state.append("a", rows(5))
    state.restore()  # as often as the batch is tried
    assert times(state.parts) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        pytest.param("x > 1", [2], id="a condition on a column"),
        pytest.param("1 = 1", [1, 2, None], id="a true constant"),
        pytest.param("1 = 2", [], id="a false one"),
        pytest.param("CAST(NULL AS BOOLEAN)", [], id="a NULL one"),
    ],
)
def test_conditions_may_be_constants(text: str, passes: list[int | None]) -> None:
    frame = pl.DataFrame({"x": [1, 2, None]}, schema={"x": pl.Int64()})
    condition = scalar(text, Schema((Column("x", BIGINT),)))
    assert passing(frame, condition)["x"].to_list() == passes

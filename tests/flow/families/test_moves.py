"""State of members that leave or arrive: rows go with their members, and sizes are counted by member."""

from __future__ import annotations

import polars as pl
import pytest

from drover.flow.families.moves import add_arrived, family_and_node, remove_departed, state_sizes, unit_name
from drover.flow.operators import UnitState
from tests.flow.families.test_local_members import members


def state(*numbers: int, column: str = "drover_member") -> UnitState:
    return UnitState({"rows": pl.DataFrame({column: pl.Series(numbers, dtype=pl.Int64), "n": range(len(numbers))})})


@pytest.mark.parametrize("column", ["drover_member", "rows.drover_member"])
def test_rows_of_departed_members_are_removed(column: str) -> None:
    local = members([1, 3], [0, 0], ["a", "b"])
    own = state(1, 2, 3, 2, column=column)
    assert list(remove_departed(own, local)) == ["rows"]
    assert own.parts["rows"]["n"].to_list() == [0, 2]
    assert list(remove_departed(own, local)) == []


def test_rows_of_arrived_members_are_added() -> None:
    local = members([1, 3], [0, 0], ["a", "b"])
    own = state(1)
    other = state(3, 4)
    other.bounds["rows"] = 7
    own.begin()
    add_arrived(own, other, local)
    assert own.parts["rows"]["drover_member"].to_list() == [1, 3]
    assert own.bounds["rows"] == 7


def test_sizes_are_counted_by_member() -> None:
    local = members([1, 3], [0, 0], ["a", "b"])
    rows, sizes = state_sizes(state(3, 3), local)
    assert rows.tolist() == [0, 2]
    assert sizes.tolist()[0] == 0
    assert sizes.tolist()[1] > 0


def test_the_name_of_a_unit_says_family_and_node() -> None:
    assert family_and_node(unit_name("0123", "q1", 5)) == ("0123", 5)
    assert family_and_node("busy") is None

"""Interest: a node gets the rows that its members need, and all rows if one member needs them."""

from __future__ import annotations

import polars as pl

from drover.flow.families.interest import make_interest
from drover.flow.families.local_members import LocalMembers, make_local_members
from drover.flow.families.members import make_members
from drover.network.queries import shape_of
from tests.network.queries.cases import NETWORK, filtering

ROWS = pl.DataFrame({"source": ["a", "b", "c", None], "x": [1.0, 2.0, 3.0, 4.0]})


def family(node: int, *conditions: str) -> tuple[int, LocalMembers]:
    shaped = [shape_of(filtering(where), NETWORK) for where in conditions]
    count = range(len(shaped))
    shape = shaped[0].shape
    table = make_members(
        shape, count, [f"q{i}" for i in count], [node] * len(shaped), [one.constants for one in shaped]
    )
    return node, make_local_members(shape, table, node)


def test_a_node_needs_the_rows_that_match_any_key() -> None:
    found = make_interest([family(0, "source = 'a'", "source = 'c'"), family(1, "source = 'b' AND x > 1")])
    assert found.of("events", 0, ROWS)["source"].to_list() == ["a", "c"]
    assert found.of("events", 1, ROWS)["source"].to_list() == ["b"]


def test_a_member_without_a_key_needs_all_rows() -> None:
    found = make_interest([family(0, "source = 'a'"), family(0, "x > 100")])
    assert found.of("events", 0, ROWS).height == ROWS.height


def test_keys_on_different_columns_are_alternatives() -> None:
    rows = ROWS.with_columns(k=pl.Series([9, 8, 7, 6], dtype=pl.Int32))
    found = make_interest([family(0, "source = 'a'"), family(0, "k = 6")])
    assert found.of("events", 0, rows)["x"].to_list() == [1.0, 4.0]


def test_only_the_columns_that_the_node_needs_are_sent() -> None:
    found = make_interest([family(0, "source = 'a'"), family(1, "x > 100")])
    assert found.of("events", 0, ROWS, ("x",)).rows() == [(1.0,)]
    assert found.of("events", 1, ROWS, ("source",)).columns == ["source"]

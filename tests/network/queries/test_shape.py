"""Shapes: keys, pruned columns, and members that stay apart."""

from __future__ import annotations

import pickle

import pytest

from drover.network.durations import UNITS
from drover.network.operators import Filter, Join, KeyPair, Named
from drover.network.queries import Query, shape_of
from tests.network.queries.cases import NETWORK, filtering, window


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        pytest.param("source = 'a' AND x > 1", ["`source`"], id="a column"),
        pytest.param("'a' = source", ["`source`"], id="the other way round"),
        pytest.param("source = 'a' AND k = 1", ["`source`", "`k`"], id="two"),
        pytest.param("tiny = 5", ["CAST(`tiny` AS int)"], id="a column of another type"),
        pytest.param("x = 1", [], id="not of doubles, where -0.0 equals 0.0"),
        pytest.param("source = 'a' OR k = 1", [], id="not of alternatives"),
        pytest.param("source <=> 'a'", [], id="not where NULL equals NULL"),
    ],
)
def test_lookup_keys_of_a_filter(where: str, keys: list[str]) -> None:
    (step,) = shape_of(filtering(where), NETWORK).shape.steps
    assert [key.column for key in step.keys] == keys


def test_branches_of_a_switch_can_be_read() -> None:
    shape = shape_of(filtering("source = 'a'", stream="s.hot"), NETWORK).shape
    assert shape.reads == ("s.hot",)


def test_unused_columns_are_removed() -> None:
    query = Query("q", "t", (Filter(name="f", input="events", where="source = 'a' AND x > 1"), window("w", "f")), "w")
    first, second = shape_of(query, NETWORK).shape.steps
    assert first.network.sources[0].schema.names == ("ts", "x", "drover_member", "drover_c1")
    assert second.network.sources[0].schema.names == ("ts", "drover_member")


def test_a_join_keeps_members_apart() -> None:
    join = Join(
        name="j",
        left="f",
        right="events",
        left_window=UNITS["s"],
        right_window=0,
        on=(KeyPair("k", "k"),),
        where="left.x + 1 < right.x",
        select=(Named("y", "right.x * 2"),),
    )
    shaped = shape_of(Query("q", "t", (Filter(name="f", input="events", where="x > 1"), join), "j"), NETWORK)
    made = shaped.shape.steps[1].operator
    assert isinstance(made, Join)
    assert made.on == (KeyPair("k", "k"), KeyPair("drover_member", "drover_member"))
    assert shaped.constants == (1.0, 1.0, 2.0)
    assert [column.name for column in shaped.shape.schema.columns] == ["ts", "y"]


def test_a_shape_is_the_same_in_another_process() -> None:
    shape = shape_of(filtering("source = 'a' AND x > 1"), NETWORK).shape
    again = pickle.loads(pickle.dumps(shape))
    assert (again.id, again.query, again.steps) == (shape.id, shape.query, shape.steps)

"""Parameterized queries: ids stay as checkpoints have them, whatever classes are called now."""

from __future__ import annotations

from typing import Any

import pytest

from drover.network.model import Network
from drover.network.operators import Named, Switch
from drover.network.parts import Source
from drover.network.queries import Shapes
from drover.network.queries.notation import entry_of
from drover.network.queries.read import read_entry
from drover.network.schema import Column
from drover.network.types import DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal

COLUMNS = {"ts": TIMESTAMP, "source": STRING, "x": DOUBLE, "k": INT, "day": DATE, "price": decimal(12, 2)}
NETWORK = Network(
    "net",
    (Source("events", tuple(Column(name, kind) for name, kind in COLUMNS.items()), "ts"),),
    (Switch(name="s", input="events", cases=(Named("hot", "x > 9"),), rest="cold"),),
    ("s.hot", "s.cold"),
)
FILTER = {"kind": "filter", "input": "events", "where": "source = 'a' AND x > 1.5"}
WINDOW = {
    "kind": "aggregate",
    "input": "f",
    "size": "4 s",
    "advance": "2 s",
    "group_by": ["k"],
    "compute": {"n": "count(*)", "top": "max(x)"},
}
JOIN = {
    "kind": "join",
    "left": "s.hot",
    "right": "s.cold",
    "within": "5 s",
    "on": "k = k",
    "where": "left.x > right.x",
    "select": {"k": "left.k", "z": "right.x * 2"},
}


@pytest.mark.parametrize(
    ("operators", "stored"),
    [
        pytest.param({"f": FILTER}, "e36213399d302a4f1e44a3d1310c32ac", id="filter"),
        pytest.param(
            {
                "f": {"kind": "switch", "input": "s.hot", "cases": {"a": "k > 1", "b": "k > 0"}, "rest": "c"},
                "m": {"kind": "union", "inputs": ["f.a", "f.b", "f.c"]},
            },
            "33abe39b418493460e68a79890c4a4fc",
            id="switch",
        ),
        pytest.param(
            {"m": {"kind": "map", "input": "events", "select": {"y": "x + 1", "d": "day"}}},
            "1e74869deaa7a1dbe22643061e2d86fd",
            id="map",
        ),
        pytest.param(
            {
                "u": {"kind": "union", "inputs": ["s.hot", "s.cold"]},
                "f": {"kind": "filter", "input": "u", "where": "k IN (1, 2)"},
            },
            "76e872b2dbf63e4356c27e8c40e9c8de",
            id="union",
        ),
        pytest.param({"f": FILTER, "a": WINDOW}, "7006d1f7f7358f1d5411e78d755640f3", id="aggregate"),
        pytest.param({"j": JOIN}, "205e461f2226a3d9612bef89f3df6bf9", id="join"),
    ],
)
def test_the_id_of_a_shape_is_that_of_older_checkpoints(operators: dict[str, Any], stored: str) -> None:
    query = read_entry(entry_of({"name": "q", "operators": operators})).query
    assert query is not None
    assert Shapes(NETWORK).shape_of(query).shape.id == stored

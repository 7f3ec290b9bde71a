from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from drover.network.functions import columns_of
from drover.network.operators import (
    OPERATORS,
    KeyPair,
    Operator,
    Switch,
    Synthetic,
    TableRead,
    TableWrite,
    Union,
    UserDefined,
)
from tests.network.cases import a_filter, a_join, a_map, an_aggregate, named

STATELESS = UserDefined(name="u", input="s", function="m:f", columns=columns_of({"x": "int"}))
STATEFUL = UserDefined(name="u", input="s", function="m:f", columns=columns_of({"x": "int"}), keeps_state=True)
READ = TableRead(name="r", input="s", from_table="t", on=(KeyPair("k", "k"),), columns=("x",))

# Operator, streams it reads, streams it writes, whether it holds state, its table, whether it is sticky.
Row = tuple[Operator, tuple[str, ...], tuple[str, ...], bool, str | None, bool]
ROWS: list[Row] = [
    (a_filter("f", "s"), ("s",), ("f",), False, None, False),
    (Switch(name="w", input="s", cases=named({"a": "x"}), rest="b"), ("s",), ("w.a", "w.b"), False, None, False),
    (a_map({"x": "x"}, "m", "s"), ("s",), ("m",), False, None, False),
    (Union(name="u", streams=("a", "b")), ("a", "b"), ("u",), False, None, False),
    (an_aggregate(name="a", source="s"), ("s",), ("a",), True, None, False),
    (a_join("l", "r", "j"), ("l", "r"), ("j",), True, None, True),
    (READ, ("s",), ("r",), False, "t", True),
    (TableWrite(name="w", input="s", into="t"), ("s",), (), False, "t", True),
    (STATELESS, ("s",), ("u",), False, None, False),
    (STATEFUL, ("s",), ("u",), True, None, True),
    (Synthetic(name="y", input="s", cost=0.0), ("s",), ("y",), False, None, False),
]


def label(row: Row) -> str:
    return f"{row[0].kind} {'with' if row[3] else 'without'} state"


def test_every_kind_has_a_row() -> None:
    assert {row[0].kind for row in ROWS} == set(OPERATORS)


def test_the_table_of_kinds_is_keyed_by_kind() -> None:
    assert all(kind.model.kind == name for name, kind in OPERATORS.items())


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_properties_of_each_kind(row: Row) -> None:
    operator, *said = row
    assert [operator.inputs, operator.outputs, operator.holds_state, operator.table, operator.is_sticky] == said


@pytest.mark.parametrize("row", ROWS, ids=label)
@pytest.mark.parametrize("sticky", [True, False])
def test_sticky_overrides_the_default(row: Row, sticky: bool) -> None:
    operator = row[0]
    changed = replace(operator, sticky=sticky)
    assert changed.is_sticky is sticky
    assert changed != operator


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_operators_are_values(row: Row) -> None:
    operator = row[0]
    copy = pickle.loads(pickle.dumps(operator))
    assert copy == operator
    assert hash(copy) == hash(operator)
    with pytest.raises(AttributeError):
        operator.name = "other"  # type: ignore[misc]  # that it is refused is the point

from __future__ import annotations

import pytest

from drover.network.columns import Named
from drover.network.operators import Filter, Join, Operator, TableRead, Union
from drover.network.rewrite import expressions_of, input_field, table_field, with_expressions, with_inputs

FILTER = Filter(name="f", input="a", where="x > 1")
UNION = Union(name="u", streams=("a", "b", "c"))
JOIN = Join(name="j", left="a", right="b", left_window=1, right_window=1, select=(Named("x", "left.x"),))


@pytest.mark.parametrize(
    ("operator", "fields"),
    [(FILTER, [("input",)]), (UNION, [("inputs", 0), ("inputs", 1), ("inputs", 2)]), (JOIN, [("left",), ("right",)])],
    ids=["one field", "a list", "two fields"],
)
def test_inputs_are_named_and_replaced_by_field(operator: Operator, fields: list[tuple[str | int, ...]]) -> None:
    assert [input_field(operator, index) for index in range(len(operator.inputs))] == fields
    names = [f"n{index}" for index in range(len(operator.inputs))]
    assert list(with_inputs(operator, names).inputs) == names


def test_expressions_are_found_and_changed() -> None:
    assert list(expressions_of(FILTER)) == [(("where",), "x > 1")]
    assert list(expressions_of(JOIN)) == [(("select", "x"), "left.x")]  # it has no `where`
    assert list(expressions_of(UNION)) == []
    assert with_expressions(FILTER, str.upper) == Filter(name="f", input="a", where="X > 1")
    assert with_expressions(UNION, str.upper) == UNION


def test_the_field_of_a_table() -> None:
    assert table_field(TableRead(name="r", input="a", from_table="t", on=(), columns=())) == "from"

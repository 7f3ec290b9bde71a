from __future__ import annotations

import pytest
from hypothesis import given

from drover.network.functions import columns_of
from drover.network.schema import MOST_COLUMNS, Column, Schema, known, schema_faults
from drover.network.types import INT, TIMESTAMP, DataType, decimal
from tests.strategies import schemas


def a_schema(*names: str, time: str | None = None) -> Schema:
    return Schema(tuple(Column(name, INT) for name in names), time)


@given(schemas())
def test_generated_schemas_are_valid(schema: Schema) -> None:
    assert list(schema_faults(schema)) == []


@pytest.mark.parametrize(
    ("schema", "path", "says"),
    [
        pytest.param(a_schema(), ("columns",), "at least one column", id="there is a column"),
        pytest.param(a_schema("a-b"), ("columns", "a-b"), "Rename the column.", id="a column name has no dash"),
        pytest.param(a_schema("1st"), ("columns", "1st"), "does not start with a digit", id="nor a digit first"),
        pytest.param(a_schema("a.b"), ("columns", "a.b"), "letters, digits and _", id="nor a dot"),
        pytest.param(a_schema("é"), ("columns", "é"), "letters, digits and _", id="nor an accent"),
        pytest.param(a_schema("x" * 129), ("columns", "x" * 129), "up to 128", id="nor more than 128 letters"),
        pytest.param(a_schema("a\n"), ("columns", "a\n"), "letters, digits and _", id="nor a line break"),
        pytest.param(
            a_schema("a", "A"), ("columns", "A"), "the same as column 'a'", id="nor another's letters in upper case"
        ),
        pytest.param(
            Schema((Column("x", DataType("blob")),)),
            ("columns", "x"),
            "is blob, but there is no such",
            id="a type exists",
        ),
        pytest.param(
            Schema((Column("x", decimal(39, 0)),)), ("columns", "x"), "is decimal(39,0), but", id="with so many digits"
        ),
        pytest.param(a_schema("x", time="y"), ("time",), "Choose one of (none)", id="event time is a column"),
        pytest.param(
            Schema(columns_of({"x": "timestamp_ntz", "t": "timestamp"}), "x"),
            ("time",),
            "Choose one of t, or cast one.",
            id="event time is an instant, not a wall-clock time",
        ),
    ],
)
def test_rules(schema: Schema, path: tuple[str, ...], says: str) -> None:
    (fault,) = schema_faults(schema)
    assert fault.path == path
    assert says in str(fault)


def test_a_column_named_twice_is_a_fault() -> None:
    faults = set(schema_faults(a_schema("a", "b", "a")))
    assert [fault.path for fault in faults] == [("columns", "a")]


def test_the_number_of_columns_is_limited() -> None:
    assert not list(schema_faults(a_schema(*(f"c{k}" for k in range(MOST_COLUMNS)))))
    (fault,) = schema_faults(a_schema(*(f"c{k}" for k in range(MOST_COLUMNS + 1))))
    assert fault.path == ("columns",)


def test_a_schema_prints_its_columns_and_marks_the_event_time() -> None:
    schema = Schema((Column("at", TIMESTAMP), Column("n", INT)), "at")
    assert str(schema) == "at timestamp (time), n int"
    assert schema.names == ("at", "n")
    assert list(schema.types.items()) == [("at", TIMESTAMP), ("n", INT)]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        pytest.param([], "(none)", id="no names"),
        pytest.param(["a", "b"], "a, b", id="a few names"),
        pytest.param(
            [f"n{k}" for k in range(21)],
            ", ".join(f"n{k}" for k in range(20)) + ", ... (21 in all)",
            id="the first twenty of many",
        ),
    ],
)
def test_names_as_an_error_lists_them(names: list[str], text: str) -> None:
    assert known(names) == text

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from drover.errors import ExpressionError
from drover.network.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SIMPLE,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    arrow_type,
    decimal,
    parse_type,
    polars_type,
    spark_type,
)
from tests.strategies import types


@given(types())
def test_a_type_is_read_as_it_is_printed(kind: DataType) -> None:
    assert kind.is_known
    assert parse_type(str(kind)) == kind
    assert spark_type(kind) == str(kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param(" BIGINT ", BIGINT, id="in any case, with blanks around"),
        pytest.param("long", BIGINT, id="long is bigint"),
        pytest.param("integer", INT, id="integer is int"),
        pytest.param("short", SMALLINT, id="short is smallint"),
        pytest.param("byte", TINYINT, id="byte is tinyint"),
        pytest.param("real", FLOAT, id="real is float"),
        pytest.param("timestamp_ltz", TIMESTAMP, id="timestamp_ltz is timestamp"),
        pytest.param("decimal", decimal(10, 0), id="a decimal has ten digits"),
        pytest.param("numeric( 5 )", decimal(5, 0), id="none of them after the point"),
        pytest.param("dec(38,38)", decimal(38, 38), id="or all of them"),
    ],
)
def test_types_as_spark_reads_them(text: str, kind: DataType) -> None:
    assert parse_type(text) == kind


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("bigit", "Did you mean bigint?", id="a slip of the pen"),
        pytest.param("array<int>", "there is no such column type", id="no arrays"),
        pytest.param("", "Known: bigint, binary, boolean", id="nothing"),
        pytest.param("decimal(39,0)", "1 to 38 digits", id="too many digits"),
        pytest.param("decimal(0)", "1 to 38 digits", id="no digits"),
        pytest.param("decimal(2,3)", "no more of them after the point", id="more digits after the point than in all"),
        pytest.param("decimal(2,-1)", "there is no such column type", id="a negative scale"),
    ],
)
def test_texts_that_are_not_types(text: str, says: str) -> None:
    with pytest.raises(ExpressionError, match=says) as refused:
        parse_type(text)
    assert refused.value.found == text


@given(types())
def test_polars_and_arrow_agree_on_every_type(kind: DataType) -> None:
    empty = pl.Series("x", [], dtype=polars_type(kind)).to_arrow()
    wanted = arrow_type(kind)
    assert empty.type == wanted or {str(empty.type), str(wanted)} <= {
        "large_string",
        "string",
        "large_binary",
        "binary",
    }
    assert pl.Series(pa.array([], wanted)).dtype == polars_type(kind)


@pytest.mark.parametrize(
    ("kind", "is_integer", "is_float", "is_numeric"),
    [
        (BIGINT, True, False, True),
        (TINYINT, True, False, True),
        (DOUBLE, False, True, True),
        (FLOAT, False, True, True),
        (decimal(5, 2), False, False, True),
        (BOOLEAN, False, False, False),
        (STRING, False, False, False),
        (DATE, False, False, False),
    ],
    ids=str,
)
def test_types_that_count_as_numbers(kind: DataType, is_integer: bool, is_float: bool, is_numeric: bool) -> None:
    assert (kind.is_integer, kind.is_float, kind.is_numeric) == (is_integer, is_float, is_numeric)


def test_every_synonym_prints_as_the_name_that_is_known() -> None:
    assert all(SIMPLE[str(kind)] == kind for kind in SIMPLE.values())

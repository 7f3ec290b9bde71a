"""One row with a value of every type, and what expressions must give on it, in either engine."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from typing import Any, Final

import polars as pl
import pytest
from _pytest.mark.structures import ParameterSet
from pyspark.sql import SparkSession

from drover.network.expressions import parse, to_polars
from drover.network.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
    polars_type,
)
from drover.network.types import decimal as decimal_type
from tests.network.expressions.engines import compare

Case = tuple[str, object, str]  # an expression, its value on the row, and the rule in words
clock: Final = dt.datetime.fromisoformat  # what a timestamp_ntz holds: a time that belongs to no zone
COLUMNS: Final[dict[str, DataType]] = {
    "yes": BOOLEAN,
    "no": BOOLEAN,
    "unknown": BOOLEAN,
    "t": TINYINT,
    "i": INT,
    "b": BIGINT,
    "f": FLOAT,
    "d": DOUBLE,
    "nan": DOUBLE,
    "n": INT,
    "s": STRING,
    "empty": STRING,
    "lost": STRING,
    "day": DATE,
    "at": TIMESTAMP,
    "wall": TIMESTAMP_NTZ,
    "m": decimal_type(10, 2),
    "odd name`": INT,
}
ROW: Final[dict[str, Any]] = {
    "yes": True,
    "no": False,
    "unknown": None,
    "t": 100,
    "i": -7,
    "b": 2**63 - 1,
    "f": 0.5,
    "d": 2.5,
    "nan": math.nan,
    "n": None,
    "s": "a😀b",
    "empty": "",
    "lost": None,
    "day": dt.date(2024, 2, 29),
    "at": dt.datetime(2024, 2, 29, 23, 59, 59, 500_000, dt.UTC),
    "wall": clock("1969-12-31 23:59:59.000001"),
    "m": decimal.Decimal("-1.99"),
    "odd name`": 5,
}


def frame() -> pl.DataFrame:
    """Return the row."""
    return pl.DataFrame([pl.Series(name, [ROW[name]], dtype=polars_type(kind)) for name, kind in COLUMNS.items()])


def listed(cases: Sequence[Case]) -> list[ParameterSet]:
    """Return the cases for pytest, named by their rules."""
    return [pytest.param(text, expected, id=rule) for text, expected, rule in cases]


def check_in_polars(text: str, expected: object) -> None:
    """Fail unless Polars gives this value, of this type."""
    found = frame().select(to_polars(parse(text, COLUMNS)).alias("x"))["x"][0]
    both_nan = isinstance(found, float) and isinstance(expected, float) and math.isnan(found) and math.isnan(expected)
    assert found == expected or both_nan
    assert type(found) is type(expected)


def check_in_spark(spark: SparkSession, cases: Sequence[Case]) -> None:
    """Fail unless Spark gives what Polars gives; one job for all cases."""
    assert compare(spark, frame(), COLUMNS, [text for text, _, _ in cases]) == []

"""Aggregates agree between the engines, over groups, with NULLs, NaN and totals that do not fit."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Final

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.errors import ExpressionError
from drover.network.expressions import aggregate_to_polars, aggregate_to_spark, parse_aggregate
from drover.network.expressions.aggregates import AGGREGATES
from drover.network.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, TINYINT, DataType, decimal, polars_type
from tests.network.expressions.engines import spark_frame
from tests.network.expressions.frames import COLUMNS, TYPES, random_frame, random_value
from tests.network.expressions.texts import Writer

GROUP: Final = "g"
TIME: Final = "at"
DYADIC: Final = "dyadic"  # multiples of 1/8, whose sums are exact in any order
SCHEMA: Final[Mapping[str, DataType]] = {**COLUMNS, GROUP: INT, TIME: TIMESTAMP, DYADIC: DOUBLE}


def grouped_frame(chance: random.Random, rows: int) -> pl.DataFrame:
    times = [random_value(TIMESTAMP, chance) for _ in range(5)]
    chosen = pl.Series([chance.choice(times) for _ in range(rows)], dtype=pl.Datetime("us"))
    dyadic = [chance.choice([None, chance.randrange(-800, 800) / 8]) for _ in range(rows)]
    return random_frame(chance, rows).with_columns(
        pl.Series(GROUP, [chance.randrange(rows // 4 + 1) for _ in range(rows)], dtype=pl.Int32),
        chosen.dt.replace_time_zone("UTC").alias(TIME),
        pl.Series(DYADIC, dyadic, dtype=pl.Float64),
    )


def both(spark: SparkSession, frame: pl.DataFrame, texts: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return each engine's aggregates by group."""
    parsed = [parse_aggregate(text, SCHEMA) for text in texts]
    ours = frame.group_by(GROUP).agg(aggregate_to_polars(a, TIME).alias(str(i)) for i, a in enumerate(parsed))
    sqls = [f"{aggregate_to_spark(a, TIME)} AS `{i}`" for i, a in enumerate(parsed)]
    spark_frame(spark, frame, SCHEMA).createOrReplaceTempView("grouped")
    answer = spark.sql(f"SELECT {GROUP}, {', '.join(sqls)} FROM grouped GROUP BY {GROUP}").toArrow()
    theirs = pl.from_arrow(answer)
    assert isinstance(theirs, pl.DataFrame)
    for i, aggregate in enumerate(parsed):
        assert ours[str(i)].dtype == theirs[str(i)].dtype == polars_type(aggregate.type), texts[i]
    return ours.sort(GROUP), theirs.sort(GROUP)


def random_texts(chance: random.Random) -> list[str]:
    """Return every aggregate on every type it takes; sums of floats only over exact values."""
    writer = Writer(chance, set())
    texts = ["count(*)", "count(1)"]
    for name, row in AGGREGATES.items():
        for data_type in TYPES:
            if name == "count distinct" and chance.random() < 0.7:
                continue  # Spark plans several distinct counts as copies of the input, which takes long
            if row.takes.accepts(data_type):
                exact = data_type.is_float and name in ("sum", "avg", "stddev", "variance")
                inner = DYADIC if exact else writer.text(data_type, chance.randrange(3))
                if any(column in inner for column in COLUMNS) or exact:
                    texts.append(f"count(DISTINCT {inner})" if name == "count distinct" else f"{name}({inner})")
    return texts


def close(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    return a is None and b is None


@pytest.mark.parametrize("seed", range(6))
def test_aggregates_agree(spark: SparkSession, seed: int) -> None:
    chance = random.Random(seed)
    frame = grouped_frame(chance, (40, 1, 0, 80, 12, 40)[seed])
    texts = random_texts(chance)
    ours, theirs = both(spark, frame, texts)
    assert ours[GROUP].to_list() == theirs[GROUP].to_list()
    for i, text in enumerate(texts):
        a = ours[str(i)]
        b = theirs[str(i)]
        if text.startswith(("stddev", "variance")):
            assert all(map(close, a.to_list(), b.to_list())), f"{text}: {a.to_list()} {b.to_list()}"
        else:
            assert a.eq_missing(b).all(), f"{text}: {a.to_list()} {b.to_list()}"


CASES: Final = [
    pytest.param("sum(b)", [2**63 - 1, 1, -5], 2**63 - 5, id="a total may leave bigint on the way"),
    pytest.param("sum(b)", [2**63 - 1, 1], None, id="a total beyond bigint is NULL"),
    pytest.param("sum(b)", [None, None], None, id="a total of nothing is NULL"),
    pytest.param("avg(b)", [2**63 - 1, 2**63 - 1], float(2**63), id="an average never overflows"),
    pytest.param("avg(b)", [1, 2, None], 1.5, id="an average skips NULL"),
    pytest.param("count(b)", [1, None], 1, id="count skips NULL"),
    pytest.param("count(*)", [1, None], 2, id="count(*) does not"),
    pytest.param("count(DISTINCT b)", [1, 1, None, 2], 2, id="distinct values skip NULL"),
    pytest.param("count(DISTINCT b / 0)", [1, 2], 0, id="no value, no distinct one"),
    pytest.param("stddev(b)", [5], None, id="one row has no deviation"),
    pytest.param("variance(b)", [1, 3], 2.0, id="variance is that of a sample"),
    pytest.param("max(CAST(b AS DOUBLE) % 0)", [1], None, id="the largest of NULLs is NULL"),
    pytest.param("first(b)", [3, 1, 2], 1, id="first breaks ties of time by the smaller value"),
    pytest.param("last(b)", [3, 1, 2], 3, id="last breaks ties of time by the larger value"),
    pytest.param("first(b)", [3, None], None, id="NULL is the smallest value"),
    pytest.param("first(CAST(NULL AS BIGINT) <= b)", [3], None, id="the first of comparisons with NULL is NULL"),
]


@pytest.mark.parametrize(("text", "values", "expected"), CASES)
def test_aggregate_cases(text: str, values: list[int | None], expected: object) -> None:
    frame = pl.DataFrame({"b": pl.Series(values, dtype=pl.Int64), "t": [0] * len(values), "g": [1] * len(values)})
    aggregate = parse_aggregate(text, {"b": BIGINT})
    assert frame.group_by("g").agg(aggregate_to_polars(aggregate, "t").alias("x"))["x"].to_list() == [expected]
    assert frame.select(aggregate_to_polars(aggregate, "t").alias("x"))["x"].to_list() == [expected]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("b", "exactly one aggregate", id="no aggregate"),
        pytest.param("sum(b) + 1", "exactly one aggregate", id="arithmetic outside"),
        pytest.param("sum(sum(b))", "not a function of one row", id="nested"),
        pytest.param("sum(*)", r"\* goes with count only", id="star"),
        pytest.param("sum(DISTINCT b)", "DISTINCT goes with count", id="distinct sum"),
        pytest.param("sum(s)", "must be a number, not a string", id="sum of strings"),
        pytest.param("sum(d)", "must be a number, not a decimal", id="sum of decimals"),
        pytest.param("sum(1)", "uses no column", id="constant"),
        pytest.param("sum(b, b)", "one argument, not 2", id="two arguments"),
        pytest.param("sum(b) FILTER (WHERE b > 1)", "no FILTER", id="filter"),
        pytest.param("sum(b) OVER ()", "no window function", id="window"),
        pytest.param("count(NULL)", "this NULL has no type", id="untyped NULL"),
    ],
)
def test_aggregate_refusals(text: str, rule: str) -> None:
    with pytest.raises(ExpressionError, match=rule):
        parse_aggregate(text, {"b": BIGINT, "s": STRING, "d": decimal(10, 2), "t": TINYINT})

"""A user's function on Arrow data: its result is checked before Spark sees it."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pytest

import drover
from drover.errors import DroverError
from drover.network.functions import columns_of
from drover.network.operators import UserDefined
from drover.network.schema import Schema
from drover.spark.functions import UserFunctionCaller

INPUT = Schema(columns_of({"ts": "timestamp", "k": "bigint"}), "ts")
TIMES = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (2, 0, 1)]
DECLARED = {"twice": "bigint"}
TABLE = pa.table({"ts": pa.array(TIMES, pa.timestamp("us", "UTC")), "k": [20, 0, 10], "unread": ["x"] * 3})


@drover.function(columns=DECLARED)
def doubled(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(twice=pl.col("k") * 2)


@drover.function(columns=DECLARED, keeps_state=True)
def running(rows: pl.DataFrame, state: object) -> tuple[pl.DataFrame, object]:
    assert state is None
    return rows.select(twice=pl.col("k").cum_sum()), state


@drover.function(columns=DECLARED)
def wrong_columns(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


@drover.function(columns=DECLARED)
def wrong_type(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(twice=pl.lit("text"))


@drover.function(columns=DECLARED)
def nothing(_rows: pl.DataFrame) -> None:
    return None


@drover.function(columns=DECLARED, frame="arrow")
def on_arrow(rows: pa.Table) -> pa.Table:
    assert isinstance(rows, pa.Table)
    return pa.table({"twice": rows.column("k")})


def caller(name: str, frame: str = "polars") -> UserFunctionCaller:
    operator = UserDefined(
        name="op", input="s", function=f"{__name__}:{name}", columns=columns_of(DECLARED), frame=frame
    )
    return UserFunctionCaller(operator, INPUT)


def test_a_function_without_state_gets_the_rows_as_they_are() -> None:
    assert caller("doubled").batch(TABLE).to_pydict() == {"twice": [40, 0, 20]}


def test_a_function_with_state_gets_the_rows_in_order_of_time() -> None:
    assert caller("running").whole(TABLE).to_pydict() == {"twice": [0, 10, 30]}


def test_a_function_may_ask_for_arrow() -> None:
    assert caller("on_arrow", "arrow").batch(TABLE).to_pydict() == {"twice": [20, 0, 10]}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("wrong_columns", "but declares a frame with the columns", id="other columns"),
        pytest.param("nothing", "returned 'NoneType', but declares", id="no frame"),
        pytest.param("wrong_type", "returned values that do not fit its declared columns", id="another type"),
    ],
)
def test_a_result_that_is_not_as_declared_is_refused(name: str, says: str) -> None:
    with pytest.raises(DroverError, match=says):
        caller(name).batch(TABLE)

"""SQLite: how types are stored, and that ranks order values as Spark does."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from drover.errors import TableError
from drover.flow.tables import Address
from drover.flow.tables.sqlite import SQLite, affinity
from drover.network.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, DataType, decimal


@pytest.mark.parametrize(
    ("kind", "declared", "fits"),
    [
        pytest.param(BIGINT, "INTEGER", True, id="integer"),
        pytest.param(BIGINT, "UNSIGNED BIG INT", True, id="any INT"),
        pytest.param(TIMESTAMP, "TIMESTAMP", True, id="numeric affinity keeps integers"),
        pytest.param(STRING, "VARCHAR(20)", True, id="any CHAR"),
        pytest.param(STRING, "STRING", False, id="STRING is numeric in SQLite"),
        pytest.param(BINARY, "", True, id="no type is BLOB"),
        pytest.param(DOUBLE, "FLOATING POINT", False, id="INT comes before FLOA"),
    ],
)
def test_which_declared_types_fit(kind: DataType, declared: str, fits: bool) -> None:
    assert SQLite().fits(kind, declared) is fits


def test_affinity_follows_the_order_of_the_rules() -> None:
    assert [affinity(word) for word in ("CHARINT", "TEXT BLOB", "BLOB REAL", "DOUBLE", "DATE")] == [
        "INTEGER",
        "TEXT",
        "BLOB",
        "REAL",
        "NUMERIC",
    ]


@pytest.mark.parametrize(
    ("kind", "ascending"),
    [
        pytest.param(
            decimal(38, 2), [None, "-12345678901234567890.50", "-0.50", "0.00", "0.10", "99.00"], id="decimal"
        ),
        pytest.param(DOUBLE, [None, -1.5, 0.0, 1e300, "NaN"], id="double"),
        pytest.param(STRING, [None, "", "Z", "a", "é"], id="string"),
        pytest.param(BOOLEAN, [None, 0, 1], id="boolean"),
    ],
)
def test_ranks_order_stored_values(kind: DataType, ascending: list[object]) -> None:
    ranks = ", ".join(SQLite().ranks("v", kind))
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE t (v {SQLite().column_type(kind)})")
        connection.executemany("INSERT INTO t VALUES (?)", [(one,) for one in reversed(ascending)])
        found = [row[0] for row in connection.execute(f"SELECT v FROM t ORDER BY {ranks}")]
    connection.close()
    assert found == ascending


def test_staged_rows_flag_nan_and_write_decimals_as_text() -> None:
    rows = pl.DataFrame(
        {"x": [1.5, float("nan"), None], "d": pl.Series([Decimal("-0.50"), None, Decimal(1)], dtype=pl.Decimal(9, 2))}
    )
    staged = SQLite().stage(rows, [DOUBLE, decimal(9, 2)])
    assert staged.rows.to_pydict() == {"n0": [0, 1, None], "c0": [1.5, None, None], "c1": ["-0.50", None, "1.00"]}
    assert "'NaN'" in staged.values[0]
    assert staged.values[1] == 's."c1"'


def test_days_are_stored_as_integers() -> None:
    rows = pl.DataFrame({"day": pl.Series([0, 1], dtype=pl.Int32).cast(pl.Date)})
    assert SQLite().stage(rows, [DATE]).rows.to_pydict() == {"c0": [0, 1]}


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no folder"):
        SQLite().connect(Address(f"sqlite://{tmp_path}/none/t.db"))

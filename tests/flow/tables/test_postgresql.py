"""PostgreSQL: types and statements that need no server."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest

from drover.flow.tables import Address
from drover.flow.tables.postgresql import PostgreSQL
from drover.network.types import BIGINT, STRING, TIMESTAMP, TINYINT, DataType, decimal


@pytest.mark.parametrize(
    ("kind", "declared", "fits"),
    [
        pytest.param(BIGINT, "bigint", True, id="the same"),
        pytest.param(BIGINT, "integer", False, id="narrower"),
        pytest.param(STRING, "character varying(20)", True, id="varchar"),
        pytest.param(STRING, "character(20)", False, id="char pads"),
        pytest.param(decimal(12, 2), "numeric(12,2)", True, id="decimal"),
        pytest.param(decimal(12, 2), "numeric(12,3)", False, id="another scale"),
    ],
)
def test_which_declared_types_fit(kind: DataType, declared: str, fits: bool) -> None:
    assert PostgreSQL().fits(kind, declared) is fits


def test_new_strings_sort_by_bytes() -> None:
    assert PostgreSQL().column_type(STRING) == 'text COLLATE "C"'
    assert PostgreSQL().column_type(TIMESTAMP) == "timestamp with time zone"


def test_a_table_may_have_a_schema() -> None:
    uri = "postgresql://user@host/database"
    assert PostgreSQL().name("t", Address(uri)) == '"t"'
    assert PostgreSQL().name("t", Address(uri, 'a"b', "s")) == '"s"."a""b"'


def test_decimals_are_staged_as_text() -> None:
    rows = pl.DataFrame({"d": pl.Series([Decimal("1.50")], dtype=pl.Decimal(9, 2)), "i": pl.Series([3], dtype=pl.Int8)})
    staged = PostgreSQL().stage(rows, [decimal(9, 2), TINYINT])
    assert staged.rows.to_pydict() == {"c0": ["1.50"], "c1": [3]}
    assert staged.values == ('s."c0"::numeric(9,2)', 's."c1"')
    decoded = PostgreSQL().decode(staged.rows, decimal(9, 2), 0)
    assert decoded.to_list() == [Decimal("1.50")]

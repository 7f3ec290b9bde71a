from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from drover.network.types import parse_type, polars_type
from drover.spark.sinks import write_parquet

START = datetime(2024, 1, 1, tzinfo=UTC)
VALUES: dict[str, list[object]] = {
    "bigint": [1, None, -(2**63)],
    "double": [0.5, float("nan"), None],
    "string": ["a text of some length", "", None],
    "boolean": [True, None, False],
    "timestamp": [START, None, START + timedelta(microseconds=1)],
    "date": [date(2024, 2, 29), None, date(1, 1, 1)],
    "decimal(10,2)": [Decimal("1.25"), None, Decimal("-0.01")],
    "binary": [b"\x00", None, b""],
}


@pytest.mark.parametrize("large", [0, 1 << 30], ids=["piece by piece", "in one piece"])
def test_parquet_is_the_same_in_pieces(tmp_path: Path, large: int) -> None:
    schema = {kind: polars_type(parse_type(kind)) for kind in VALUES}
    given = pl.concat([pl.DataFrame(VALUES, schema=schema)] * 300, rechunk=False)
    with (tmp_path / "rows.parquet").open("wb") as file:
        write_parquet(given, file, large, piece=250)
    assert_frame_equal(pl.read_parquet(tmp_path / "rows.parquet"), given)

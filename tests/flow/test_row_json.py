"""Rows as JSON text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl

from drover.flow.row_json import row_json


def test_every_type_has_a_form_in_json() -> None:
    rows = pl.DataFrame({"b": [b"\x00\xff"], "t": [datetime(2024, 1, 1, tzinfo=UTC)], "d": [Decimal("1.50")], "n": [3]})
    text = rows.select(row_json(rows, ["b", "t", "d", "n"])).item()
    found = json.loads(text)
    assert found == {"b": "AP8=", "t": "2024-01-01 00:00:00.000000+00:00", "d": "1.50", "n": 3}

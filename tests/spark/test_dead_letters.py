"""Dead letters of all sources as one frame."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl

from drover.flow.router import dead_letters
from drover.spark.dead_letters import LETTER, dead_letter_rows


def test_sources_with_different_columns_share_one_frame() -> None:
    one = pl.DataFrame(
        {
            "ts": [datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)],
            "raw": [b"\x00\xff"],
            "price": [Decimal("1.50")],
            "n": [None],
        },
        schema_overrides={"n": pl.Int32},
    )
    other = dead_letters(pl.DataFrame({"tag": ["ü"]}), pl.lit("site is X"))
    found = dead_letter_rows({"z": other, "a": dead_letters(one, pl.lit("event time is NULL"))})
    assert found.schema == LETTER
    assert found["source"].to_list() == ["a", "z"]
    assert found["reason"].to_list() == ["event time is NULL", "site is X"]
    first, second = (json.loads(row) for row in found["row"])
    assert first["raw"] == "AP8="
    assert first["ts"].startswith("2026-01-02 03:04:05")
    assert (first["price"], first["n"]) == ("1.50", None)
    assert second == {"tag": "ü"}


def test_no_letters_are_an_empty_frame() -> None:
    assert dead_letter_rows({}).schema == LETTER

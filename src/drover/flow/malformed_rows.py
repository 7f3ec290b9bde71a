"""Malformed rows: rows of CSV and JSON files in which a declared column could not be read.

Spark reads a field that does not have its type as NULL and tells nobody. `drover.spark.malformed` lets Spark keep
evidence of such rows, in a column of JSON texts. Here the evidence becomes a reason.

Rule 1: a row is malformed if a declared column could not be read. More cells than columns do not make it malformed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

EVIDENCE: Final = "drover evidence"  # column; it is NULL in rows that Spark could read
UNSURE: Final = "?"  # before the evidence of a row for which the user's `where` is NULL
FEWER_CELLS: Final = "the line has fewer cells than columns"
UNREADABLE: Final = "the text cannot be read"


@dataclass(frozen=True, slots=True, eq=False)
class CheckedRows:
    """The rows of a batch that can be used, and the malformed ones with their texts and reasons."""

    good: pl.DataFrame
    malformed: pl.DataFrame
    texts: pl.Series
    reasons: pl.Series


def check_rows(rows: pl.DataFrame) -> CheckedRows | None:
    """Return the rows without EVIDENCE; None if there is no evidence against any."""
    if EVIDENCE not in rows.columns or rows[EVIDENCE].null_count() == rows.height:
        return None
    evidence: list[str | None] = rows[EVIDENCE].to_list()
    found = [None if each is None else json.loads(each.removeprefix(UNSURE)) for each in evidence]
    reasons = [None if each is None else reason_of(each) for each in found]
    is_malformed = pl.Series([reason is not None for reason in reasons], dtype=pl.Boolean)
    # A row that is not malformed and for which `where` is NULL is a row that the user does not want.
    is_good = ~is_malformed & ~rows[EVIDENCE].str.starts_with(UNSURE).fill_null(value=False)
    texts = [each["text"] for each, reason in zip(found, reasons, strict=True) if each and reason is not None]
    return CheckedRows(
        rows.filter(is_good),
        rows.filter(is_malformed),
        pl.Series(texts, dtype=pl.String),
        pl.Series([reason for reason in reasons if reason is not None], dtype=pl.String),
    )


def reason_of(evidence: Mapping[str, Any]) -> str | None:  # Any: JSON
    """Return why a row is malformed, or None.

    `values` has what Spark could read, and `cells` the same fields as texts, by name and type; NULLs are left out. Of a
    line of CSV, `longer` has the cells of the same line with one more cell. That cell belongs to a column if the line
    has too few.

    >>> reason_of({"format": "csv", "values": {"n int": 1}, "cells": {"n int": "1", "id int": "x"}, "longer": {}})
    'id is no int, the line has fewer cells than columns'
    >>> reason_of({"format": "csv", "values": {"n int": 1}, "cells": {"n int": "1"}, "longer": {"n int": "1"}})
    """
    is_csv = evidence["format"] == "csv"
    values = evidence.get("values", {})
    # Spark marks all rows of a JSON array if one is malformed, and does not tell which.
    if not is_csv and values and evidence["text"].lstrip().startswith("["):
        return None
    cells = evidence.get("cells", {})
    wrong = [" is no ".join(field.split(" ", 1)) for field in cells if field not in values]
    if is_csv and evidence.get("longer", {}) != cells:
        wrong.append(FEWER_CELLS)
    if not wrong and (not is_csv or not values):
        return UNREADABLE
    return ", ".join(wrong) or None

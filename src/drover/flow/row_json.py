"""Rows as JSON text, for sinks that take rows of any schema: dead letters and late rows."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl


def row_json(rows: pl.DataFrame, columns: Iterable[str]) -> pl.Expr:
    """Return some columns of each row as one JSON object."""
    return pl.struct(_plain(name, rows.schema[name]) for name in columns).struct.json_encode()


def _plain(name: str, kind: pl.DataType) -> pl.Expr:
    """Return a column in a form that JSON has: bytes in base64, times and decimals as text."""
    column = pl.col(name)
    if kind == pl.Binary:
        return column.bin.encode("base64")
    return column.cast(pl.String()) if kind.is_temporal() or kind.is_decimal() else column

"""Dead letters: the rows that the router refused, as one frame per batch.

Rule 1: a sink receives a batch once, so all sources share one frame with the source, the reason and the row as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from drover.flow.router import REASON

LETTER: Final = {"source": pl.String(), "reason": pl.String(), "row": pl.String()}


def dead_letter_rows(dead: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the dead letters of all sources with the columns `source`, `reason` and `row`."""
    parts = [
        rows.select(
            pl.lit(source).alias("source"),
            pl.col(REASON).alias("reason"),
            pl.struct(_plain(name, kind) for name, kind in rows.schema.items() if name != REASON)
            .struct.json_encode()
            .alias("row"),
        )
        for source, rows in sorted(dead.items())
    ]
    return pl.concat([pl.DataFrame(schema=LETTER), *parts])


def _plain(name: str, kind: pl.DataType) -> pl.Expr:
    """Return a column in a form that JSON has: bytes in base64, times and decimals as text."""
    column = pl.col(name)
    if kind == pl.Binary:
        return column.bin.encode("base64")
    return column.cast(pl.String()) if kind.is_temporal() or kind.is_decimal() else column

"""Dead letters: the rows that the router refused, as one frame per batch.

Rule 1: a sink receives a batch once, so all sources share one frame with the source, the reason and the row as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from drover.flow.router import REASON, ROW

LETTER: Final = {"source": pl.String(), REASON: pl.String(), ROW: pl.String()}


def dead_letter_rows(dead: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the dead letters of all sources with the columns `source`, `reason` and `row`."""
    parts = [letters.select(pl.lit(source).alias("source"), REASON, ROW) for source, letters in sorted(dead.items())]
    return pl.concat([pl.DataFrame(schema=LETTER), *parts])

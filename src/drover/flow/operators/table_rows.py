"""What reading and writing tables have in common: the declaration of a table, and one zero."""

from __future__ import annotations

import polars as pl

from drover.network.model import Network
from drover.network.operators import Table


def declared(network: Network, name: str) -> Table:
    """Return the table of that name."""
    return next(table for table in network.tables if table.name == name)


def without_negative_zero(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with 0.0 for its equal -0.0; else the one that stays in a table would depend on arrival."""
    # Adding 0.0 would do too, but Polars optimises it away.
    floats = [name for name, kind in rows.schema.items() if kind.is_float()]
    return rows.with_columns(
        pl.when(pl.col(name) == 0).then(pl.lit(0, rows.schema[name])).otherwise(pl.col(name)).alias(name)
        for name in floats
    )

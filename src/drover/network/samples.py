"""Sample streams and tables: what the samples of each operator kind read, and a network around one of them."""

from __future__ import annotations

from typing import Final

import polars as pl

from drover.network.functions import columns_of, function
from drover.network.model import Network
from drover.network.operators import Operator, Table
from drover.network.parts import Source

EVENT_COLUMNS: Final = {"ts": "timestamp", "key": "string", "amount": "bigint"}
SOURCES: Final = {name: Source(name, columns_of(EVENT_COLUMNS), "ts") for name in ("events", "more_events")}
TABLES: Final = {
    "names": Table("names", columns_of({"id": "string", "name": "string"}), ("id",)),
    "latest": Table("latest", columns_of(EVENT_COLUMNS), ("key",)),
}


@function(columns=EVENT_COLUMNS, time="ts")
def double(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with twice their amount."""
    return frame.with_columns(pl.col("amount") * 2)


def sample_network(operator: Operator) -> Network:
    """Return a network of the sample streams and tables that an operator uses, and the operator."""
    sources = tuple(SOURCES[stream] for stream in dict.fromkeys(operator.inputs))
    tables = () if operator.table is None else (TABLES[operator.table],)
    return Network("sample", sources, (operator,), operator.outputs, tables)

"""Results of submitted queries: one table for all queries that have the same columns, each with a sink of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import polars as pl
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.spark.sinks import QUERY, DiscardingSink, Memory, Several, Sink, for_table

LONGEST: Final = 60  # characters of a table's name, besides its digest
UNSAFE: Final = re.compile(r"[^A-Za-z0-9_]+")  # in the name of a folder


def table_name(rows: pl.DataFrame) -> str:
    """Return a name for a set of columns and types, fit for a folder.

    >>> table_name(pl.DataFrame({"query": ["a"], "n": [1]}))
    'n-3a651761'
    """
    columns = [(name, str(kind)) for name, kind in rows.schema.items() if name != QUERY]
    words = "-".join(UNSAFE.sub("_", name) for name, _ in columns)[:LONGEST].strip("-")
    return f"{words}-{blake2b(repr(columns).encode(), digest_size=4).hexdigest()}"


@dataclass(slots=True)
class QueryResults:
    """Writes the results of all queries to sinks, one per table, which it derives from the given sink."""

    sink: Sink
    _sinks: dict[str, Sink] = field(default_factory=dict)

    def write(self, tables: Iterable[pl.DataFrame], batch: int, spark: SparkSession, *, again: bool = False) -> None:
        """Write the results of a batch; `again` if an earlier attempt may have written other ones."""
        named = [(table_name(rows), rows) for rows in tables]
        if again and isinstance(self.sink, DiscardingSink):
            # If a query fails that did not fail before, the rows that it had must go.
            self.sink.discard(batch, {name for name, _ in named})
        for name, rows in named:
            # A sink for a table is made with its first rows: until then, nobody knows its columns.
            if name not in self._sinks:
                self._sinks[name] = for_table(self.sink, name)
            self._sinks[name].write(rows, batch, spark)


def rows_in_memory(sink: Sink | None, query: str) -> pl.DataFrame:
    """Return all rows of a query so far; DroverError if the sink keeps nothing in memory."""
    for one in sink.sinks if isinstance(sink, Several) else (sink,):
        if isinstance(one, Memory):
            return one.rows(query)
    raise DroverError("no sink keeps results of queries in memory. Give drover.run(..., queries=sinks.Memory()).")

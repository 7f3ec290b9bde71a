"""Results of queries on their way to a sink: one table for all queries with the same columns, and one sink per table.

Rule 1: as for every sink, a batch may come twice with the same rows, and writing it twice leaves what writing it once
does. Rule 2: the first column is `query`, the name of the query that a row answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Final

import polars as pl
from pyspark.sql import SparkSession

from drover.spark.sinks import Files, Memory, Several, Sink

QUERY: Final = "query"
LONGEST: Final = 60  # characters of a table's name, besides its digest
ODD: Final = re.compile(r"[^A-Za-z0-9_]+")


def table_name(rows: pl.DataFrame) -> str:
    """Return a word for the columns and types of rows, which may be the name of a folder.

    >>> table_name(pl.DataFrame({"query": ["a"], "n": [1]}))
    'n-3a651761'
    """
    columns = [(name, str(kind)) for name, kind in rows.schema.items() if name != QUERY]
    words = "-".join(ODD.sub("_", name) for name, _ in columns)[:LONGEST].strip("-")
    return f"{words}-{blake2b(repr(columns).encode(), digest_size=4).hexdigest()}"


@dataclass(slots=True)
class Answers:
    """A sink for queries: makes one for each table out of the one that was given."""

    sink: Sink
    _sinks: dict[str, Sink] = field(default_factory=dict)

    def write(self, tables: Mapping[str, pl.DataFrame], batch: int, spark: SparkSession) -> None:
        """Take the results of a batch."""
        for rows in tables.values():
            name = table_name(rows)
            if name not in self._sinks:
                self._sinks[name] = _for_table(self.sink, name)
            self._sinks[name].write(rows, batch, spark)


def _for_table(sink: Sink, name: str) -> Sink:
    if isinstance(sink, Files):
        return replace(sink, folder=str(Path(sink.folder) / name))
    if isinstance(sink, Results):
        return sink.tables.setdefault(name, Memory())
    if isinstance(sink, Several):
        return Several(tuple(_for_table(one, name) for one in sink.sinks))
    return sink


@dataclass(slots=True)
class Results:
    """Keeps the results of all queries in the driver's memory, for tests and for a look."""

    tables: dict[str, Memory] = field(default_factory=dict)

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Keep the results of a batch."""
        self.tables.setdefault(table_name(rows), Memory()).write(rows, batch, spark)

    def rows(self, query: str) -> pl.DataFrame:
        """Return all rows of one query so far, without its name; no columns if there are none."""
        for memory in self.tables.values():
            found = memory.rows().filter(pl.col(QUERY) == query)
            if found.height:
                return found.drop(QUERY)
        return pl.DataFrame()

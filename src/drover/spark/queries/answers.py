"""Results of submitted queries on their way to a sink: one table for all queries with the same columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import polars as pl
from pyspark.sql import SparkSession

from drover.spark.sinks import QUERY, Sink, for_table

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
    """Takes the results of all queries, and hands each table to a sink of its own, made of the one that was given."""

    sink: Sink
    _sinks: dict[str, Sink] = field(default_factory=dict)

    def write(self, tables: Iterable[pl.DataFrame], batch: int, spark: SparkSession) -> None:
        """Take the results of a batch."""
        for rows in tables:
            name = table_name(rows)
            if name not in self._sinks:
                self._sinks[name] = for_table(self.sink, name)
            self._sinks[name].write(rows, batch, spark)

"""Sinks: where the rows of an output go, batch by batch.

Rule 1: after a crash, a sink may get a batch again. The rows are the same, unless a function fails that did not fail
before; then there are fewer or none, and the new ones count. Writing a batch twice must leave the same as writing the
last one alone. Rule 2: the batch is computed once, whatever the number of sinks.
Rule 3: results of submitted queries come as one table for all queries with equal columns; the first column has the name
of the query. A sink that separates tables implements `for_table`, and `discard` to keep Rule 1 for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import IO, Final, Protocol, runtime_checkable

import polars as pl
from pyarrow.parquet import ParquetWriter
from pyspark.sql import DataFrame, SparkSession

from drover.errors import DroverError, shorten
from drover.files import local_folder, make_durable_folder, replacing, same_place, sync
from drover.network.types import DataType, polars_type
from drover.runs.formats import REMOTE_RULE, REMOTE_WAY_OUT
from drover.runs.model import Output
from drover.spark.sink_folders import ExistingRows, SinkFolder, existing_rows

LARGE: Final = 64 << 20  # bytes of a batch from which on it is written in pieces
PIECE: Final = 500_000  # rows of a piece
QUERY: Final = "query"  # the first column of results of submitted queries


class Sink(Protocol):
    """Takes the rows of one output stream, batch by batch.

    Batches without rows are skipped, unless an earlier run may have delivered rows of the same batch.
    """

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Take the rows of a batch."""
        ...


@runtime_checkable
class TableSink(Protocol):
    """A sink that separates tables."""

    def for_table(self, name: str) -> Sink:
        """Return the sink of one table."""
        ...


@runtime_checkable
class DiscardingSink(Protocol):
    """A sink with tables that can take back the rows of a batch."""

    def discard(self, batch: int, kept: Collection[str]) -> None:
        """Remove the rows of a batch from all tables but these, which are written anew."""
        ...


def empty_rows(types: Mapping[str, DataType]) -> pl.DataFrame:
    """Return a batch without rows."""
    return pl.DataFrame(schema={name: polars_type(kind) for name, kind in types.items()})


def for_table(sink: Sink, name: str) -> Sink:
    """Return the sink for one table: the sink itself, if it does not separate tables."""
    return sink.for_table(name) if isinstance(sink, TableSink) else sink


def write_parquet(rows: pl.DataFrame, file: IO[bytes], large: int = LARGE, piece: int = PIECE) -> None:
    """Write rows as Parquet."""
    # A large batch is written in pieces, because Polars copies all rows before it writes any.
    if rows.estimated_size() <= large:
        rows.write_parquet(file)
        return
    # As in frames: without this, the strings of a slice would keep the buffers of all rows.
    tables = (each.to_arrow(compat_level=pl.CompatLevel.oldest()) for each in rows.iter_slices(piece))
    first = next(tables)
    with ParquetWriter(file, first.schema, compression="zstd") as writer:
        for table in chain([first], tables):
            writer.write_table(table)


# Formats of files, and how to write rows as one.
WRITERS: Final[Mapping[str, Callable[[pl.DataFrame, IO[bytes]], object]]] = {
    "parquet": write_parquet,
    "json": pl.DataFrame.write_ndjson,
    "csv": pl.DataFrame.write_csv,
}


@dataclass(frozen=True, slots=True)
class Files:
    """Writes each batch as one file, `<folder>/<batch>.<format>`, atomically; a replay writes the same file.

    The folder is on a local disk. `existing` says what to do if it has rows of another run: `refuse`, `overwrite` or
    `adopt`; None leaves it to `drover.run`.
    """

    folder: str
    format: str = "parquet"
    existing: str | None = None
    word: str = field(default="", repr=False)  # in the names of files, if another run has rows in the folder

    def __post_init__(self) -> None:
        """Refuse an unknown format, and a folder that is not on this machine."""
        if self.format not in WRITERS:
            raise DroverError(f"format is {self.format!r}, but must be one of {', '.join(WRITERS)}. Choose one.")
        folder = local_folder(self.folder)
        if folder is None:
            raise DroverError(
                f"folder is {shorten(self.folder)}, but {REMOTE_RULE}. {REMOTE_WAY_OUT} Or give a function of a "
                "DataFrame and a batch number, which can write anywhere."
            )
        object.__setattr__(self, "folder", folder)
        if self.existing is not None:
            existing_rows(self.existing)

    def for_table(self, name: str) -> Files:
        """Return a sink that writes into a folder below."""
        below = replace(self, folder=str(Path(self.folder) / name))
        folder = Path(below.folder)
        with _writing(folder, "the folder"):
            # Here and not in `write`, because it waits for the disk even if the folder exists.
            make_durable_folder(folder)
        return below

    def discard(self, batch: int, kept: Collection[str]) -> None:
        """Delete the files of a batch in the folders of all tables but these."""
        for file in Path(self.folder).glob(f"*/{self._name(batch)}"):
            if file.parent.name not in kept:
                with _writing(file, f"the rows of batch {batch}"):
                    _delete(file)

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Write the batch under a temporary name, make it durable, and give it its name; without rows, delete it."""
        final = Path(self.folder) / self._name(batch)
        with _writing(final, f"the rows of batch {batch}"):
            # An earlier attempt at the batch may have left a file.
            if rows.is_empty():
                _delete(final)
                return
            if not final.parent.is_dir():
                make_durable_folder(final.parent)
            # The name must be durable, too: once the batch is committed, nobody writes the file again.
            with replacing(final, locked=True) as file:
                WRITERS[self.format](rows, file)

    def _name(self, batch: int) -> str:
        return f"{batch:012}{self.word}.{self.format}"


def _delete(path: Path) -> None:
    """Delete a file, durably, if there is one."""
    path.unlink(missing_ok=True)
    if path.parent.is_dir():  # even if the file is gone: a run that was killed may have deleted it
        sync(path.parent)


@contextmanager
def _writing(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DroverError(
            f"{path}: {what} cannot be written: {error}. Free space or correct the rights, and start again on the "
            "same checkpoint: the batch is repeated."
        ) from error


@dataclass(slots=True)
class Memory:
    """Keeps all rows in the driver's memory, for tests and notebooks."""

    batches: dict[int, pl.DataFrame] = field(default_factory=dict)
    tables: dict[str, Memory] = field(default_factory=dict)  # of submitted queries

    def for_table(self, name: str) -> Memory:
        """Return the sink for one table."""
        return self.tables.setdefault(name, Memory())

    def discard(self, batch: int, kept: Collection[str]) -> None:
        """Forget the rows of a batch in all tables but these."""
        for name, table in self.tables.items():
            if name not in kept:
                table.batches.pop(batch, None)

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Keep the batch."""
        self.batches[batch] = rows

    def rows(self, query: str | None = None) -> pl.DataFrame:
        """Return all rows so far: of an output, or of one submitted query, without the column of its name."""
        if query is None:
            kept = [self.batches[batch] for batch in sorted(self.batches)]
            return pl.concat(kept) if kept else pl.DataFrame()
        # A query that was dropped and submitted again may have other columns, and then it is in another table.
        table = max(self.tables.values(), key=lambda one: one.last(query), default=self)
        return table.rows().filter(pl.col(QUERY) == query).drop(QUERY) if table.last(query) >= 0 else pl.DataFrame()

    def last(self, query: str) -> int:
        """Return the last batch in which a query had rows in this table; -1 if it had none."""
        return max((batch for batch, rows in self.batches.items() if (rows[QUERY] == query).any()), default=-1)


@dataclass(slots=True)
class Tail:
    """Keeps the last rows and counts all, for a live view."""

    most: int = 10
    count: int = 0
    batch: int = -1  # the last one that had rows
    last: pl.DataFrame = field(default_factory=pl.DataFrame)

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Keep the last rows of the batch."""
        self.count += rows.height
        self.batch = batch
        self.last = rows.tail(self.most) if self.last.is_empty() else pl.concat([self.last, rows]).tail(self.most)


@dataclass(frozen=True, slots=True)
class Console:
    """Prints the first rows of each batch."""

    most: int = 20

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Print the batch."""
        with pl.Config(tbl_rows=self.most, tbl_cols=-1, tbl_hide_dataframe_shape=True):
            sys.stdout.write(f"batch {batch}: {rows.height} rows\n{rows}\n")


@dataclass(frozen=True, slots=True)
class Several:
    """Passes each batch to several sinks, one after the other."""

    sinks: tuple[Sink, ...]

    def for_table(self, name: str) -> Several:
        """Return the sinks of one table."""
        return Several(tuple(for_table(sink, name) for sink in self.sinks))

    def discard(self, batch: int, kept: Collection[str]) -> None:
        """Remove the rows of a batch from all tables but these, where a sink can."""
        for sink in self.sinks:
            if isinstance(sink, DiscardingSink):
                sink.discard(batch, kept)

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Write the batch to each sink."""
        for sink in self.sinks:
            sink.write(rows, batch, spark)


def sink_folders(sinks: Iterable[Sink], existing: ExistingRows) -> Iterator[SinkFolder]:
    """Yield the folders of all sinks; `existing` holds for those that do not say what to do with rows of others."""
    for sink in sinks:
        if isinstance(sink, Several):
            yield from sink_folders(sink.sinks, existing)
        elif isinstance(sink, Files):
            chosen = existing if sink.existing is None else existing_rows(sink.existing)
            yield SinkFolder(Path(sink.folder).absolute(), chosen)


def refuse_shared(sinks: Iterable[tuple[str, Sink]]) -> None:
    """Raise DroverError if two sinks of a run would replace each other's rows; each has a name for people."""
    taken: dict[object, str] = {}
    for name, sink in sinks:
        for where in _places(sink):
            first = taken.setdefault(where, name)
            if first != name:
                what = f"the folder {sink.folder}" if isinstance(sink, Files) else "the same object"
                raise DroverError(
                    f"{first} and {name} have one sink, {what}, so the rows of one would replace those of the other. "
                    "Give each a sink of its own."
                )


def _places(sink: Sink) -> Iterator[object]:
    """Yield where a sink keeps batches under their numbers."""
    if isinstance(sink, Several):
        for one in sink.sinks:
            yield from _places(one)
    elif isinstance(sink, Files):
        yield same_place(sink.folder), sink.format
    elif isinstance(sink, Memory):
        yield id(sink)


def with_words(sink: Sink, words: Mapping[Path, str]) -> Sink:
    """Return a sink that puts a word into the names of its files; `words` are by folder."""
    if isinstance(sink, Several):
        return Several(tuple(with_words(one, words) for one in sink.sinks))
    return replace(sink, word=words[Path(sink.folder).absolute()]) if isinstance(sink, Files) else sink


@dataclass(frozen=True, slots=True)
class Function:
    """Calls a function of the user with each batch, as `foreachBatch` does: with a DataFrame and a batch number."""

    function: Callable[[DataFrame, int], object]

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Call the function."""
        self.function(spark.createDataFrame(rows.to_arrow()), batch)


def _files(output: Output) -> Sink:
    return Files(output.path or "", output.write)


# By the name of the format in `drover.runs.formats.SINK_FORMATS`: from an entry of a run file to its sink.
SINKS: Final[Mapping[str, Callable[[Output], Sink]]] = {
    **dict.fromkeys(WRITERS, _files),
    "console": lambda _: Console(),
}


def sink_of(output: Output) -> Sink:
    """Return the sink that an entry of a run file describes."""
    return SINKS[output.write](output)

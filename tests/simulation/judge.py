"""Compares what a simulated run left with what an unbroken run gives.

Rule 1: the unbroken run has the same batches, on one node, with nothing failing. `tests/flow/test_against_oracle.py`
compares that harness with plain Spark.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from drover.flow.late_rows import LATE_ROW
from drover.flow.router import dead_letters as letters_of
from drover.flow.tables import addresses, prepare_tables
from drover.flow.watermarks import SourceProgress
from drover.network.model import Network
from drover.network.queries import Query
from drover.network.queries.notation import entry_of
from drover.network.queries.read import read_entry
from drover.placement.plan import round_robin
from drover.spark.dead_letters import dead_letter_rows
from drover.spark.sinks import QUERY
from tests.flow.harness import Batch, Harness
from tests.flow.oracle import assert_same_rows
from tests.simulation.disk import DATABASE
from tests.simulation.history import History
from tests.simulation.queries import ClientQuery
from tests.simulation.run import CommittedBatch, SimulatedRun


@dataclass(frozen=True, slots=True)
class UnbrokenRun:
    """What the run gives if nothing happens, and the progress of the sources before each of its batches."""

    harness: Harness
    progress: tuple[SourceProgress, ...]


def judge(run: SimulatedRun, scratch: Path) -> None:
    """Raise AssertionError if a row is wrong, missing or there twice."""
    assert_every_file_was_read_once(run.history, run.batches)
    unbroken = unbroken_run(run.history, run.batches, scratch)
    for stream in run.history.network.outputs:
        assert_delivered(run.folder / "out" / stream, unbroken.harness.output(stream))
    assert_delivered(run.folder / "late", pl.concat([pl.DataFrame(schema=LATE_ROW), *unbroken.harness.late]))
    assert_delivered(run.folder / "dead", dead_letters(run))
    for table in run.history.network.tables:
        assert stored(run.checkpoint, table.name) == stored(scratch, table.name), f"table {table.name}"
    for query in run.queries.every:
        assert_answers(run, query, unbroken)


def assert_delivered(folder: Path, expected: pl.DataFrame) -> None:
    """Compare the files of a sink with the rows that it should have."""
    found = [pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))]
    try:
        assert_same_rows(pl.concat([expected.clear(), *found]), expected)
    except AssertionError as error:
        raise AssertionError(f"sink {folder.name}: {error}") from error


def dead_letters(run: SimulatedRun) -> pl.DataFrame:
    """Return the rows without event time, as their sink has them."""
    lost = {
        source.name: pl.concat([rows.filter(pl.col(source.time).is_null()) for rows in run.history.files[source.name]])
        for source in run.history.network.sources
        if source.time is not None
    }
    reason = pl.lit("event time ts is NULL or outside the years 1 to 9999")
    return dead_letter_rows({source: letters_of(rows, reason) for source, rows in lost.items() if rows.height})


def assert_every_file_was_read_once(history: History, batches: list[CommittedBatch]) -> None:
    for source, files in history.files.items():
        ranges = [batch.files[source] for batch in batches if batch.files is not None]
        ends = [0, *(last for _, last in ranges)]
        assert [first for first, _ in ranges] == ends[:-1], f"source {source} was read as {ranges}"
        assert ends[-1] == len(files), f"source {source} has {len(files)} files, and {ends[-1]} were read"


def rows_of(history: History, batch: CommittedBatch) -> Batch:
    """Return the rows of a batch by source, without those that become dead letters."""
    if batch.files is None:
        return {}
    return {
        source.name: pl.concat([files[0].clear(), *files[slice(*batch.files[source.name])]]).drop_nulls(source.time)
        for source in history.network.sources
        if (files := history.files[source.name])
    }


def unbroken_run(history: History, batches: list[CommittedBatch], scratch: Path) -> UnbrokenRun:
    tables = addresses(history.network, {}, str(scratch))
    prepare_tables(history.network, tables, new_id="judge")
    harness = Harness(history.network, tables, keeps_late=True)
    plan = round_robin(history.network, 1)
    progress = []
    for batch in batches:
        progress.append(harness.progress)
        harness.run(rows_of(history, batch), plan)
    return UnbrokenRun(harness, tuple(progress))


def stored(folder: Path, table: str) -> list[str]:
    """Return the rows of a table, sorted."""
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        return sorted(map(str, connection.execute(f'SELECT * FROM "{table}"')))


def assert_answers(run: SimulatedRun, query: ClientQuery, unbroken: UnbrokenRun) -> None:
    """Compare the results of a query with those of each span of batches that it may have run in."""
    found = answers(run, query.name)
    if not query.accepted:
        assert found is None, f"query {query.name} was not accepted and has {found}"
        return
    spans = run.starts.spans(query, len(run.batches))
    for first, last in spans:
        expected = expected_answers(run, query, unbroken, first, last)
        try:
            assert_same_rows(expected.clear() if found is None else found, expected)
        except AssertionError:
            continue
        return
    raise AssertionError(f"query {query} has results of none of the batches {spans}: {found}")


def answers(run: SimulatedRun, name: str) -> pl.DataFrame | None:
    parts = [
        rows
        for path in sorted((run.folder / "answers").glob("*/*.parquet"))
        if (rows := pl.read_parquet(path).filter(pl.col(QUERY) == name).drop(QUERY)).height
    ]
    return pl.concat(parts) if parts else None


def expected_answers(
    run: SimulatedRun, query: ClientQuery, unbroken: UnbrokenRun, first: int, last: int
) -> pl.DataFrame:
    parsed = read_entry(entry_of(query.entry)).query
    assert parsed is not None
    network = network_of(run.history.network, parsed)
    harness = Harness(network)
    plan = round_robin(network, 1)
    if first < len(run.batches):
        harness.progress = unbroken.progress[first]
    for batch in run.batches[first:last]:
        harness.run(rows_of(run.history, batch), plan)
    return harness.output(parsed.output)


def network_of(base: Network, query: Query) -> Network:
    """Return a query as a network of its own."""
    read = {stream for operator in query.operators for stream in operator.inputs}
    sources = tuple(source for source in base.sources if source.name in read)
    return Network(base.name, sources, query.operators, (query.output,))

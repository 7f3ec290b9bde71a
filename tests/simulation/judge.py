"""Compares what a simulated run left with what an unbroken run gives."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from drover.flow.tables import addresses, prepare_tables
from drover.placement.plan import round_robin
from tests.flow.harness import Batch, Harness
from tests.flow.oracle import assert_same_rows
from tests.simulation.history import History
from tests.simulation.run import CommittedBatch, SimulatedRun


def judge(run: SimulatedRun, scratch: Path) -> None:
    """Raise AssertionError if a row is wrong, missing or there twice."""
    assert_every_file_was_read_once(run.history, run.batches)
    whole = unbroken_run(run.history, run.batches, scratch)
    for stream in run.history.network.outputs:
        found = [pl.read_parquet(path) for path in sorted((run.folder / "out" / stream).glob("*.parquet"))]
        expected = whole.output(stream)
        try:
            assert_same_rows(pl.concat([expected.clear(), *found]), expected)
        except AssertionError as error:
            raise AssertionError(f"output {stream}: {error}") from error


def assert_every_file_was_read_once(history: History, batches: list[CommittedBatch]) -> None:
    for source, files in history.files.items():
        ranges = [batch.files[source] for batch in batches if batch.files is not None]
        ends = [0, *(last for _, last in ranges)]
        assert [first for first, _ in ranges] == ends[:-1], f"source {source} was read as {ranges}"
        assert ends[-1] == len(files), f"source {source} has {len(files)} files, and {ends[-1]} were read"


def rows_of(history: History, batch: CommittedBatch) -> Batch:
    """Return the rows of a batch by source."""
    if batch.files is None:
        return {}
    return {
        source: pl.concat([history.files[source][0].clear(), *history.files[source][first:last]])
        for source, (first, last) in batch.files.items()
    }


def unbroken_run(history: History, batches: list[CommittedBatch], scratch: Path) -> Harness:
    tables = addresses(history.network, {}, str(scratch))
    prepare_tables(history.network, tables, new_id="judge")
    harness = Harness(history.network, tables)
    plan = round_robin(history.network, 1)
    for batch in batches:
        harness.run(rows_of(history, batch), plan)
    return harness

"""Whole runs on a simulated Spark and a simulated disk: whatever happens, no row is wrong.

`make simulate-faults SEEDS=0-9999` plays more of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Sequence

import pytest

from drover.files import sync
from drover.flow.query_log.log import BatchManifest
from drover.flow.state import storage
from drover.spark.driver import Driver
from drover.spark.queries.catalog import BatchStart, NodeChoice, QueryCatalog
from tests.simulation.__main__ import describe, seeds_of
from tests.simulation.outcome import Outcome, simulate

QUICK = range(20)
BLOCKS = [range(first, first + 50) for first in range(20, 320, 50)]


def failures(seeds: Sequence[int]) -> list[str]:
    return [describe(one, story=True) for one in map(simulate, seeds) if one.failure is not None]


def test_no_row_is_wrong() -> None:
    assert failures(QUICK) == []


@pytest.mark.slow
@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_no_row_is_wrong_in_many_histories(seeds: Sequence[int], capsys: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    found = failures(seeds)
    rate = len(seeds) / (time.monotonic() - started)
    with capsys.disabled():
        sys.stdout.write(f" [seeds {seeds[0]} to {seeds[-1]}: {rate:.1f} histories per second] ")
    assert found == []


def test_a_seed_replays_exactly() -> None:
    first = simulate(7)
    assert first.calls > 100
    assert first == simulate(7)


def test_a_failure_says_how_to_replay_it() -> None:
    outcome = Outcome(17, "AssertionError: output a", ("batch", "died"), 1, 1, 1)
    text = "seed 17 failed; again: make simulate-faults SEEDS=17\nAssertionError: output a\n"
    assert describe(outcome, story=False) == text
    assert describe(outcome, story=True) == f"batch\ndied\n{text}"
    assert list(seeds_of("17")) == [17]


def commits_before_sinks(patch: pytest.MonkeyPatch) -> None:
    """Let the driver commit a batch before its rows are delivered."""
    order: list[Callable[[], None]] = []
    deliver, commit = Driver._deliver, Driver._commit

    def deliver_later(self: Driver, *args: object, **options: object) -> None:
        order.append(lambda: deliver(self, *args, **options))  # type: ignore[arg-type] # passed on as they came

    def commit_first(self: Driver, *args: object) -> None:
        commit(self, *args)  # type: ignore[arg-type] # as above
        order.pop()()

    patch.setattr(Driver, "_deliver", deliver_later)
    patch.setattr(Driver, "_commit", commit_first)


def skips_a_sync(patch: pytest.MonkeyPatch) -> None:
    """Let names of new files be lost in a power cut."""
    patch.setattr(storage, "sync", lambda path: None if path.is_dir() else sync(path))


def forgets_pending_tables(patch: pytest.MonkeyPatch) -> None:
    """Leave rows for tables in the state, if the run died before it wrote them."""
    real = Driver._write_tables

    def write(self: Driver, operators: Collection[str]) -> None:
        if self._opened:
            real(self, operators)

    patch.setattr(Driver, "_write_tables", write)


def begins_a_repeated_batch_anew(patch: pytest.MonkeyPatch) -> None:
    """Let a repeated batch run queries that were accepted after it was begun."""
    real = QueryCatalog.begin

    def begin(self: QueryCatalog, batch: int, nodes: int, *, again: bool) -> BatchStart:  # noqa: ARG001 - the defect
        return real(self, batch, nodes, again=False)

    patch.setattr(QueryCatalog, "begin", begin)


def starts_queries_a_batch_late(patch: pytest.MonkeyPatch) -> None:
    """Let every second batch take no new queries."""
    real = QueryCatalog._next_manifest

    def next_manifest(self: QueryCatalog, batch: int, choice: NodeChoice) -> BatchManifest | None:
        return real(self, batch, choice) if batch % 2 else None

    patch.setattr(QueryCatalog, "_next_manifest", next_manifest)


PLANTED = {
    "a commit before the sinks": commits_before_sinks,
    "a sync that is left out": skips_a_sync,
    "pending rows of tables that are forgotten": forgets_pending_tables,
    "a repeated batch with other queries": begins_a_repeated_batch_anew,
    "queries that start a batch late": starts_queries_a_batch_late,
}


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_a_planted_defect_is_found(plant: Callable[[pytest.MonkeyPatch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        assert any(simulate(seed).failure is not None for seed in range(200))

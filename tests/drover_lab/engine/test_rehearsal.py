"""A rehearsal measures from when a row was due to the commit of its batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.random import default_rng
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.placement.plan import Plan
from drover.spark.facts import BatchFacts, BatchSeconds
from drover_lab.engine import rehearsal
from drover_lab.engine.rehearsal import LATE_START, STARTS, Rehearsal, _measured, _wait, rehearse
from drover_lab.generate import two_chains


def batch(number: int, rows: dict[str, int], busy: tuple[float, ...] = (0.0, 0.0)) -> BatchFacts:
    return BatchFacts(number, number, 1, 2, 1, BatchSeconds(0.1, 0.0, 0.0), rows, busy=busy)


SEEN = [
    (100.0, batch(0, {"a": 1})),
    (101.0, batch(1, {"a": 1, "b": 1}, (0.1, 0.4))),
    (103.0, batch(2, {"b": 1}, (0.3, 0.2))),
]
DUE = np.array([0.0, 0.5, 1.5, 2.0])


def test_latency_is_from_due_to_commit() -> None:
    found = _measured(SEEN, DUE, (), behind=False)
    assert found.latency.tolist() == pytest.approx([0.0, 0.5, 0.0, 1.0])  # never below 0
    assert found.ended.tolist() == [1.0, 3.0]
    assert [facts.batch for facts in found.batches] == [1, 2]  # without the first, which waits for workers
    assert found.slowest.tolist() == [0.4, 0.3]
    assert (found.moves, found.behind) == (0, False)


def test_a_later_part_has_the_batches_and_rows_from_then_on() -> None:
    later = _measured(SEEN, DUE, (), behind=True).since(1.5)
    assert [facts.batch for facts in later.batches] == [2]
    assert later.latency.tolist() == pytest.approx([0.0, 1.0])
    assert later.behind


def test_the_newest_row_of_a_batch_was_due_before_it() -> None:
    found = _measured(SEEN, DUE, (), behind=False)
    assert found.newest.tolist() == [1.5, 2.0]
    assert found.since(1.5).newest.tolist() == [2.0]


def test_a_run_whose_rows_are_too_late_has_fallen_behind() -> None:
    handle: Any = EndedRun(None, isActive=True)  # Any: as below
    assert _wait(handle, SEEN[:2], DUE, most_lag=-2.0)
    assert not _wait(handle, SEEN, DUE, most_lag=-2.0), "all rows are committed"


def test_a_run_that_fell_behind_has_latencies_of_its_committed_rows_only() -> None:
    found = _measured(SEEN[:2], DUE, (), behind=True)
    assert len(found.latency) == 3


@dataclass
class EndedRun:
    """A run that has ended, perhaps with an error; as Spark's, it takes no timeout of 0."""

    error: Exception | None
    isActive: bool = False  # noqa: N815 - Spark's name

    def awaitTermination(self, timeout: int | None = None) -> bool:  # noqa: N802 - Spark's name
        if timeout is not None and timeout <= 0:
            raise ValueError("Value for `timeout` must be greater than 0")
        if self.error is not None:
            raise self.error
        return True


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(DroverError("the table is gone"), "the table is gone", id="it failed"),
        pytest.param(None, "ended before all its rows", id="somebody stopped it"),
    ],
)
@pytest.mark.parametrize("seen", [[], SEEN[:1]], ids=["before the first batch", "later"])
def test_the_error_that_ended_a_run_is_raised(
    seen: list[tuple[float, BatchFacts]], error: Exception | None, said: str
) -> None:
    handle: Any = EndedRun(error)  # Any: two attributes of a handle
    with pytest.raises(DroverError, match=said):
        _wait(handle, list(seen), DUE)


@pytest.mark.parametrize(
    ("slots", "stopped"),
    [pytest.param(4, 0, id="the same number of slots"), pytest.param(12, 1, id="another number")],
)
def test_a_session_with_other_slots_is_stopped(slots: int, stopped: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[object] = []
    started: list[str] = []
    active = object()
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: active)
    monkeypatch.setattr(rehearsal, "task_slots", lambda _spark: 4)
    monkeypatch.setattr(rehearsal, "stop", ends.append)
    monkeypatch.setattr(rehearsal, "_stop_at_exit", lambda: None)
    monkeypatch.setattr(rehearsal, "session", lambda _name, master, _settings: started.append(master))
    rehearsal._session(slots)
    assert ends == [active] * stopped
    assert started == [f"local[{slots}]"]


def rehearsals(monkeypatch: pytest.MonkeyPatch, *endings: str) -> list[str]:
    """Let the attempts to run end with these errors, none for an empty text; return the list of attempts."""
    seen: list[str] = []

    def attempt(*_: object) -> Rehearsal:
        seen.append(endings[len(seen)])
        if seen[-1]:
            raise DroverError(seen[-1])
        return _measured(SEEN, DUE, (), behind=False)

    monkeypatch.setattr(rehearsal, "_rehearse", attempt)
    return seen


NOTHING = (two_chains(default_rng(0)), pl.DataFrame({"ts": []}), Plan(1, 1, {}))


def test_a_run_that_could_not_start_in_time_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    late = f"the run stopped: {LATE_START}"
    seen = rehearsals(monkeypatch, late, "")
    assert len(rehearse(*NOTHING).batches) == 2
    assert seen == [late, ""]


@pytest.mark.parametrize(("ending", "attempts"), [(LATE_START, STARTS), ("a table is gone", 1)])
def test_other_errors_and_the_last_one_are_raised(ending: str, attempts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = rehearsals(monkeypatch, *[ending] * STARTS)
    with pytest.raises(DroverError, match=ending):
        rehearse(*NOTHING)
    assert len(seen) == attempts

"""A rehearsal measures from when a row was due to the commit of its batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from drover.errors import DroverError
from drover.spark.facts import BatchFacts, BatchSeconds
from drover_lab.engine.rehearsal import _measured, _wait


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
        _wait(handle, list(seen), rows=4, seconds=1.0)

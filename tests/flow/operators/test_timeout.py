"""Windows with a time-out: they close some time after their first row, or at their end."""

from __future__ import annotations

import pytest

from drover.flow.operators.aggregate import RunAggregate
from drover.flow.operators.timeout import ROWS, RunTimeout
from tests.flow.operators.batches import Row, SmallBatches, one_source


def batches(timeout: str = "5 s", size: str = "60 s", advance: str = "60 s") -> SmallBatches:
    """Return an aggregate that counts rows and adds values by `k`."""
    compute = {"n": "count(*)", "total": "sum(v)"}
    return SmallBatches(
        one_source(lambda s: s.aggregate("out", compute, size=size, advance=advance, group_by="k", timeout=timeout))
    )


def closed(found: list[Row]) -> list[Row]:
    """Return start, group and aggregates of each window."""
    return [(row[0], *row[3:]) for row in found]


GIVEN = [(10, "a", 1), (14.9, "a", 2), (15, "a", 4), (30, "b", 8), (33, "b", None)]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(14.999999, [], id="before the time-out nothing closes"),
        pytest.param(15, [(0, "a", 2, 3)], id="at the time-out, with the rows before it"),
        pytest.param(35, [(0, "a", 2, 3), (0, "b", 2, 8)], id="each group has a first row of its own"),
        pytest.param(600, [(0, "a", 2, 3), (0, "b", 2, 8)], id="a row after the time-out is in no window"),
        pytest.param(None, [], id="without a watermark nothing closes"),
    ],
)
def test_a_window_closes_after_its_first_row(now: float | None, expected: list[Row]) -> None:
    assert closed(batches().only(GIVEN, now=now)) == expected


def test_a_window_closes_at_its_end_at_the_latest() -> None:
    worker = batches(timeout="8 s", size="10 s", advance="10 s")
    assert closed(worker.only([(5, "a", 1), (9.9, "a", 1), (10, "a", 1)], now=10)) == [(0, "a", 2, 2)]
    assert closed(worker.only([], late=10, now=18)) == [(10, "a", 1, 1)]


def test_an_earlier_row_closes_the_window_sooner() -> None:
    worker = batches()
    assert worker.only([(10, "a", 1)], now=2) == []
    assert closed(worker.only([(6, "a", 2)], late=2, now=11)) == [(0, "a", 2, 3)]


def test_a_closed_window_is_emitted_once_and_a_late_row_does_not_open_it_again() -> None:
    worker = batches()
    assert closed(worker.only([(10, "a", 1)], now=20)) == [(0, "a", 1, 1)]
    assert worker.only([(12, "a", 1), (20, "b", 1)], late=20, now=59) == []
    assert closed(worker.only([(20.000001, "b", 1)], late=20, now=59)) == [(0, "b", 1, 1)]


def test_rows_are_kept_until_their_windows_have_ended() -> None:
    worker = batches()
    worker.only(GIVEN, now=59)
    assert worker.state.parts[ROWS].height == len(GIVEN)
    worker.only([], late=59, now=60)
    assert worker.state.parts[ROWS].height == 0


@pytest.mark.parametrize(
    ("timeout", "runner"),
    [
        pytest.param(None, RunAggregate, id="none"),
        pytest.param("60 s", RunAggregate, id="one that never comes first"),
        pytest.param("59 s", RunTimeout, id="one that may"),
    ],
)
def test_only_a_timeout_that_can_close_windows_keeps_rows(timeout: str | None, runner: type[object]) -> None:
    network = one_source(lambda s: s.aggregate("out", {"n": "count(*)"}, size="60 s", timeout=timeout))
    assert type(SmallBatches(network).runner) is runner

"""Windowed aggregates by hand: which windows close when, what is in them, and what is too late."""

from __future__ import annotations

import pytest

from drover.flow.operators.aggregate import MOST_CHUNKS, PANES, closing_ends, oldest_needed
from drover.flow.operators.panes import PANE
from drover.network.operators import Aggregate
from tests.flow.operators.batches import SECOND, Row, SmallBatches, one_source

TUMBLING = ("10 s", "10 s")
SLIDING = ("10 s", "5 s")


def batches(size: str, advance: str, group_by: str | tuple[str, ...] = (), **compute: str) -> SmallBatches:
    """Return an aggregate over windows; it counts rows, unless something else is to be computed."""
    wanted = compute or {"n": "count(*)"}
    return SmallBatches(one_source(lambda s: s.aggregate("out", wanted, size=size, advance=advance, group_by=group_by)))


def rows(*times: float) -> list[Row]:
    return [(time, "a", 1) for time in times]


def counts(found: list[Row]) -> dict[float, int]:
    """Return the start of each window and the number in its last column."""
    assert len({row[0] for row in found}) == len(found)
    return {row[0]: row[-1] for row in found}


@pytest.mark.parametrize(
    ("windows", "times", "now", "expected"),
    [
        pytest.param(TUMBLING, (0, 9.999999), 10, {0: 2}, id="a watermark at the end closes a window"),
        pytest.param(TUMBLING, (0, 9.999999), 9.999999, {}, id="a watermark just before does not"),
        pytest.param(TUMBLING, (9, 10), 20, {0: 1, 10: 1}, id="a row at the end is in the next window"),
        pytest.param(TUMBLING, (3, 25), 40, {0: 1, 20: 1}, id="a window without rows is not emitted"),
        pytest.param(TUMBLING, (-1, -10), 0, {-10: 2}, id="windows before 1970"),
        pytest.param(SLIDING, (7,), 30, {0: 1, 5: 1}, id="a row is in every window around it"),
        pytest.param(SLIDING, (4, 7), 10, {-5: 1, 0: 2}, id="only those that have ended"),
        pytest.param(TUMBLING, (), 100, {}, id="no rows, no windows"),
    ],
)
def test_windows(windows: tuple[str, str], times: tuple[float, ...], now: float, expected: dict[float, int]) -> None:
    assert counts(batches(*windows).only(rows(*times), now=now)) == expected


def test_a_result_has_its_window_its_group_and_its_aggregates() -> None:
    worker = batches("10 s", "10 s", "k", total="sum(v)", different="count(DISTINCT v)", n="count(v)")
    given = [(1, "a", 5), (2, "a", 5), (3, "a", None), (4, None, 2), (5, "b", None)]
    assert worker.only(given, now=10) == [
        (0, 10, 9.999999, "a", 10, 1, 2),
        (0, 10, 9.999999, None, 2, 1, 1),
        (0, 10, 9.999999, "b", None, 0, 0),
    ]


@pytest.mark.parametrize("name", ["panes", "pane", "start", "value", "set"])
def test_a_number_of_different_values_may_have_any_name(name: str) -> None:
    worker = batches("10 s", "10 s", "k", **{"n": "count(*)", name: "count(DISTINCT v)"})
    worker.only([(1, "a", 5), (2, "a", 6), (3, "b", 5)], now=None)
    assert worker.only([(4, "a", 5)], now=10) == [(0, 10, 9.999999, "a", 3, 2), (0, 10, 9.999999, "b", 1, 1)]


def test_a_window_takes_rows_of_several_batches_and_is_emitted_once() -> None:
    worker = batches(*TUMBLING)
    assert worker.only(rows(1, 12), now=None) == []
    assert worker.only(rows(2), late=None, now=9) == []
    assert counts(worker.only(rows(3), late=9, now=12)) == {0: 3}
    assert counts(worker.only([], late=12, now=20)) == {10: 1}
    assert worker.only([], late=20, now=90) == []


def test_a_row_is_late_if_all_its_windows_have_closed() -> None:
    worker = batches(*SLIDING)
    worker.only(rows(1), now=11)
    # At 11 s the windows that began at 0 s and before have closed; those that began at 5 s and later have not.
    assert worker.only(rows(4.9), late=11, now=11) == []
    assert counts(worker.only(rows(5, 6), late=11, now=20)) == {5: 2}


def test_a_late_row_is_noted_and_not_kept() -> None:
    worker = batches("10 s", "5 s", "k", n="count(*)", different="count(DISTINCT v)")
    worker.only(rows(1), now=11)
    worker.only(rows(4.9, 5), late=11, now=11)
    assert worker.state.late["s"].height == 1
    assert [worker.state.parts[part][PANE].to_list() for part in (PANES, "different")] == [[5 * SECOND]] * 2


def test_state_is_dropped_when_its_last_window_has_closed() -> None:
    worker = batches(*SLIDING)
    worker.only(rows(1, 6, 11), now=None)
    worker.only([], now=10)
    assert worker.state.parts[PANES][PANE].to_list() == [5 * SECOND, 10 * SECOND]
    worker.only([], late=10, now=20)
    assert worker.state.parts[PANES].height == 0


def test_many_small_batches_are_merged_and_mean_the_same() -> None:
    worker = batches("10 s", "10 s", n="count(*)", total="sum(v)", different="count(DISTINCT v)")
    for i in range(3 * MOST_CHUNKS):
        worker.only([(i / 10, "a", i % 4)] * (1 + i % 3), now=None)
    assert worker.state.parts[PANES].height <= MOST_CHUNKS
    assert worker.state.parts["different"].height <= 2 * MOST_CHUNKS
    assert worker.only([], now=10) == [(0, 10, 9.999999, 6 * MOST_CHUNKS, 144, 4)]


@pytest.mark.parametrize(
    ("windows", "now", "expected"),
    [
        pytest.param((10, 10), 9, 0, id="the first window is open"),
        pytest.param((10, 10), 10, 10, id="it closes at its end"),
        pytest.param((10, 5), 12, 5, id="sliding windows hold rows longer"),
        pytest.param((10, 5), -1, -10, id="before 1970"),
    ],
)
def test_the_oldest_time_that_is_needed(windows: tuple[int, int], now: int, expected: int) -> None:
    assert oldest_needed(aggregate(*windows), now) == expected


@pytest.mark.parametrize(
    ("windows", "late", "now", "ends"),
    [
        pytest.param((10, 10), 0, 30, [10, 20, 30], id="a window that ends at the watermark closes"),
        pytest.param((10, 10), 10, 30, [20, 30], id="one that closed before does not"),
        pytest.param((10, 5), 9, 16, [10, 15], id="sliding"),
        pytest.param((10, 10), 30, 30, [], id="a watermark that stands still closes none"),
    ],
)
def test_the_ends_of_windows_that_close(windows: tuple[int, int], late: int, now: int, ends: list[int]) -> None:
    assert list(closing_ends(aggregate(*windows), late, now)) == ends


def aggregate(size: int, advance: int) -> Aggregate:
    return Aggregate(name="out", input="s", size=size, advance=advance, compute=())

"""Sliding sums: whatever rows come when, windows are those that a plain definition gives, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drover
from drover.flow.operators import UnitState, aggregate, sliding_sums
from drover.flow.operators.aggregate import PANES, RunAggregate
from drover.flow.operators.panes import PANE
from drover.flow.operators.sliding_sums import (
    AFTER_LATE,
    AFTER_NEW,
    LEAST_ROWS,
    PauseSums,
    SlidingSums,
    in_order,
    ready_sums,
)
from drover.network.model import Network
from tests.conftest import CI
from tests.flow.operators.batches import Row, SmallBatches

MERGES: Final = [pl.col("n").sum(), pl.col("total").sum()]
SCHEMA: Final = {PANE: pl.Int64(), "k": pl.String(), "d": pl.Int32(), "n": pl.Int64(), "total": pl.Int64()}
WINDOWS: Final = ((8, 1), (6, 2), (5, 3), (12, 4), (3, 1))  # seconds: size and advance


@contextmanager
def always(pause: int = AFTER_LATE) -> Iterator[None]:
    """Use sliding sums for few rows, too, and soon again after a late one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregate, "AFTER_LATE", pause)
        patch.setattr(sliding_sums, "LEAST_ROWS", 0)
        patch.setattr(sliding_sums, "RECURRING", 1.0)
        yield


def network(size: int, advance: int, lateness: int) -> Network:
    net = drover.Builder("n")
    columns = {"ts": "timestamp", "k": "string", "v": "bigint"}
    compute = {"n": "count(*)", "some": "count(v)", "total": "sum(v)", "mean": "avg(v)"}
    source = net.source("s", columns, time="ts", lateness=f"{lateness} s")
    source.aggregate("out", compute, size=f"{size} s", advance=f"{advance} s", group_by="k").output()
    return net.build()


def plain(rows: list[tuple[int, Row]], size: int, pane: int, ends: list[int]) -> list[Row]:
    """Return windows by their definition; rows have the number of their batch."""
    ordered = sorted(rows, key=lambda one: (one[1][0] // pane, one[0]))  # by pane, then as they came
    found: list[Row] = []
    for end in ends:
        groups: dict[object, list[int | None]] = {}
        for _, (at, key, value) in ordered:
            if end - size <= at < end:
                groups.setdefault(key, []).append(value)
        for key, values in groups.items():
            known = [value for value in values if value is not None]
            total = sum(known) if known else None
            mean = None if total is None else total / len(known)
            found.append((end - size, end, end - 0.000001, key, len(values), len(known), total, mean))
    return found


ROW: Final = st.tuples(st.integers(0, 5), st.none() | st.sampled_from("abcd"), st.none() | st.integers(-9, 9))
BATCH: Final = st.tuples(
    st.sampled_from([0, 1, 1, 2, 3, 9]),  # seconds from the rows of the batch before to these
    st.lists(ROW, max_size=8),
    st.sampled_from(["goes on"] * 8 + ["restored", "moved"]),
)


@settings(max_examples=400 if CI else 100, deadline=None)
@given(
    windows=st.sampled_from(WINDOWS), lateness=st.integers(0, 4), given_batches=st.lists(BATCH, min_size=8, max_size=25)
)
def test_windows_are_those_of_the_definition(
    windows: tuple[int, int], lateness: int, given_batches: list[tuple[int, list[Row], str]]
) -> None:
    """Batches overlap in time, leave gaps, have late rows, and continue on a state as it was saved or before."""
    size, advance = windows
    worker = SmallBatches(network(size, advance, lateness))
    assert isinstance(worker.runner, RunAggregate)
    assert worker.runner.slides
    pane = worker.runner.pane // 1_000_000
    kept: list[tuple[int, Row]] = []
    begin = 0
    late: int | None = None
    now: int | None = None
    latest: int | None = None
    with always(pause=1):
        for number, (step, rows, event) in enumerate(given_batches):
            begin += step
            mine = [(begin + at, key, value) for at, key, value in rows]
            found = worker.only(mine, late=late, now=now)
            if event == "restored":  # the batch failed, and is repeated
                worker.state.restore()
                assert found == worker.only(mine, late=late, now=now)
            elif event == "moved":  # by way of files or of another worker
                worker.state = UnitState(dict(worker.state.parts), dict(worker.state.bounds))
            oldest = None if late is None else (late - size) // advance * advance + advance
            kept += [(number, row) for row in mine if oldest is None or row[0] >= oldest]
            ends = [] if now is None else [end for end in range(-20, now + 1) if (end - size) % advance == 0]
            due = [end for end in ends if late is None or end > late]
            expected = plain(kept, size, pane, due)
            if len(due) <= -(-size // advance):
                assert found == expected
            else:  # with many windows, rows of one need not be together
                assert sorted(found, key=repr) == sorted(expected, key=repr)
            latest = max([at for at, _, _ in mine] + ([] if latest is None else [latest]), default=None)
            late, now = now, None if latest is None else max(latest - lateness, -20 if now is None else now)


@pytest.mark.parametrize("compute", ["min(v)", "sum(x)", "avg(x)", "first(v)", "stddev(v)"])
def test_only_sums_of_whole_numbers_slide(compute: str) -> None:
    assert not _slides({"n": "count(*)", "other": compute}, ("k",))
    assert _slides({"n": "count(*)", "total": "sum(v)", "mean": "avg(v)"}, ("k",))


@pytest.mark.parametrize(("groups", "slides"), [((), False), (("x",), False), (("k", "v"), True)])
def test_groups_that_slide(groups: tuple[str, ...], slides: bool) -> None:
    assert _slides({"n": "count(*)"}, groups) is slides


def _slides(compute: dict[str, str], groups: tuple[str, ...], advance: str = "1 s") -> bool:
    net = drover.Builder("n")
    source = net.source("s", {"ts": "timestamp", "k": "string", "v": "bigint", "x": "double"}, time="ts")
    source.aggregate("out", compute, size="10 s", advance=advance, group_by=groups).output()
    runner = SmallBatches(net.build()).runner
    assert isinstance(runner, RunAggregate)
    return runner.slides


def test_windows_side_by_side_do_not_slide() -> None:
    assert not _slides({"n": "count(*)"}, ("k",), advance="10 s")


def panes(*rows: tuple[int, str]) -> pl.DataFrame:
    return pl.DataFrame([(at, key, 0, 1, 2**62) for at, key in rows], schema=SCHEMA, orient="row")


def test_groups_come_in_the_order_of_their_first_row_in_the_window_and_totals_wrap_as_merged_ones_do() -> None:
    given = panes((0, "a"), (0, "b"), (1, "b"), (2, "b"), (2, "a"), (3, "c"))
    sums = SlidingSums(given, ["k", "d"])
    for end in range(1, 7):
        if end == 4:
            given = pl.concat([given, more := panes((5, "b"), (4, "a"), (4, "c"))])
            assert sums.take(more)
        inside = in_order(given).filter(pl.col(PANE).is_between(end - 2, end, closed="left"))
        assert sums.move(end - 2, end).equals(inside.group_by("k", "d", maintain_order=True).agg(MERGES))


@pytest.mark.parametrize(
    ("added", "holds"),
    [
        pytest.param(((2, "a"),), True, id="after the window"),
        pytest.param(((9, "a"), (4, "b")), True, id="out of order, but after the window"),
        pytest.param(((1, "a"),), False, id="in the window"),
        pytest.param(((5, "a"), (5, "a")), False, id="a group twice in a pane"),
        pytest.param((), True, id="none"),
    ],
)
def test_rows_that_sums_can_take(added: tuple[tuple[int, str], ...], holds: bool) -> None:
    sums = SlidingSums(panes((0, "a")), ["k", "d"])
    sums.move(0, 2)
    assert sums.take(panes(*added)) is holds


def state_of(*, groups: int, panes_each: int) -> UnitState:
    keys = [(at, f"k{key}") for at in range(panes_each) for key in range(groups)]
    return UnitState({PANES: panes(*keys)})


def ready(state: UnitState, begin: int = 0) -> SlidingSums | None:
    return ready_sums(state, PANES, begin, ["k", "d"], MERGES)


def test_sums_begin_in_the_second_batch_and_follow_from_the_very_panes_of_the_state() -> None:
    state = state_of(groups=LEAST_ROWS // 4, panes_each=4)
    assert ready(state) is None
    sums = ready(state)
    assert sums is not None
    assert sums.seen is state.parts[PANES]
    assert ready(state) is sums
    state.parts[PANES] = state.parts[PANES].clone()
    assert ready(state) is None, "the same rows, but from elsewhere: it begins anew"
    assert ready(state) not in (None, sums)


def test_a_window_that_moves_back_is_merged() -> None:
    state = state_of(groups=LEAST_ROWS // 4, panes_each=4)
    ready(state)
    sums = ready(state)
    assert sums is not None
    sums.move(2, 4)
    assert ready(state, 1) is None
    assert ready(state, 1) not in (None, sums)


@pytest.mark.parametrize(
    ("groups", "panes_each", "derived"),
    [
        pytest.param(LEAST_ROWS // 4 - 1, 4, None, id="few rows"),
        pytest.param(LEAST_ROWS, 1, PauseSums(AFTER_NEW), id="groups that do not come back"),
    ],
)
def test_when_sums_do_not_pay(groups: int, panes_each: int, derived: object) -> None:
    state = state_of(groups=groups, panes_each=panes_each)
    assert ready(state) is ready(state) is None
    assert state.derived == derived


def test_groups_are_numbered_anew_when_most_are_gone() -> None:
    sums = SlidingSums(
        panes(*((at, f"k{key}") for at in range(3) for key in range(at * LEAST_ROWS, (at + 1) * LEAST_ROWS))),
        ["k", "d"],
    )
    sums.move(0, 2)
    assert not sums.is_stale or sums.groups > 2 * LEAST_ROWS
    sums.move(2, 3)
    assert sums.is_stale


def test_after_a_row_for_a_pane_that_was_added_windows_are_merged_for_some_batches() -> None:
    worker = SmallBatches(network(4, 1, 3))
    with always():
        for at in range(8):
            worker.only([(at, "a", 1), (at, "b", 1)], late=at - 4, now=at - 3)
        sums: object = worker.state.derived
        assert isinstance(sums, SlidingSums)
        worker.only([(3, "a", 1)], late=4, now=5)
        derived: object = worker.state.derived
        assert derived == PauseSums(AFTER_LATE - 1)

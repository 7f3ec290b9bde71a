"""Synthetic load spends its cost for each row, waits, and emits `selectivity` rows, whatever the batches are."""

from __future__ import annotations

import pytest

from tests.flow.operators.batches import Row, SmallBatches, one_source

ROWS: list[Row] = [(i / 1000, "a", i) for i in range(2000)]


def batches(selectivity: float, seed: int = 0, spent: list[float] | None = None) -> SmallBatches:
    network = one_source(lambda s: s.synthetic("out", cost=0.25, selectivity=selectivity, seed=seed))
    return SmallBatches(network, spend=(spent if spent is not None else []).append)


@pytest.mark.parametrize(
    ("selectivity", "copies"),
    [
        pytest.param(0, 0, id="0 drops all rows"),
        pytest.param(1, 1, id="1 passes them"),
        pytest.param(3, 3, id="3 repeats them, side by side"),
    ],
)
def test_whole_selectivities(selectivity: float, copies: int) -> None:
    assert batches(selectivity).only(ROWS) == [row for row in ROWS for _ in range(copies)]
    assert batches(selectivity).only([]) == []


def test_a_fraction_is_a_share_of_the_rows() -> None:
    found = batches(2.5).only(ROWS)
    assert set(found) == set(ROWS)
    assert all(found.count(row) in (2, 3) for row in ROWS[:50])
    assert len(found) == pytest.approx(2.5 * len(ROWS), rel=0.03)


def test_the_choice_depends_on_rows_and_seed_and_not_on_batches() -> None:
    whole = batches(0.5).only(ROWS)
    cut = batches(0.5)
    assert cut.only(ROWS[:7]) + cut.only(ROWS[7:]) == whole
    assert batches(0.5, seed=1).only(ROWS) != whole


def test_time_is_spent_for_each_row_that_comes_in() -> None:
    spent: list[float] = []
    worker = batches(0, spent=spent)
    worker.only(ROWS[:8])
    worker.only([])
    assert spent == [2.0, 0.0]


def test_it_waits_once_per_batch_for_all_rows_and_notes_it() -> None:
    waited: list[float] = []
    worker = SmallBatches(one_source(lambda s: s.synthetic("out", cost=0, wait=0.25)), wait=waited.append)
    worker.only(ROWS[:8])
    assert worker.state.waited == 2.0
    worker.only([])
    assert worker.state.waited == 0.0
    assert waited == [2.0]

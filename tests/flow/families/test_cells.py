"""Cells: rows by key, pane and GROUP BY values, and which of their parts families share."""

from __future__ import annotations

import numpy as np
import polars as pl

from drover.flow.families.cells import FoldedColumn, cells_of
from drover.flow.families.fan_out import CodedRows
from drover.flow.operators.partials import GREATEST, SUM, Fold

ROWS = pl.DataFrame(
    {
        "ts": pl.Series([1, 12, 3, 14, 5]).cast(pl.Datetime("us", "UTC")),
        "kind": ["a", "a", "b", "a", "a"],
        "x": [1.0, 2.0, 4.0, 8.0, None],
    }
)


def coded(rows: pl.DataFrame = ROWS) -> CodedRows:
    """Return rows with the keys 0 and 1 by turns."""
    return CodedRows(rows, rows, pl.DataFrame({"k0": [0, 1]}), np.arange(rows.height) % 2)


def test_cells_are_rows_of_one_key_and_pane() -> None:
    cells, dropped = cells_of(coded(), "ts", 10, (), None)
    assert dropped is None
    assert cells.number.tolist() == [0, 1, 0, 1, 0]
    assert cells.pane.tolist() == [0, 10]
    assert cells.first.tolist() == [0, 1, 2]


def test_group_by_values_make_further_cells() -> None:
    cells, _ = cells_of(coded(), "ts", 100, ("kind",), None)
    assert cells.number.tolist() == [0, 2, 1, 2, 0]
    assert cells.row.tolist() == [0, 2, 1]
    assert cells.first.tolist() == [0, 2, 3]


def test_late_rows_are_in_cells_of_their_own() -> None:
    cells, dropped = cells_of(coded(), "ts", 10, (), 10)
    assert dropped is not None
    assert cells.number.tolist() == [-1, 0, -1, 0, -1]
    assert dropped.number.tolist() == [0, -1, 0, -1, 0]
    assert cells.first.tolist() == [0, 0, 1]


def test_widths_that_do_not_cut_the_batch_share_sorted_rows() -> None:
    rows = coded()
    one, other = (cells_of(rows, "ts", width, (), None)[0] for width in (100, 1000))
    assert one.sorted_by(()) is other.sorted_by(())


def test_folds_of_the_first_rows_and_of_some() -> None:
    found = cells_of(coded(), "ts", 100, (), None)[0].sorted_by(())
    assert found.rows.tolist() == [0, 2, 4, 1, 3]
    total = FoldedColumn("n", Fold(pl.col("x").fill_null(0), SUM), pl.DataFrame(), "")
    most = FoldedColumn("m", Fold(pl.col("x"), GREATEST), pl.DataFrame(), "")
    assert found.first_rows(total, np.array([0, 2, 4])).to_list() == [1.0, 5.0, 10.0]
    assert found.first_rows(most, np.array([0, 2, 4])).to_list() == [1.0, 4.0, 8.0]
    places, ends = np.array([0, 1, 2]), np.array([2, 3])
    assert found.some_rows(total, places, ends).to_list() == [5.0, 0.0]
    assert found.some_rows(most, places, ends).to_list() == [4.0, None]


def test_constants_take_part_in_folds() -> None:
    found = cells_of(coded(), "ts", 100, (), None)[0].sorted_by(())
    fold = Fold((pl.col("x") * pl.col("c")).fill_null(0), SUM)
    columns = [FoldedColumn("n", fold, pl.DataFrame({"c": [c]}), str(c)) for c in (2.0, 3.0)]
    assert [found.first_rows(one, np.array([2])).to_list() for one in columns] == [[10.0], [15.0]]

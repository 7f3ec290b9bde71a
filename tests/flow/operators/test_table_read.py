"""A table read adds columns of the table's row with the same key, as the table is when the batch runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import drover
from drover.flow.tables import Address, TableStore
from tests.flow.operators.batches import Row, SmallBatches

NAMES: list[Row] = [("a", 1.0, "Ann"), ("a", 0.0, "Abe"), ("b", 1.0, None)]


class ReadTable:
    """A read from the table `names`, by (k, n), in a file of its own."""

    def __init__(self, folder: Path, columns: str | tuple[str, ...] = "name", *, drop_unmatched: bool = False) -> None:
        net = drover.Builder("n")
        source = net.source("s", {"ts": "timestamp", "key": "string", "n": "double"}, time="ts")
        table = net.table("names", {"k": "string", "n": "double", "name": "string"}, key=("k", "n"))
        # The keys in another order than in the table.
        source.read_table("out", table, on=("n", "key = k"), columns=columns, drop_unmatched=drop_unmatched).output()
        network = net.build()
        address = Address(f"sqlite://{folder}/tables.db")
        self.store = TableStore(network.tables[0], address)
        self.store.prepare(written=True)
        self.batches = SmallBatches(network, tables={"names": address})

    def put(self, *rows: Row) -> None:
        """Change the table, as another program would."""
        schema = {"k": pl.String(), "n": pl.Float64(), "name": pl.String()}
        self.store.upsert(pl.DataFrame(rows, schema=schema, orient="row").sort("k", "n"), "name")


GIVEN: list[Row] = [(0, "b", 1.0), (1, "a", -0.0), (2, "a", 1.0), (3, "z", 1.0), (4, None, 1.0), (5, "a", 1.0)]


def test_rows_without_a_match_get_null(tmp_path: Path) -> None:
    read = ReadTable(tmp_path)
    read.put(*NAMES)
    added = [None, "Abe", "Ann", None, None, "Ann"]
    assert read.batches.only(GIVEN) == [(*row, name) for row, name in zip(GIVEN, added, strict=True)]
    assert read.batches.only([]) == []


def test_rows_without_a_match_may_be_dropped(tmp_path: Path) -> None:
    read = ReadTable(tmp_path, drop_unmatched=True)
    assert read.batches.only(GIVEN) == []  # the table is empty
    read.put(*NAMES)
    # A match whose column is NULL is a match.
    assert [row[3] for row in read.batches.only(GIVEN)] == [None, "Abe", "Ann", "Ann"]


def test_a_key_column_may_be_among_those_added(tmp_path: Path) -> None:
    read = ReadTable(tmp_path, ("name", "k"))
    read.put(*NAMES)
    assert read.batches.only([(0, "a", 1.0), (1, "z", 1.0)]) == [(0, "a", 1.0, "Ann", "a"), (1, "z", 1.0, None, None)]


def test_each_batch_sees_the_table_as_it_is(tmp_path: Path) -> None:
    read = ReadTable(tmp_path)
    read.put(("a", 1.0, "Ann"))
    assert read.batches.only([(0, "a", 1.0)]) == [(0, "a", 1.0, "Ann")]
    read.put(("a", 1.0, "Zoe"))
    assert read.batches.only([(0, "a", 1.0)]) == [(0, "a", 1.0, "Zoe")]

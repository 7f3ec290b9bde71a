"""A table write keeps the latest row per key; a table that the network reads is written at the commit."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import drover
from drover.flow.operators import PENDING, write_pending
from drover.flow.operators.table_write import greatest_rows, waiting_writes
from drover.flow.tables import Address, TableStore
from drover.network.model import Network
from drover.network.operators import TableWrite
from tests.flow.operators.batches import Row, SmallBatches, cells, frame
from tests.flow.tables.twin import dump


def network(*, read: bool) -> Network:
    """Return a network that writes the table `kept`, and reads it too if it should."""
    net = drover.Builder("n")
    source = net.source("s", {"ts": "timestamp", "k": "string", "v": "double"}, time="ts")
    kept = net.table("kept", {"k": "string", "ts": "timestamp", "v": "double"}, key="k")
    if read:
        source.map("keys", {"time": "ts", "k": "k"}).read_table("known", kept, on="k", columns="v").output()
    source.write_table("w", kept)
    return net.build()


def prepared(net: Network, folder: Path) -> dict[str, Address]:
    address = Address(f"sqlite://{folder}/tables.db")
    TableStore(net.tables[0], address).prepare(written=True)
    return {"kept": address}


def stored(net: Network, tables: dict[str, Address]) -> list[Row]:
    return sorted(cells(dump(net.tables[0], tables["kept"])), key=str)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([(1, "a", 5), (2, "a", 3)], [("a", 2, 3)], id="the latest row wins, not the greatest"),
        pytest.param([(2, "a", 3), (2, "a", 5)], [("a", 2, 5)], id="of equal times the greatest value"),
        pytest.param([(2, "a", 3), (2, "a", None)], [("a", 2, 3)], id="NULL is the smallest value"),
        pytest.param([(1, "b", 1), (0, "a", 1)], [("a", 0, 1), ("b", 1, 1)], id="in the order of the keys"),
        pytest.param([(1, None, 1), (2, None, 2)], [(None, 2, 2)], id="NULL is a key"),
        pytest.param([], [], id="no rows"),
    ],
)
def test_the_greatest_row_of_each_key(rows: list[Row], expected: list[Row]) -> None:
    net = network(read=False)
    assert cells(greatest_rows(frame(net, "s", rows), net.tables[0], "ts")) == expected


def test_a_table_that_is_only_written_is_written_at_once(tmp_path: Path) -> None:
    net = network(read=False)
    tables = prepared(net, tmp_path)
    batches = SmallBatches(net, tables=tables)
    assert batches.run([(2, "a", 1), (1, "a", 9), (1, "b", 7)]) == {}
    assert batches.run([(1, "a", 8), (3, "b", 6)]) == {}  # an older row changes nothing, whatever the batch
    assert batches.run([]) == {}
    assert stored(net, tables) == [("a", 2, 1), ("b", 3, 6)]
    assert batches.state.parts == {}
    assert waiting_writes(net) == ()


def test_a_table_that_is_read_is_written_at_the_commit(tmp_path: Path) -> None:
    net = network(read=True)
    tables = prepared(net, tmp_path)
    batches = SmallBatches(net, tables=tables)
    assert batches.run([(1, "a", 9), (2, "a", 1)]) == {}
    assert stored(net, tables) == []

    def pending(operator: TableWrite) -> pl.DataFrame | None:
        assert operator is waiting_writes(net)[0]
        return batches.state.replaced.get(PENDING)

    for _ in range(2):  # a commit may be repeated
        write_pending(net, tables, pending)
        assert stored(net, tables) == [("a", 2, 1)]
    batches.run([])
    assert PENDING not in batches.state.replaced
    write_pending(net, tables, pending)
    assert stored(net, tables) == [("a", 2, 1)]

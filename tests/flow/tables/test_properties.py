"""Random tables, rows and batches through the operators, against the plain meaning of tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import drover
from drover.flow.operators.table_write import greatest_rows
from drover.flow.tables import Address, TableStore, prepare_tables
from drover.network.model import Network
from drover.network.operators import KeyPair, Table, TableRead, TableWrite
from drover.network.parts import Source
from drover.network.schema import Column
from drover.network.types import TIMESTAMP, DataType
from drover.placement.plan import Plan, units_of
from tests.flow.harness import Harness
from tests.flow.tables.conftest import NewAddress
from tests.flow.tables.twin import AT, Row, all_ranks, cells, dump, enriched, frame, written
from tests.strategies import types
from tests.strategies.values import SIMPLE_TYPES, Draw

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = ("select", "Value", "x1", "_y", "order")


@dataclass(frozen=True)
class Case:
    """A table, and the rows of its batches."""

    table: Table
    batches: tuple[list[Row], ...]

    @property
    def types(self) -> dict[str, DataType]:
        return dict(self.table.schema.types)


@st.composite
def tables(draw: Draw) -> Table:
    """Tables with event time `ts`, which may be anywhere and even in the key."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    columns = [Column(name, draw(types())) for name in names]
    columns.insert(draw(st.integers(0, len(columns))), Column("ts", TIMESTAMP))
    key = draw(st.lists(st.sampled_from([c.name for c in columns]), min_size=1, max_size=2, unique=True))
    return Table("kept", tuple(columns), tuple(key))


@st.composite
def rows_of(draw: Draw, kinds: dict[str, DataType], most: int = 12) -> list[Row]:
    """Rows whose columns have few values, so that keys and event times often meet again."""
    pools = {name: draw(st.lists(st.none() | cells(kind), min_size=1, max_size=3)) for name, kind in kinds.items()}
    pools["ts"] = [AT, AT + timedelta(microseconds=1), AT - timedelta(days=90_000)]
    row = st.fixed_dictionaries({name: st.sampled_from(pool) for name, pool in pools.items()})
    return list(draw(st.lists(row, max_size=most)))


@st.composite
def cases(draw: Draw) -> Case:
    """Rows in batches, some of which come again, later or in another order."""
    table = draw(tables())
    kinds = dict(table.schema.types)
    batches = [draw(rows_of(kinds)) for _ in range(draw(st.integers(1, 4)))]
    again = draw(st.lists(st.sampled_from(range(len(batches))), max_size=2))
    return Case(table, (*batches, *(list(draw(st.permutations(batches[index]))) for index in again)))


def a_writer(table: Table) -> Network:
    source = Source("s", tuple(reversed(table.columns)), "ts")
    return Network("n", (source,), (TableWrite(name="w", input="s", into="kept"),), (), (table,))


def run_batches(case: Case, address: Address) -> Harness:
    network = a_writer(case.table)
    prepare_tables(network, {"kept": address})
    harness = Harness(network, {"kept": address})
    for number, batch in enumerate(case.batches):
        harness.run({"s": frame(batch, network.sources[0].schema.types)}, Plan(number, 1, {"table:kept": 0}))
    return harness


@quick
@given(case=cases())
def test_a_table_keeps_the_greatest_row_of_each_key(new_address: NewAddress, case: Case) -> None:
    address = new_address()
    assert run_batches(case, address).failures == []
    expected = written(case.table, "ts", [row for batch in case.batches for row in batch])
    assert all_ranks(dump(case.table, address)) == expected


@quick
@given(case=cases())
def test_the_greatest_rows_of_a_batch_are_one_per_key(case: Case) -> None:
    rows = [row for batch in case.batches for row in batch]
    found = greatest_rows(frame(rows, case.types), case.table, "ts")
    assert all_ranks(found) == written(case.table, "ts", rows)


@st.composite
def readings(draw: Draw) -> tuple[Table, list[Row], list[Row], TableRead, Source]:
    """A table and its rows, a stream and its rows, and a read of the one by the other."""
    table = draw(tables())
    on = tuple(KeyPair(f"s_{name}", name) for name in draw(st.permutations(table.key)))
    source = Source("s", (*(Column(p.left, table.schema.types[p.right]) for p in on), Column("extra", TIMESTAMP)))
    columns = tuple(draw(st.lists(st.sampled_from(table.schema.names), min_size=1, unique=True)))
    read = TableRead(name="r", input="s", from_table="kept", on=on, columns=columns, drop_unmatched=draw(st.booleans()))
    kept = draw(rows_of(dict(table.schema.types)))
    keys = st.sampled_from([{p.left: row[p.right] for p in on} for row in kept]) if kept else st.nothing()
    others = st.fixed_dictionaries({pair.left: st.none() | cells(table.schema.types[pair.right]) for pair in on})
    rows: list[Row] = [{**row, "extra": AT} for row in draw(st.lists(keys | others, max_size=10))]
    return table, kept, rows, read, source


@quick
@given(reading=readings())
def test_a_read_adds_the_row_of_the_same_key(new_address: NewAddress, reading: Any) -> None:
    table, kept, rows, read, source = reading
    network = Network("n", (source,), (read,), ("r",), (table,))
    address = new_address()
    TableStore(table, address).prepare(written=True)
    prepare_tables(network, {"kept": address})
    TableStore(table, address).upsert(greatest_rows(frame(kept, table.schema.types), table, "ts"), "ts")
    harness = Harness(network, {"kept": address})
    batch = frame(rows, source.schema.types)
    harness.run({"s": batch}, Plan(1, 1, {"table:kept": 0}))
    assert harness.failures == []
    assert all_ranks(harness.output("r")) == enriched(read, dump(table, address), batch)


@pytest.mark.parametrize("kind", [*SIMPLE_TYPES, DataType("decimal", 38, 10)], ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_type_goes_in_and_comes_out_as_key_and_as_value(
    new_address: NewAddress, kind: DataType, data: st.DataObject
) -> None:
    table = Table("kept", (Column("k", kind), Column("v", kind), Column("ts", TIMESTAMP)), ("k",))
    drawn = data.draw(st.lists(st.tuples(cells(kind), st.none() | cells(kind)), min_size=1, max_size=6))
    rows = greatest_rows(frame([{"k": k, "v": v, "ts": AT} for k, v in drawn], table.schema.types), table, "ts")
    store = TableStore(table, new_address())
    store.prepare(written=True)
    store.upsert(rows, "ts")
    found = store.fetch(rows.select("k"), ["k", "v", "ts"])
    assert found.schema == rows.schema
    assert all_ranks(found) == all_ranks(rows)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_batch_reads_what_the_batches_before_it_wrote_whatever_the_plan(
    new_address: NewAddress, data: st.DataObject
) -> None:
    builder = drover.Builder("n")
    kinds = {"ts": "timestamp", "k": "int", "v": "int"}
    kept = builder.table("kept", kinds, key="k")
    source = builder.source("s", kinds, time="ts")
    source.write_table("early", kept)
    far = source.filter("a", "TRUE").filter("b", "TRUE").map("c", {"ts": "ts", "k": "k"})
    read = far.read_table("r", kept, on="k", columns="v")
    read.output()
    read.map("plus", {"ts": "ts", "k": "k", "v": "v + 100"}).write_table("late", kept)
    network = builder.build()
    address = new_address()
    prepare_tables(network, {"kept": address})
    harness = Harness(network, {"kept": address})
    for number in range(4):
        nodes = data.draw(st.integers(1, 4))
        plan = Plan(number, nodes, {unit: data.draw(st.integers(0, nodes - 1)) for unit in units_of(network)})
        row = {"ts": AT + timedelta(seconds=number), "k": 1, "v": number}
        harness.run({"s": frame([row], network.streams["s"].types)}, plan)
    assert harness.failures == []
    assert harness.output("r")["v"].to_list() == [None, 0, 100, 200]

from __future__ import annotations

from typing import Any

import pytest

from drover.network.functions import columns_of
from drover.network.operators import Pair, Table, TableRead, TableWrite
from drover.network.schema import Schema
from tests.network.cases import EVENTS, LATEST, PRICES, TIMELESS, Case, a_map, assert_only_fault, examined

READ = ("operators", "enriched")
WRITE = ("operators", "saved")
KEYS = Table("latest", columns_of({"key": "int"}), ("key",))
TWO_TIMES = a_map({"ts": "ts", "at": "ts", "key": "key"})
SWAPPED = a_map({"at": "ts", "ts": "at", "key": "key"}, name="swapped", source="mapped")


def a_read(**fields: Any) -> TableRead:  # Any: fields as TableRead has them
    usual = {"from_table": "prices", "on": (Pair("key", "key"),), "columns": ("list_price",)}
    return TableRead(name="enriched", input="events", **(usual | fields))


def a_write(source: str = "events", name: str = "saved") -> TableWrite:
    return TableWrite(name=name, input=source, into="latest")


def a_table(**columns: str) -> Table:
    return Table("prices", columns_of(columns), ("key",))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case([a_read(columns=())], (*READ, "columns"), "adds at least one column", tables=[PRICES]),
            id="a read adds a column",
        ),
        pytest.param(
            Case(
                [a_read(columns=("list_price", "list_price"))],
                (*READ, "columns", 1),
                "each column once",
                tables=[PRICES],
            ),
            id="a read adds a column once",
        ),
        pytest.param(
            Case([a_read(columns=("list price",))], (*READ, "columns", 0), "Did you mean list_price?", tables=[PRICES]),
            id="a read adds columns of the table",
        ),
        pytest.param(
            Case(
                [a_read(columns=("Tag",))],
                (*READ, "columns", 0),
                "the stream already has a column of that name",
                tables=[a_table(key="int", Tag="string")],
            ),
            id="a read adds no column that the stream has",
        ),
        pytest.param(
            Case([a_read(on=(Pair("kye", "key"),))], (*READ, "on", 0), "Did you mean key?", tables=[PRICES]),
            id="a read is by columns of the stream",
        ),
        pytest.param(
            Case([a_read(on=())], (*READ, "on"), "is (none), but a table is read by its whole key", tables=[PRICES]),
            id="a read is by the whole key",
        ),
        pytest.param(
            Case([a_read(on=(Pair("price", "list_price"),))], (*READ, "on"), "by its whole key (key)", tables=[PRICES]),
            id="a read is by nothing but the key",
        ),
        pytest.param(
            Case([a_read(on=(Pair("amount", "key"),))], (*READ, "on", 0), "amount bigint = key int", tables=[PRICES]),
            id="keys have one type",
        ),
        pytest.param(
            Case([a_write("timeless")], (*WRITE, "input"), "need a stream with event time", [TIMELESS], [KEYS]),
            id="a write needs event time",
        ),
        pytest.param(
            Case(
                [a_map({"ts": "ts", "key": "key"}), a_write("mapped")],
                (*WRITE, "input"),
                "table 'latest' has column amount bigint and the stream does not",
                tables=[LATEST],
            ),
            id="a written stream has every column of the table",
        ),
        pytest.param(
            Case(
                [a_map({"amount": "key"}, extend=True), a_write("mapped")],
                (*WRITE, "input"),
                "has column amount bigint",
                tables=[LATEST],
            ),
            id="a written stream has the types of the table",
        ),
        pytest.param(
            Case([a_write()], (*WRITE, "into"), "must keep the stream's event time, column 'ts'", tables=[KEYS]),
            id="a written table keeps the event time",
        ),
        pytest.param(
            Case(
                [TWO_TIMES, SWAPPED, a_write("mapped"), a_write("swapped", "again")],
                ("operators", "again", "into"),
                "another uses 'ts'",
                tables=[Table("latest", columns_of({"ts": "timestamp", "at": "timestamp", "key": "int"}), ("key",))],
            ),
            id="streams written into one table agree on the event time",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def test_a_read_adds_columns_behind_those_of_the_stream() -> None:
    found = examined(Case([a_read()], (), "", tables=[PRICES]))
    assert found.faults == ()
    assert found.streams["enriched"] == Schema((*EVENTS.columns, *columns_of({"list_price": "double"})), "ts")


def test_a_key_of_two_columns_is_named_in_any_order() -> None:
    table = Table("prices", columns_of({"key": "int", "tag": "string", "list_price": "double"}), ("key", "tag"))
    read = a_read(on=(Pair("tag", "tag"), Pair("key", "key")))
    assert examined(Case([read], (), "", tables=[table])).faults == ()


def test_a_write_makes_no_stream() -> None:
    found = examined(Case([a_write()], (), "", tables=[LATEST]))
    assert found.faults == ()
    assert set(found.streams) == {"events"}


def test_a_faulty_table_hides_those_who_use_it() -> None:
    broken = Table("prices", PRICES.columns, ("nothing",))
    found = examined(Case([a_read(columns=("absent",))], (), "", tables=[broken]))
    assert [fault.path for fault in found.faults] == [("tables", "prices", "key", 0)]

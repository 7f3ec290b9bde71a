from __future__ import annotations

from typing import Any

import pytest

from drover.network.functions import columns_of
from drover.network.operators import KeyPair, Table, TableRead
from drover.network.schema import Schema
from tests.network.cases import EVENTS, PRICES, Case, assert_only_fault, examined

READ = ("operators", "enriched")


def a_read(**fields: Any) -> TableRead:  # Any: fields as TableRead has them
    usual = {"from_table": "prices", "on": (KeyPair("key", "key"),), "columns": ("list_price",)}
    return TableRead(name="enriched", input="events", **(usual | fields))


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
            Case([a_read(on=(KeyPair("kye", "key"),))], (*READ, "on", 0), "Did you mean key?", tables=[PRICES]),
            id="a read is by columns of the stream",
        ),
        pytest.param(
            Case([a_read(on=())], (*READ, "on"), "is (none), but a table is read by its whole key", tables=[PRICES]),
            id="a read is by the whole key",
        ),
        pytest.param(
            Case(
                [a_read(on=(KeyPair("price", "list_price"),))], (*READ, "on"), "by its whole key (key)", tables=[PRICES]
            ),
            id="a read is by nothing but the key",
        ),
        pytest.param(
            Case(
                [a_read(on=(KeyPair("amount", "key"),))], (*READ, "on", 0), "amount bigint = key int", tables=[PRICES]
            ),
            id="keys have one type",
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
    read = a_read(on=(KeyPair("tag", "tag"), KeyPair("key", "key")))
    assert examined(Case([read], (), "", tables=[table])).faults == ()


def test_operators_that_use_a_faulty_table_are_not_checked() -> None:
    broken = Table("prices", PRICES.columns, ("nothing",))
    found = examined(Case([a_read(columns=("absent",))], (), "", tables=[broken]))
    assert [fault.path for fault in found.faults] == [("tables", "prices", "key", 0)]

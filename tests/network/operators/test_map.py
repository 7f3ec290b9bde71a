from __future__ import annotations

import pytest

from drover.network.functions import columns_of
from drover.network.parts import Source
from drover.network.schema import Schema
from tests.network.cases import Case, a_map, assert_only_fault, examined


def made(select: dict[str, str], *, extend: bool = False) -> Schema:
    found = examined(Case([a_map(select, extend=extend)], (), ""))
    assert found.faults == ()
    schema = found.streams["mapped"]
    assert schema is not None
    return schema


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case([a_map({})], ("operators", "mapped", "select"), "at least one column"), id="a map makes a column"
        ),
        pytest.param(
            Case([a_map({"x": "amont"})], ("operators", "mapped", "select", "x"), "Did you mean amount?"),
            id="an expression names columns of the input",
        ),
        pytest.param(
            Case([a_map({"x-y": "amount"})], ("operators", "mapped", "select", "x-y"), "Rename the column."),
            id="an output column has a column name",
        ),
        pytest.param(
            Case([a_map({"x": "key", "X": "key"})], ("operators", "mapped", "select", "X"), "already has a column"),
            id="output columns differ in more than upper and lower case",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def test_a_map_makes_exactly_the_selected_columns_in_their_order() -> None:
    schema = made({"double_key": "key * 2", "tag": "tag", "big": "amount > 10"})
    assert str(schema) == "double_key int, tag string, big boolean"


def test_an_extending_map_keeps_the_others_in_front() -> None:
    schema = made({"big": "amount > 10"}, extend=True)
    assert schema.names == ("ts", "key", "tag", "amount", "price", "big")


def test_an_extending_map_moves_a_replaced_column_to_the_end() -> None:
    schema = made({"Key": "key + 1"}, extend=True)
    assert schema.names == ("ts", "tag", "amount", "price", "Key")


@pytest.mark.parametrize(
    ("select", "extend", "time"),
    [
        pytest.param({"ts": "ts", "key": "key"}, False, "ts", id="kept"),
        pytest.param({"at": " `ts` "}, False, "at", id="renamed"),
        pytest.param({"at": "ts", "ts": "ts"}, False, "ts", id="of two copies the one with the old name"),
        pytest.param({"first": "ts", "second": "ts"}, False, "first", id="of two new names the first"),
        pytest.param({"key": "key"}, False, None, id="dropped"),
        pytest.param({"ts": "ts + INTERVAL 1 SECOND"}, False, None, id="changed, hence no event time"),
        pytest.param({"key": "key + 1"}, True, "ts", id="kept by extending"),
        pytest.param({"ts": "ts + INTERVAL 1 SECOND"}, True, None, id="overwritten while extending"),
        pytest.param({"ts": "ts + INTERVAL 1 SECOND", "at": "ts"}, True, "at", id="overwritten, but saved before"),
        pytest.param({"TS": "ts"}, True, "TS", id="renamed while extending, in upper case"),
        pytest.param({"at": "(ts)"}, False, "at", id="in parentheses"),
        pytest.param({"copy": "ts"}, True, "ts", id="copied while extending"),
    ],
)
def test_event_time_is_kept_if_it_is_selected_unchanged(select: dict[str, str], extend: bool, time: str | None) -> None:
    assert made(select, extend=extend).time == time


def test_a_sql_keyword_does_not_select_the_event_time_of_that_name() -> None:
    odd = Source("events", columns_of({"true": "timestamp"}), "true")
    found = examined(Case([a_map({"x": "true"}), a_map({"x": "`true`"}, "quoted")], (), "", [odd]))
    assert found.faults == ()
    assert str(found.streams["mapped"]) == "x boolean"
    assert str(found.streams["quoted"]) == "x timestamp (time)"

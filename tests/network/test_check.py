from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from drover.errors import Fault
from drover.network.check import examine
from drover.network.functions import columns_of
from drover.network.operators import Operator, Switch, Table, TableRead, TableWrite, Union
from drover.network.parts import Parts, Source
from tests.network.cases import (
    EVENTS,
    OTHERS,
    PRICES,
    SECOND,
    TIMELESS,
    a_filter,
    a_join,
    a_map,
    an_aggregate,
    faults_of,
    named,
    parts_of,
)

SIDES = Switch(name="sides", input="events", cases=named({"big": "amount > 10"}), rest="small")
READ = TableRead(name="r", input="events", from_table="price", on=(), columns=("list_price",))
WRITE = TableWrite(name="w", input="events", into="last")


def faulty_source(**fields: object) -> list[Source]:
    usual: dict[str, object] = {"name": "events", "columns": EVENTS.columns, "time": "ts"}
    return [Source(**(usual | fields))]  # type: ignore[arg-type]  # fields as Source has them


@pytest.mark.parametrize(
    ("parts", "path", "says"),
    [
        pytest.param(
            parts_of([a_filter()], name="two words"), ("name",), "letters, digits, _ and -", id="a network has a name"
        ),
        pytest.param(
            Parts("n", (), (), ()), ("sources",), "a network has at least one source", id="a network has a source"
        ),
        pytest.param(
            parts_of([], sources=faulty_source(name="1st")),
            ("sources", "1st"),
            "starts with a letter",
            id="source name",
        ),
        pytest.param(
            parts_of([a_filter(name="now", was="now")]),
            ("operators", "now", "was"),
            "this is its present name",
            id="a former name is another one",
        ),
        pytest.param(
            parts_of([a_filter(name="now", was="a.b")]),
            ("operators", "now", "was"),
            "letters, digits, _ and -",
            id="a former name is a name",
        ),
        pytest.param(
            parts_of([a_filter(name="one", was="old"), a_filter(name="two", was="old")]),
            ("operators", "two", "was"),
            "operator 'one' has that former name, too",
            id="a former name has one heir",
        ),
        pytest.param(
            parts_of([a_filter(name="a.b")]), ("operators", "a.b"), "Rename it.", id="an operator's name has no dot"
        ),
        pytest.param(
            parts_of([a_filter()], tables=[Table("t t", PRICES.columns, ("key",))]),
            ("tables", "t t"),
            "Rename it.",
            id="a table's name has no blank",
        ),
        pytest.param(
            parts_of([a_filter(name="x" * 129)]), ("operators", "x" * 129), "up to 128", id="a name is not too long"
        ),
        pytest.param(
            parts_of([a_filter()], sources=[EVENTS, EVENTS]),
            ("sources", "events"),
            "another of that name among the sources",
            id="sources have different names",
        ),
        pytest.param(
            parts_of([a_filter()], tables=[PRICES, PRICES]),
            ("tables", "prices"),
            "another of that name among the tables",
            id="tables have different names",
        ),
        pytest.param(
            parts_of([a_filter()], tables=[PRICES, replace(PRICES, name="Prices")]),
            ("tables", "Prices"),
            "for SQLite it is the same as table 'prices'",
            id="tables differ in more than their case",
        ),
        pytest.param(
            parts_of([a_filter()], tables=[replace(PRICES, name="SQLite_prices")]),
            ("tables", "SQLite_prices"),
            "names that begin with sqlite_",
            id="a table's name is free in SQLite",
        ),
        pytest.param(
            parts_of([a_filter("events", "others", "id > 0"), a_filter()], sources=[EVENTS, OTHERS]),
            ("operators", "events"),
            "another of that name among the sources",
            id="operators and sources have different names",
        ),
        pytest.param(
            parts_of([], sources=faulty_source(columns=(), time=None)),
            ("sources", "events", "columns"),
            "at least one column",
            id="a source has a column",
        ),
        pytest.param(
            parts_of([], sources=faulty_source(time="key")),
            ("sources", "events", "time"),
            "Choose one of ts",
            id="event time is a timestamp",
        ),
        pytest.param(
            parts_of([], sources=faulty_source(lateness=-SECOND)),
            ("sources", "events", "lateness"),
            "is -1 s, but lateness is not negative",
            id="lateness is not negative",
        ),
        pytest.param(
            parts_of([a_filter()], tables=[Table("t", PRICES.columns, ())]),
            ("tables", "t", "key"),
            "a key that identifies its rows",
            id="a table has a key",
        ),
        pytest.param(
            parts_of([a_filter()], tables=[Table("t", PRICES.columns, ("key", "id"))]),
            ("tables", "t", "key", 1),
            "Known: key, list_price",
            id="a key is a column",
        ),
        pytest.param(
            parts_of([a_filter()], tables=[Table("t", PRICES.columns, ("key", "key"))]),
            ("tables", "t", "key", 1),
            "names each column once",
            id="a key names a column once",
        ),
        pytest.param(
            parts_of([READ], tables=[PRICES]),
            ("operators", "r", "from"),
            "Did you mean prices?",
            id="a read table exists",
        ),
        pytest.param(
            parts_of([WRITE]), ("operators", "w", "into"), "no such table. Known: (none).", id="a written table exists"
        ),
        pytest.param(
            parts_of([a_filter()], outputs=["kept", "kept"]),
            ("outputs", 1),
            "listed once",
            id="an output is listed once",
        ),
        pytest.param(
            parts_of([a_filter(), a_filter("spare")], outputs=["kept"]),
            ("operators", "spare"),
            "every stream must be read by an operator or be an output",
            id="an operator's stream is read",
        ),
        pytest.param(
            parts_of([a_filter()], sources=[EVENTS, OTHERS], outputs=["kept"]),
            ("sources", "others"),
            "Add it to outputs, or remove it.",
            id="a source's stream is read",
        ),
        pytest.param(
            parts_of([SIDES], outputs=["sides.big"]),
            ("operators", "sides", "rest"),
            "'sides.small'",
            id="the stream of the rest is read",
        ),
        pytest.param(
            parts_of([a_filter(), SIDES], outputs=[]),
            ("outputs",),
            "or write a table",
            id="a network has an output",
        ),
        pytest.param(parts_of([], outputs=[]), ("outputs",), "List a stream.", id="a source alone is given out"),
        pytest.param(
            parts_of([SIDES], outputs=["sides.small"]),
            ("operators", "sides", "cases", "big"),
            "'sides.big'",
            id="the stream of a case is read",
        ),
    ],
)
def test_rules(parts: Parts, path: tuple[str | int, ...], says: str) -> None:
    faults = examine(parts).faults
    assert [fault.path for fault in faults] == [path], [str(fault) for fault in faults]
    assert says in str(faults[0])


@pytest.mark.parametrize(
    ("operator", "path"),
    [
        pytest.param(a_filter("o", "evnts"), ("input",), id="of a filter"),
        pytest.param(Union(name="o", streams=("events", "evnts")), ("inputs", 1), id="of a union, by place"),
        pytest.param(a_join("evnts", "events", "o"), ("left",), id="the left one of a join"),
        pytest.param(a_join("events", "evnts", "o"), ("right",), id="the right one of a join"),
    ],
)
def test_an_unknown_input_is_reported_where_it_is_named(operator: Operator, path: tuple[str | int, ...]) -> None:
    (fault,) = faults_of(operator, a_filter())
    assert fault.path == ("operators", "o", *path)
    assert str(fault).endswith("is 'evnts', but there is no such stream. Did you mean events? Known: events, kept, o.")


def test_an_unknown_output_is_reported_by_its_place() -> None:
    (fault,) = examine(parts_of([a_filter()], outputs=["kept", "lost"])).faults
    assert fault.path == ("outputs", 1)


def test_a_misspelt_stream_is_not_also_reported_as_unread() -> None:
    (fault,) = examine(parts_of([a_filter(), a_filter("next", "kpet")], outputs=["next"])).faults
    assert fault.path == ("operators", "next", "input")


def test_naming_a_switch_as_a_stream_lists_its_branches() -> None:
    (fault,) = examine(parts_of([SIDES, a_filter(source="sides")], outputs=["kept"])).faults
    assert fault.path == ("operators", "kept", "input")
    assert fault.way_out == "It is a switch: name one of its streams, sides.big, sides.small."


def test_a_source_may_be_an_output() -> None:
    assert faults_of() == []


def test_an_unused_table_is_allowed() -> None:
    assert faults_of(a_filter(), tables=[PRICES]) == []


def test_a_network_that_only_writes_a_table_needs_no_output() -> None:
    table = Table("last", columns_of({"ts": "timestamp", "key": "int"}), ("key",))
    parts = parts_of([WRITE], tables=[table], outputs=[])
    assert examine(parts).faults == ()


def test_a_stream_may_be_read_and_be_an_output() -> None:
    assert examine(parts_of([a_filter()], outputs=["events", "kept"])).faults == ()


Build = Callable[[], list[Fault]]


@pytest.mark.parametrize(
    ("operators", "paths"),
    [
        pytest.param(
            [a_filter(where="x = 1"), a_filter("next", "kept", "y = 1")],
            ["kept.where", "next.where"],
            id="a bad filter hides nothing",
        ),
        pytest.param(
            [a_map({"x": "nothing"}), a_filter("next", "mapped", "y = 1"), a_filter(where="y = 1")],
            ["mapped.select.x", "kept.where"],
            id="a bad map hides its readers and nobody else",
        ),
        pytest.param(
            [a_map({"x": "nothing", "y": "more"})], ["mapped.select.x", "mapped.select.y"], id="all columns of a map"
        ),
        pytest.param(
            [a_map({"x": "key", "X": "key"}), a_filter("next", "mapped", "y = 1")],
            ["mapped.select.X"],
            id="a column named twice hides the readers",
        ),
        pytest.param(
            [a_filter("next", "lost", "y = 1"), a_filter("last", "next", "z = 1"), a_filter()],
            ["next.input"],
            id="an unknown stream hides what hangs on it",
        ),
        pytest.param(
            [an_aggregate({"x": "sum(tag)"}, size=0, advance=-1, timeout=-1, group_by=["kye"])],
            ["counted.size", "counted.timeout", "counted.group_by.0", "counted.compute.x"],
            id="everything wrong with an aggregate, but no advance without a size",
        ),
        pytest.param(
            [a_join(on=(), where="key", select=named({"a": "nothing", "b": "b"}), left_window=-1)],
            ["joined.within", "joined.where", "joined.select.a", "joined.select.b"],
            id="everything wrong with a join",
        ),
    ],
)
def test_every_fault_is_reported_without_consequential_ones(operators: list[Operator], paths: list[str]) -> None:
    faults = faults_of(*operators, sources=[EVENTS, OTHERS])
    assert sorted(fault.field for fault in faults) == sorted(f"operators.{path}" for path in paths)


def test_faults_of_all_parts_come_together() -> None:
    broken = Table("t", PRICES.columns, ())
    faults = faults_of(a_filter(where="x = 1"), sources=[EVENTS, *faulty_source(name="1st", time="x")], tables=[broken])
    assert [fault.field for fault in faults] == [
        "sources.1st",
        "sources.1st.time",
        "tables.t.key",
        "operators.kept.where",
    ]


def test_readers_of_a_faulty_source_are_not_checked() -> None:
    faults = faults_of(a_filter(where="y = 1"), sources=faulty_source(time="x"))
    assert [fault.field for fault in faults] == ["sources.events.time"]


def test_no_fault_is_reported_twice() -> None:
    faults = faults_of(a_filter(), a_filter(), a_filter(), a_join("timeless", "timeless"), sources=[EVENTS, TIMELESS])
    assert len(faults) == len(set(faults))

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from drover.errors import DroverError, ExpressionError, NetworkError
from drover.network.build import Builder, Stream
from drover.network.functions import columns_of
from drover.network.operators import (
    Aggregate,
    Filter,
    Join,
    KeyPair,
    Map,
    Named,
    Operator,
    Switch,
    Synthetic,
    Table,
    TableRead,
    TableWrite,
    Union,
    UserDefined,
)
from drover.network.parts import Source
from drover.network.types import BIGINT
from tests import user_functions
from tests.network.cases import COLUMNS

SECOND = 1_000_000


def started() -> tuple[Builder, Stream]:
    builder = Builder("built")
    return builder, builder.source("events", COLUMNS, time="ts", lateness="5 s")


def test_a_source_has_columns_event_time_and_lateness() -> None:
    builder, events = started()
    builder.source("plain", {"x": BIGINT}).output()
    events.output()
    network = builder.build()
    assert network.sources == (
        Source("events", columns_of(COLUMNS), "ts", 5 * SECOND),
        Source("plain", columns_of({"x": "bigint"})),
    )
    assert network.outputs == ("plain", "events")


EXPECTED: list[Operator] = [
    Filter(name="kept", input="events", where="amount > 0", sticky=True, was="held"),
    Switch(name="sides", input="kept", cases=(Named("big", "amount > 10"),), rest="small"),
    Map(name="mapped", input="sides.big", select=(Named("ts", "ts"), Named("key", "key"))),
    Map(name="longer", input="mapped", select=(Named("twice", "key * 2"),), extend=True),
    Union(name="merged", streams=("sides.small", "kept", "events")),
    Aggregate(
        name="counted",
        input="merged",
        size=10 * SECOND,
        advance=10 * SECOND,
        compute=(Named("n", "count(*)"),),
        group_by=("key",),
    ),
    Join(
        name="joined",
        left="mapped",
        right="counted",
        left_window=SECOND,
        right_window=60 * SECOND,
        on=(KeyPair("key", "key"),),
        where="left.key > 0",
    ),
    TableRead(
        name="read",
        input="longer",
        from_table="prices",
        on=(KeyPair("twice", "key"),),
        columns=("list_price",),
        drop_unmatched=True,
    ),
    TableWrite(name="write", input="mapped", into="latest"),
    UserDefined(
        name="applied",
        input="joined",
        function="tests.user_functions:rows_so_far",
        columns=columns_of({"seen": "bigint"}),
        keeps_state=True,
    ),
    Synthetic(name="loaded", input="longer", cost=1e-3, selectivity=0.5, seed=7, wait=0.2),
]


def test_every_method_adds_the_operator_it_names() -> None:
    builder, events = started()
    latest = builder.table("latest", {"ts": "timestamp", "key": "int"}, key="key")
    prices = builder.table("prices", {"key": "int", "list_price": "double"}, key=["key"])
    kept = events.filter("kept", "amount > 0", sticky=True, was="held")
    sides = kept.switch("sides", {"big": "amount > 10"}, rest="small")
    mapped = sides["big"].map("mapped", {"ts": "ts", "key": "key"})
    longer = mapped.extend("longer", {"twice": "key * 2"})
    merged = sides["small"].union("merged", kept, events)
    counted = merged.aggregate("counted", {"n": "count(*)"}, size="10 s", group_by="key")
    joined = mapped.join("joined", counted, within=("1 s", timedelta(minutes=1)), on=["key"], where="left.key > 0")
    longer.read_table("read", prices, on="twice = key", columns="list_price", drop_unmatched=True).output()
    mapped.write_table("write", latest)
    joined.apply("applied", user_functions.rows_so_far).output()
    longer.synthetic("loaded", cost=1e-3, selectivity=0.5, seed=7, wait=0.2).output()
    network = builder.build()
    assert list(network.operators) == EXPECTED
    assert network.outputs == ("read", "applied", "loaded")
    assert network.tables == (
        Table("latest", columns_of({"ts": "timestamp", "key": "int"}), ("key",)),
        Table("prices", columns_of({"key": "int", "list_price": "double"}), ("key",)),
    )


def test_the_spans_of_an_aggregate() -> None:
    builder, events = started()
    events.aggregate("a", {"n": "count(*)"}, size="1 min", advance="10 s", timeout=timedelta(seconds=2)).output()
    (aggregate,) = builder.build().operators
    assert isinstance(aggregate, Aggregate)
    assert (aggregate.size, aggregate.advance, aggregate.timeout) == (60 * SECOND, 10 * SECOND, 2 * SECOND)


def test_one_length_of_time_is_both_windows_of_a_join() -> None:
    builder, events = started()
    events.join("j", events, within="3 s", on="key", select={"x": "left.tag"}).output()
    (join,) = builder.build().operators
    assert isinstance(join, Join)
    assert (join.left_window, join.right_window) == (3 * SECOND, 3 * SECOND)
    assert join.select == (Named("x", "left.tag"),)


def test_operators_made_by_hand_are_added_and_found_by_their_stream() -> None:
    builder, _events = started()
    builder.add(Switch(name="sides", input="events", cases=(Named("big", "amount > 10"),)))
    builder.output(builder.stream("sides.big"))
    assert builder.build().outputs == ("sides.big",)


def test_rules_are_checked_by_build_and_all_at_once() -> None:
    builder, events = started()
    events.filter("a", "x = 1").filter("b", "y = 1").output()
    with pytest.raises(NetworkError, match="2 faults"):
        builder.build()


@pytest.mark.parametrize(
    ("says", "error"),
    [
        pytest.param(lambda b: b.source("s", {"x": "blob"}), "there is no such column type", id="a type"),
        pytest.param(lambda b: b.source("s", {"x": "int"}, lateness="soon"), "not a length of time", id="a lateness"),
        pytest.param(
            lambda b: b.stream("s").aggregate("a", {}, size="10 parsecs"), "'parsecs' is not a unit", id="a window"
        ),
    ],
)
def test_unknown_values_are_refused_immediately(says: Callable[[Builder], object], error: str) -> None:
    with pytest.raises(ExpressionError, match=error):
        says(Builder("n"))


def test_an_unmarked_function_is_refused_immediately() -> None:
    _builder, events = started()
    with pytest.raises(DroverError, match="function unmarked is not marked as an operator"):
        events.apply("a", user_functions.unmarked)


def test_a_stream_says_what_makes_it() -> None:
    builder = Builder("shop")
    orders = builder.source("orders", {"ts": "timestamp", "price": "double"}, time="ts")
    assert repr(orders) == "<Stream orders: source ts, price>"
    sides = orders.switch("sides", {"dear": "price < 5 AND 'x' <> '<b>'"})
    assert repr(sides["dear"]) == "<Stream sides.dear: switch dear: price < 5 AND 'x' <> '<b>'>"
    assert "<b>'" not in sides["dear"]._repr_html_()
    assert repr(builder.stream("later")) == "<Stream later: not made yet>"
    assert repr(builder) == "<Builder shop: 1 source, 1 operator>"

"""What is needed is enough, and no more: hand-made networks, and rules that hold for all."""

from __future__ import annotations

import pytest
from hypothesis import given

import drover
from drover.network.build import Builder
from drover.network.column_needs import at_least_one, needed_columns
from drover.network.model import Network
from drover.network.operators import Synthetic
from drover.network.schema import Column, Schema
from drover.network.types import STRING, TIMESTAMP
from tests import user_functions
from tests.strategies.networks import networks

COLUMNS = {"ts": "timestamp", "key": "int", "tag": "string", "amount": "bigint", "price": "double", "spare": "string"}


def builder() -> Builder:
    net = drover.Builder("needs")
    net.source("s", COLUMNS, time="ts")
    return net


def total(net: Builder, stream: str) -> Network:
    """Add an aggregate over `key` and `amount`, and build the network."""
    net.stream(stream).aggregate("total", {"n": "sum(amount)"}, size="5 s", group_by="key").output()
    return net.build()


def filtered() -> Network:
    net = builder()
    net.stream("s").filter("f", "price > 1")
    return total(net, "f")


def mapped() -> Network:
    net = builder()
    net.stream("s").map("m", {"ts": "ts", "key": "key", "amount": "amount + 1", "unread": "concat(tag, spare)"})
    return total(net, "m")


def extended() -> Network:
    net = builder()
    net.stream("s").extend("m", {"amount": "amount * price"})
    return total(net, "m")


def switched() -> Network:
    net = builder()
    branches = net.stream("s").switch("w", {"large": "price > 1"}, rest="small")
    branches["large"].map("tags", {"tag": "tag"}).output()
    return total(net, "w.small")


def joined() -> Network:
    net = builder()
    net.source("other", COLUMNS, time="ts")
    pairs = net.stream("s").join(
        "j", net.stream("other"), within="1 s", on="key", select={"a": "left.tag", "b": "right.price"}
    )
    pairs.map("only_a", {"a": "a"}).output()
    return net.build()


def with_table() -> Network:
    net = builder()
    net.table("names", {"id": "int", "name": "string"}, key="id")
    net.stream("s").read_table("r", "names", on="key = id", columns="name").map("m", {"x": "name"}).output()
    return net.build()


def into_table() -> Network:
    net = builder()
    net.table("last", {"key": "int", "ts": "timestamp"}, key="key")
    net.stream("s").write_table("w", "last")
    return net.build()


def called() -> Network:
    net = builder()
    net.stream("s").map("m", {"ts": "ts", "key": "key", "amount": "amount", "price": "price", "tag": "tag"}).apply(
        "u", user_functions.rows_so_far
    ).output()
    return net.build()


def counted() -> Network:
    net = builder()
    net.stream("s").map("one", {"x": "1"}).output()
    return net.build()


def synthetic() -> Network:
    net = builder()
    net.add(Synthetic(name="y", input="s", cost=0.0)).map("m", {"tag": "tag"}).output()
    return net.build()


@pytest.mark.parametrize(
    ("network", "read"),
    [
        pytest.param(filtered(), "ts key amount price", id="a filter passes what is wanted, and reads its predicate"),
        pytest.param(mapped(), "ts key amount", id="a map reads nothing for a column that nobody wants"),
        pytest.param(extended(), "ts key amount price", id="a map that extends passes what is wanted"),
        pytest.param(switched(), "ts key amount price tag", id="a switch passes what any branch wants"),
        pytest.param(joined(), "ts key tag", id="a join reads what its windows keep, whatever is wanted"),
        pytest.param(with_table(), "key", id="reading a table takes the key"),
        pytest.param(into_table(), "ts key", id="writing a table takes its columns"),
        pytest.param(called(), "ts key tag amount price", id="a function takes its whole input"),
        pytest.param(counted(), "ts", id="rows without columns could not be counted"),
        pytest.param(synthetic(), "ts tag", id="synthetic load takes the event time"),
    ],
)
def test_a_source_is_needed_as_far_as_somebody_reads_it(network: Network, read: str) -> None:
    assert needed_columns(network).streams["s"] == frozenset(read.split())


def test_a_join_needs_its_right_side_by_itself() -> None:
    assert needed_columns(joined()).inputs["j"] == (frozenset({"ts", "key", "tag"}), frozenset({"ts", "key", "price"}))


def test_an_output_a_query_and_an_operator_in_whole_need_more() -> None:
    network = filtered()
    assert needed_columns(network).streams["f"] == {"ts", "key", "amount"}
    asked = needed_columns(network, {"f": frozenset({"tag"})})
    assert asked.streams["f"] == {"ts", "key", "amount", "tag"}
    assert asked.streams["s"] == {"ts", "key", "amount", "tag", "price"}
    assert asked.inputs["total"] == (frozenset({"ts", "key", "amount"}),)
    assert needed_columns(network, whole={"total"}).streams["s"] == frozenset(COLUMNS)
    seen = Network(network.name, network.sources, network.operators, (*network.outputs, "f"))
    assert needed_columns(seen).streams["s"] == frozenset(COLUMNS)


def test_what_an_operator_reads_of_a_stream_on_both_sides_counts_together() -> None:
    net = builder()
    net.stream("s").join(
        "j", net.stream("s"), within="1 s", on="key", select={"a": "left.tag", "b": "right.price"}
    ).output()
    needs = needed_columns(net.build())
    assert needs.read_by("j", ("s", "s"), "s") == {"ts", "key", "tag", "price"}


@pytest.mark.parametrize(
    ("time", "found"), [pytest.param("ts", "ts", id="event time"), pytest.param(None, "tag", id="the first column")]
)
def test_one_column_is_always_needed(time: str | None, found: str) -> None:
    schema = Schema((Column("tag", STRING), Column("ts", TIMESTAMP)), time)
    assert at_least_one(frozenset(), schema) == {found}
    assert at_least_one(frozenset({"ts"}), schema) == {"ts"}


@given(networks())
def test_needs_are_columns_that_there_are_and_cover_what_is_read(network: Network) -> None:
    needs = needed_columns(network)
    for stream, columns in needs.streams.items():
        assert columns
        assert columns <= set(network.streams[stream].names)
        assert stream not in network.outputs or columns == set(network.streams[stream].names)
    for operator in network.operators:
        for stream, columns in zip(operator.inputs, needs.inputs[operator.name], strict=True):
            assert columns
            assert columns <= needs.streams[stream]


@given(networks())
def test_what_a_kind_with_state_reads_does_not_depend_on_its_readers(network: Network) -> None:
    tables = {table.name: table for table in network.tables}
    for operator in network.operators:
        if operator.holds_state:
            schemas = tuple(network.streams[stream] for stream in operator.inputs)
            every = frozenset(name for stream in operator.outputs for name in network.streams[stream].names)
            nothing = operator.columns_read(schemas, frozenset(), tables)
            assert nothing == operator.columns_read(schemas, every, tables)
            kept = operator.columns_in_state(schemas)
            assert all(frozenset(one.names) <= read for one, read in zip(kept, nothing, strict=True))

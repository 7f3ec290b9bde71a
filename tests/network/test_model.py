from __future__ import annotations

import base64
import pickle
import time
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given

from drover.errors import NetworkError
from drover.network.drawing import svg
from drover.network.model import Network
from drover.network.operators import OPERATORS, KeyPair, Operator, Switch, Table, TableRead, TableWrite
from drover.network.parts import Source
from drover.network.samples import sample_network
from tests.network.cases import (
    EVENTS,
    LATEST,
    OTHERS,
    PRICES,
    a_filter,
    a_join,
    an_aggregate,
    named,
    parts_of,
)
from tests.strategies import networks

SIDES = Switch(name="sides", input="events", cases=named({"big": "amount > 10"}), rest="small")


def a_network(*operators: Operator, sources: tuple[Source, ...] = (EVENTS,), tables: tuple[Table, ...] = ()) -> Network:
    parts = parts_of(operators, sources=sources, tables=tables)
    return Network(parts.name, parts.sources, parts.operators, parts.outputs, parts.tables)


def test_an_unsound_network_is_refused_with_all_its_faults() -> None:
    with pytest.raises(NetworkError) as refused:
        a_network(a_filter(where="x = 1"), a_filter("next", "events", "y = 1"))
    assert [fault.field for fault in refused.value.faults] == ["operators.kept.where", "operators.next.where"]
    assert str(refused.value).startswith("2 faults\n  operators.kept.where is 'x = 1', but there is no column 'x'")


def test_streams_have_the_schema_of_every_source_and_operator() -> None:
    network = a_network(a_filter(), SIDES)
    assert dict(network.streams) == dict.fromkeys(("events", "kept", "sides.big", "sides.small"), EVENTS.schema)


def test_readers_are_listed_once_and_in_declared_order() -> None:
    itself = a_join(right="events", select=named({"x": "left.key"}))
    network = a_network(a_filter("b"), itself, a_filter("a"), a_filter("c", "a"))
    assert [operator.name for operator in network.readers["events"]] == ["b", "joined", "a"]
    assert network.readers["c"] == ()


def test_an_operator_is_found_by_name() -> None:
    network = a_network(a_filter(), SIDES)
    assert network.operator("sides") is SIDES
    with pytest.raises(KeyError, match="lost"):
        network.operator("lost")


def test_a_network_cannot_be_changed() -> None:
    network = a_network(a_filter())
    with pytest.raises(FrozenInstanceError):
        network.name = "other"  # type: ignore[misc]  # that it is refused is the point
    with pytest.raises(TypeError):
        network.streams["more"] = EVENTS.schema  # type: ignore[index]  # that it is refused is the point


def test_networks_with_equal_parts_are_equal() -> None:
    assert a_network(a_filter(), SIDES) == a_network(a_filter(), SIDES)
    assert len({a_network(a_filter()), a_network(a_filter())}) == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(a_network(a_filter(where="amount > 1"), SIDES), id="another predicate"),
        pytest.param(a_network(SIDES, a_filter()), id="another order"),
        pytest.param(a_network(a_filter(), SIDES, tables=(PRICES,)), id="another table"),
    ],
)
def test_networks_with_different_parts_differ(other: Network) -> None:
    assert a_network(a_filter(), SIDES) != other


@given(networks())
def test_a_pickled_network_is_the_same(network: Network) -> None:
    copy = pickle.loads(pickle.dumps(network))
    assert copy == network
    assert hash(copy) == hash(network)
    assert (copy.streams, copy.order, copy.readers) == (network.streams, network.order, network.readers)


def test_roots_are_the_sources_that_a_stream_comes_from() -> None:
    network = a_network(
        a_filter("last", "joined"), a_join("kept", "others"), a_filter(), an_aggregate(), sources=(EVENTS, OTHERS)
    )
    both = frozenset(("events", "others"))
    assert network.roots() == {
        "events": {"events"},
        "others": {"others"},
        "kept": {"events"},
        "counted": {"events"},
        "joined": both,
        "last": both,
    }


@given(networks())
def test_every_stream_has_roots(network: Network) -> None:
    assert set(network.roots()) == set(network.streams)
    assert all(network.roots().values())


def test_operators_of_one_table_are_one_unit() -> None:
    first = TableWrite(name="first", input="events", into="latest")
    second = TableWrite(name="second", input="kept", into="latest")
    read = TableRead(
        name="read", input="events", from_table="prices", on=(KeyPair("key", "key"),), columns=("list_price",)
    )
    network = a_network(first, a_filter(), read, second, tables=(PRICES, LATEST))
    assert [[operator.name for operator in unit] for unit in network.units()] == [
        ["first", "second"],
        ["kept"],
        ["read"],
    ]


@given(networks())
def test_units_hold_every_operator_once_in_declared_order(network: Network) -> None:
    units = network.units()
    assert sorted(operator.name for unit in units for operator in unit) == sorted(o.name for o in network.operators)
    firsts = [network.operators.index(unit[0]) for unit in units]
    assert firsts == sorted(firsts)


def test_an_operator_and_a_table_of_one_name_are_two_units() -> None:
    write = TableWrite(name="w", input="events", into="latest")
    assert len(a_network(a_filter("latest"), write, tables=(LATEST,)).units()) == 2


def test_a_chain_of_ten_thousand_operators_is_checked_in_seconds() -> None:
    links = [a_filter(f"f{j}", f"f{j - 1}" if j else "events", f"amount > {j}") for j in range(10_000)]
    started = time.process_time()
    network = a_network(*links)
    # About 1.5 s, nine tenths of it parsing SQL; the bound only catches what grows with the square.
    assert time.process_time() - started < 30
    assert len(network.order) == 10_000
    assert network.roots()["f9999"] == {"events"}


def test_a_network_is_short_in_text_and_a_picture_in_a_notebook() -> None:
    network = sample_network(OPERATORS["switch"].samples[0])
    assert repr(network) == "<Network sample: 1 source, 1 operator, 3 outputs>"
    html = network._repr_html_()
    assert html.startswith('<img alt="&lt;Network sample')
    drawing = base64.b64decode(html.partition("base64,")[2].partition('"')[0]).decode()
    assert drawing == svg(network)

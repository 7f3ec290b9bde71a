from __future__ import annotations

import pytest
from hypothesis import given

from drover.network.check import examine
from drover.network.model import Network
from drover.network.operators import Operator, Switch, Union
from tests.network.cases import EVENTS, a_filter, faults_of, named, parts_of
from tests.strategies import networks


def chain(*links: str) -> list[Operator]:
    """Return a filter for each `name < input`, or a union for `name < input + input`."""
    made: list[Operator] = []
    for link in links:
        name, _, text = link.partition(" < ")
        inputs = text.split(" + ")
        made.append(a_filter(name, inputs[0]) if len(inputs) == 1 else Union(name=name, streams=tuple(inputs)))
    return made


@pytest.mark.parametrize(
    ("links", "order"),
    [
        pytest.param(["a < events", "b < a"], "a b", id="declared in order"),
        pytest.param(["b < a", "a < events"], "a b", id="declared backwards"),
        pytest.param(["a < events", "b < events", "c < a"], "a b c", id="an order that was declared stays"),
        pytest.param(["x < a", "a < events", "b < events"], "a x b", id="of the free ones, the first declared"),
        pytest.param(["u < b + a", "a < events", "b < events"], "a b u", id="a union waits for both"),
    ],
)
def test_operators_come_after_those_they_read(links: list[str], order: str) -> None:
    found = examine(parts_of(chain(*links)))
    assert found.faults == ()
    assert [operator.name for operator in found.order] == order.split()


@given(networks())
def test_order_is_topological_and_holds_every_operator_once(network: Network) -> None:
    made = {source.name for source in network.sources}
    for operator in network.order:
        assert set(operator.inputs) <= made
        made |= set(operator.outputs)
    assert sorted(operator.name for operator in network.order) == sorted(o.name for o in network.operators)


@given(networks())
def test_a_network_declared_in_its_own_order_keeps_it(network: Network) -> None:
    sorted_network = Network(network.name, network.sources, network.order, network.outputs, network.tables)
    assert sorted_network.order == network.order


@pytest.mark.parametrize(
    ("links", "cycles"),
    [
        pytest.param(["a < a"], ["a -> a"], id="an operator that reads itself"),
        pytest.param(["a < c", "b < a", "c < b"], ["a -> b -> c -> a"], id="three in a ring"),
        pytest.param(["a < b", "b < a", "c < d", "d < c"], ["a -> b -> a", "c -> d -> c"], id="two cycles apart"),
        pytest.param(["t < a", "v < t", "a < b", "b < a"], ["a -> b -> a"], id="a tail behind a cycle is no fault"),
        pytest.param(["a < b", "b < a", "u < a + c", "c < u"], ["a -> b -> a", "u -> c -> u"], id="one behind another"),
        pytest.param(["u < a + c", "c < u", "a < b", "b < a"], ["u -> c -> u", "a -> b -> a"], id="in either order"),
        pytest.param(["u < a + b", "a < u", "b < u"], ["u -> a -> u"], id="two that share an operator are one fault"),
        pytest.param(["a < events", "b < a", "c < c + b"], ["c -> c"], id="what comes before a cycle is no fault"),
    ],
)
def test_cycles(links: list[str], cycles: list[str]) -> None:
    faults = faults_of(*chain(*links, "z < events"))
    assert [fault.value for fault in faults] == ["part of a cycle"] * len(cycles)
    assert [fault.rule.partition("this is one: ")[2] for fault in faults] == cycles
    assert [fault.path for fault in faults] == [("operators", cycle.split()[0]) for cycle in cycles]


def test_a_cycle_hides_only_the_columns_of_operators_on_and_after_it() -> None:
    operators = [
        *chain("a < b", "b < a"),
        a_filter("tail", "a", "nothing = 1"),
        a_filter("free", "events", "nothing = 1"),
    ]
    paths = [fault.path for fault in faults_of(*operators)]
    assert paths == [("operators", "a"), ("operators", "free", "where")]


@pytest.mark.parametrize(
    ("links", "faulty"),
    [
        pytest.param(["a < events", "a < events"], [("operators", "a")], id="side by side"),
        pytest.param(["a < events", "a < a"], [("operators", "a")], id="the second reads the first: no cycle"),
        pytest.param(["a < events", "b < a", "a < b"], [("operators", "a")], id="behind each other: no cycle"),
        pytest.param(["a < a", "a < events"], [("operators", "a"), ("operators", "a")], id="the first reads itself"),
        pytest.param(["events < events"], [("operators", "events")], id="an operator named like the source it reads"),
    ],
)
def test_operators_of_one_name(links: list[str], faulty: list[tuple[str, str]]) -> None:
    faults = faults_of(*chain(*links, "z < events"))
    assert [fault.path for fault in faults] == faulty, [str(fault) for fault in faults]


def test_two_switches_of_one_name_that_read_each_other_are_a_cycle() -> None:
    first = Switch(name="s", input="s.b", cases=named({"a": "key > 0"}))
    second = Switch(name="s", input="s.b", cases=named({"b": "key > 0"}))
    rules = [fault.rule for fault in faults_of(first, second, a_filter())]
    assert rules == [
        "there is another of that name among the operators",
        "a network has no cycles, and this is one: s -> s",
    ]


def test_an_operator_listed_twice_is_a_repeated_name() -> None:
    twice = a_filter()
    assert [fault.path for fault in faults_of(twice, twice)] == [("operators", "kept")]


LONG = 10_000


def test_a_long_cycle_is_one_fault() -> None:
    ring = [a_filter(f"f{j}", f"f{(j - 1) % LONG}") for j in range(LONG)]
    (fault,) = faults_of(*ring, a_filter())
    assert fault.path == ("operators", "f0")
    assert "f0 -> f1 -> f2 -> " in fault.rule
    assert fault.rule.endswith("-> f9999 -> f0")
    assert "... (10000 operators)" in fault.rule
    assert len(str(fault)) < 400


def test_a_long_chain_declared_backwards_is_put_in_order() -> None:
    links = [a_filter(f"f{j}", f"f{j - 1}" if j else "events") for j in range(LONG)]
    found = examine(parts_of(links[::-1], sources=[EVENTS]))
    assert found.faults == ()
    assert list(found.order) == links

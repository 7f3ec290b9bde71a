from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from drover.network.files.network_file import loads
from drover.network.model import Network
from drover.placement.plan import Plan, round_robin, unit_of, units_of
from drover.web import templates
from drover.web.report import RunFiles, build_report
from drover.web.report.network import draw_network
from tests.cli.golden import GOLDEN
from tests.strategies import networks
from tests.web.parsed import Node, parse


def drawn(network: Network, plan: Plan | None) -> Node:
    drawing = draw_network(build_report(RunFiles("x", network.name, network, plan)), network)
    template = '{% from "network.svg.j2" import draw_network %}{{ draw_network(drawing) }}'
    return parse(templates._environment().from_string(template).render(drawing=drawing))


def boxes(root: Node) -> dict[str, str]:
    """The text of each box, by kind and name."""
    return {next(group.all("title")).text.partition(":")[0]: group.text for group in root.all("g")}


@given(network=networks(), nodes=st.integers(1, 9))
@settings(max_examples=25)
def test_every_operator_says_its_node(network: Network, nodes: int) -> None:
    plan = round_robin(network, nodes)
    found = boxes(drawn(network, plan))
    for operator in network.operators:
        assert f"node {plan.node_of[unit_of(operator)]}" in found[f"{operator.kind} {operator.name}"]


def test_operators_of_one_table_say_that_they_share_a_unit() -> None:
    network = loads((GOLDEN / "every_kind.yaml").read_text(encoding="utf-8"))
    found = boxes(drawn(network, round_robin(network, 2)))
    shared = [operator for operator in network.operators if operator.table is not None]
    assert shared
    assert all(f" of {unit_of(one)}" in found[f"{one.kind} {one.name}"] for one in shared)


def test_streams_between_nodes_are_thick() -> None:
    network = loads((GOLDEN / "every_kind.yaml").read_text(encoding="utf-8"))
    together = Plan(1, 2, dict.fromkeys(units_of(network), 0))
    lone = network.operators[-1]
    apart = replace(together, node_of={**together.node_of, unit_of(lone): 1})
    for plan, some in ((together, False), (apart, True)):
        thick = [path for path in drawn(network, plan).all("path") if "crossing" in path.attributes["class"]]
        assert bool(thick) == some


def test_without_a_plan_no_node_is_named_and_a_new_unit_has_none() -> None:
    network = loads((GOLDEN / "every_kind.yaml").read_text(encoding="utf-8"))
    assert not any("node " in text for text in boxes(drawn(network, None)).values())
    first = network.operators[0]
    partial = Plan(1, 1, {unit: 0 for unit in units_of(network) if unit != unit_of(first)})
    assert "not placed yet" in boxes(drawn(network, partial))[f"{first.kind} {first.name}"]

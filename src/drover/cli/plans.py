"""Plans as options of commands: the name of a starting plan, or a file."""

from __future__ import annotations

from collections.abc import Iterator

from drover.cli.inputs import read_input
from drover.errors import DroverError, Fault, FileError, nearest, shorten
from drover.network.files.codecs import SEED, fault_at
from drover.network.files.document import Fields, Node, file_fault, read_document
from drover.network.files.gather import Gatherer
from drover.network.files.lines import by_line
from drover.network.model import Network
from drover.network.schema import known
from drover.placement.plan import Plan, units_of
from drover.placement.starting_plans import DEFAULT_NODES, STARTING_PLANS


def plan_of(text: str, network: Network, nodes: int | None) -> Plan:
    """Return the plan that `text` names: a starting plan for this many nodes, or a file, which has its own number."""
    if text in STARTING_PLANS:
        return STARTING_PLANS[text](network, nodes or DEFAULT_NODES)
    try:
        plan = read_plan(read_input(text), network)
    except FileError as error:
        if near := nearest(text, STARTING_PLANS):
            raise DroverError(
                f"plan is {shorten(text)}, but there is no such plan and no such file. "
                f"{near}Known: {known(STARTING_PLANS)}."
            ) from error
        raise
    if nodes is not None and nodes != plan.nodes:
        raise DroverError(f"the plan is for {plan.nodes} nodes, but --nodes says {nodes}. Leave --nodes out.")
    return plan


def read_plan(text: str, network: Network) -> Plan:
    """Return the plan in a YAML or JSON text with `nodes` and `node_of`; FileError lists every fault with its line."""
    document = read_document(text)
    if document.root is None or document.faults:
        raise FileError(by_line(document.faults))
    entries = {key.text: value for key, value in document.root.entries}
    if "node_of" not in entries:
        way_out = f"Write nodes: 4 and node_of: {{unit: 0, ...}}, or name one of {', '.join(STARTING_PLANS)}."
        raise FileError([file_fault("no plan", "a plan file has node_of, the node of each unit", way_out)])
    gatherer = Gatherer()
    places = dict(_places(entries["node_of"], gatherer))
    most = max(places.values(), default=0) + 1
    nodes = gatherer.value(("nodes",), SEED.read(entries["nodes"])) if "nodes" in entries else most
    number = gatherer.value(("number",), SEED.read(entries["number"])) if "number" in entries else 1
    faults = [*gatherer.faults, *_unit_faults(entries["node_of"], network)]
    if faults:
        raise FileError(by_line(faults))
    return Plan(number, nodes, places)


def _places(node: Node, gatherer: Gatherer) -> Iterator[tuple[str, int]]:
    for key, value in gatherer.entries("node_of", node):
        yield key.text, gatherer.value(("node_of", key.text), SEED.read(value))


def _unit_faults(node: Node, network: Network) -> Iterator[Fault]:
    if not isinstance(node, Fields):
        return
    units = units_of(network)
    found = {key.text: key for key, _ in node.entries}
    for name, key in found.items():
        if name not in units:
            way_out = f"{nearest(name, units)}Known: {known(units)}."
            yield Fault(("node_of", name), "unknown", "the network has no such unit", way_out, key.line)
    for unit in units:
        if unit not in found:
            yield fault_at(node, f"every unit needs a node, and {unit} has none", f"Add {unit}: 0.", ("node_of",))

"""The tree of nodes that a network runs on, from a run file or a Python mapping.

Rule 1: one table of fields reads files, mappings and stored checkpoints, and reports all faults at once.
Rule 2: nodes are numbered in declaration order; a plan refers to these numbers.
Rule 3: this module knows only trees. Other modules check whether a tree fits a network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from drover.errors import DroverError, Fault, ProblemError, nearest, shorten
from drover.hierarchy.layout import LEAST, MARKS, MOST, RESOURCES, name_faults
from drover.hierarchy.thresholds import Size, TreeThresholds
from drover.hierarchy.tree import ROOT, Tree
from drover.network.files import codecs
from drover.network.files.codecs import Decoded, MapOf, Plain, Text, fault_at
from drover.network.files.document import Fields, Items, Node, Scalar
from drover.network.files.field import EMPTY, NONE, Field
from drover.network.files.gather import Gatherer
from drover.network.files.lines import placed
from drover.network.schema import known

NODE: Final = (
    Field("parent", codecs.NAME, "the node that it sends to; omit it for the root", NONE),
    Field("memory", codecs.RATIO, "capacity in bytes of state; set it on all nodes or on none", NONE),
    Field("cpu", codecs.RATIO, "capacity in busy seconds per second; set it on all nodes or on none", NONE),
    Field("sources", codecs.STREAMS, "the sources whose rows enter at this node", EMPTY),
)
AT: Final = MapOf(
    Text("the name of a node", "east"),
    "a mapping of units to nodes",
    "mean: east",
    lambda unit, node: (unit, node),
    lambda pair: pair,
)
CLUSTERS: Final = (
    Field("tree", Text("a mapping of nodes to their fields", ""), "the nodes; exactly one of them has no parent"),
    Field("marks", Text("a mapping of thresholds", ""), "when nodes offer operators and ask for operators", EMPTY),
    Field("at", AT, "start nodes of units; by default, the lowest node that all inputs pass", EMPTY),
)
SECTIONS: Final = tuple(row.name for row in CLUSTERS)
SAYS: Final = "a mapping with a tree of nodes"
EXAMPLE: Final = "{tree: {city: {memory: 2e6}, east: {parent: city, memory: 1e6, sources: [readings]}}}"


@dataclass(frozen=True, slots=True)
class TreeCluster:
    """A tree of nodes, i of n, with their capacities and the entry nodes of sources."""

    nodes: tuple[str, ...]  # (n,) names
    tree: Tree
    resources: tuple[str, ...]  # counted resources: memory in bytes of state, cpu in busy seconds per second
    capacity: tuple[Size, ...]  # (n,) in the order of `resources`
    entries: Mapping[str, int]  # entry node of each source
    thresholds: TreeThresholds = field(default_factory=TreeThresholds)
    at: Mapping[str, int] = field(default_factory=dict)  # start node of a unit; other units start as low as possible

    def __post_init__(self) -> None:
        """Freeze the mappings."""
        object.__setattr__(self, "entries", MappingProxyType(dict(self.entries)))
        object.__setattr__(self, "at", MappingProxyType(dict(self.at)))

    def label(self, node: int) -> str:
        """Return a node as messages show it: its number, which commands take, and its name."""
        return f"node {node} ({self.nodes[node]})"


@dataclass(frozen=True, slots=True)
class TreeClusterCodec:
    """How a run file states a tree."""

    says: str = SAYS
    stand_in: TreeCluster | None = None

    def read(self, node: Node) -> Decoded[TreeCluster | None]:
        """Return the tree, or every fault."""
        if not isinstance(node, Fields):
            return Decoded(None, (fault_at(node, f"it must be {SAYS}", f"Write, for example, {EXAMPLE}."),))
        gatherer = Gatherer()
        found = {key.text: value for key, value in node.entries}
        gatherer.refuse_unknown(node, (), SECTIONS, "a cluster")
        if "tree" not in found:
            gatherer.missing(("tree",), node.line, "a cluster is a tree of nodes", "{city: {memory: 2e6}}", said=False)
        nodes = {
            key.text: gatherer.fields(("tree", key.text), key, content, NODE, "a node")[0]
            for key, content in gatherer.entries("tree", found.get("tree"))
        }
        given = found.get("marks", Fields((), node.line))
        marks = gatherer.fields(("marks",), Scalar("marks", node.line), given, MARKS, "the section marks")[0]
        pairs = gatherer.value(("at",), AT.read(found["at"])) if "at" in found else ()
        # The checks below compare names, which is possible only if all fields could be read.
        if gatherer.faults:
            return Decoded(None, tuple(gatherer.faults))
        at = dict(pairs)
        if faults := placed(_faults(nodes, marks, at), node):
            return Decoded(None, tuple(faults))
        return Decoded(_build(nodes, marks, at))

    def write(self, value: TreeCluster | None) -> Plain:
        """Return the tree as plain values for a file."""
        assert value is not None
        marks = value.thresholds
        return {
            "tree": {name: _written(value, i) for i, name in enumerate(value.nodes)},
            "marks": {row.name: repr(getattr(marks, row.name)) for row in MARKS},
            "at": {unit: value.nodes[node] for unit, node in value.at.items()},
        }


CLUSTER: Final = TreeClusterCodec()


def cluster_of(given: TreeCluster | Mapping[str, Any]) -> TreeCluster:  # Any: as in a file
    """Return a tree from names and values as in a run file, or unchanged; a DroverError lists the faults."""
    if isinstance(given, TreeCluster):
        return given
    read = CLUSTER.read(_noded(given))
    if read.value is None:
        found = [replace(fault.under("cluster"), line=None) for fault in read.faults]
        raise DroverError("; ".join(str(fault) for fault in found))
    return read.value


def _noded(given: object) -> Node:
    """Return Python values as the nodes of a parsed file."""
    if isinstance(given, Mapping):
        named = [str(key) for key in given]
        for name in named:
            if named.count(name) > 1:  # for example 1 and "1"
                raise DroverError(
                    f"cluster has {shorten(name)} twice, but keys are compared as text. Rename one of them."
                )
        return Fields(tuple((Scalar(str(key), 0), _noded(value)) for key, value in given.items()), 0)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return Items(tuple(map(_noded, given)), 0)
    return Scalar("" if given is None else str(given), 0)


def _written(cluster: TreeCluster, node: int) -> Plain:
    parent = cluster.tree.parent[node]
    sources: list[Plain] = [source for source, at in cluster.entries.items() if at == node]
    body: dict[str, Plain] = {} if parent == ROOT else {"parent": cluster.nodes[parent]}
    body |= {name: repr(size) for name, size in zip(cluster.resources, cluster.capacity[node], strict=True)}
    return body | ({"sources": sources} if sources else {})


Given = Mapping[str, Mapping[str, Any]]  # Any: by field of a node


def _faults(nodes: Given, marks: Mapping[str, float], at: Mapping[str, str]) -> Iterator[Fault]:
    """Yield the contradictions within a tree."""
    unknown = [name for name, node in nodes.items() if node["parent"] is not None and node["parent"] not in nodes]
    yield from (_no_node(("tree", name, "parent"), nodes[name]["parent"], nodes) for name in unknown)
    yield from (_no_node(("at", unit), node, nodes) for unit, node in at.items() if node not in nodes)
    yield from name_faults("tree", nodes)
    if not unknown:
        yield from _shape_faults(nodes)
    yield from _capacity_faults(nodes)
    seen: dict[str, str] = {}
    for name, node in nodes.items():
        for source in node["sources"]:
            if source in seen:
                rule = f"it already enters at {seen[source]}, and a source enters at one node"
                yield Fault(
                    ("tree", name, "sources"), shorten(source), rule, "Name it at one node, or split the source."
                )
            seen.setdefault(source, name)
    try:
        TreeThresholds(**marks)
    except ProblemError as error:
        rule, _, way_out = str(error).partition(". ")
        yield Fault(("marks",), "inconsistent", rule, way_out)


def _no_node(path: tuple[str, ...], name: str, nodes: Given) -> Fault:
    return Fault(path, shorten(name), "no node has that name", f"{nearest(name, nodes)}Known: {known(nodes)}.")


def _shape_faults(nodes: Given) -> Iterator[Fault]:
    """Yield why the nodes do not form a tree; all parents exist."""
    roots = [name for name, node in nodes.items() if node["parent"] is None]
    if len(roots) != 1:
        found = f"with the roots {known(roots)}" if roots else "without a root"
        yield Fault(("tree",), found, "a tree has one node without a parent", "Give all nodes but one a parent.")
        return
    rooted = {roots[0]}
    for name in nodes:
        way = dict[str, None]()
        at = name
        while at not in rooted and at not in way:
            way[at] = None
            at = nodes[at]["parent"]
        # One cycle is enough to report: all nodes below it would be reported, too.
        if at not in rooted:
            rule = f"through {' and '.join([*way, at][1:4])} it never reaches the root {roots[0]}"
            yield Fault(
                ("tree", name, "parent"), shorten(nodes[name]["parent"]), rule, "Choose a parent nearer to the root."
            )
            return
        rooted.update(way)


def _capacity_faults(nodes: Given) -> Iterator[Fault]:
    counted = _resources(nodes)
    for name, node in nodes.items():
        lacking = [each for each in counted or RESOURCES[:1] if node[each] is None]
        if lacking:
            rule = "all nodes state the same resources"
            yield Fault(("tree", name, lacking[0]), "missing", rule, f"Add, for example, {lacking[0]}: 1.")
        for each in counted:
            if node[each] is not None and not LEAST <= node[each] <= MOST:
                rule = f"a capacity is above 0 and at most {MOST:g}"
                yield Fault(("tree", name, each), f"{node[each]:g}", rule, "Write another number.")


def _resources(nodes: Given) -> tuple[str, ...]:
    return tuple(each for each in RESOURCES if any(node[each] is not None for node in nodes.values()))


def _build(nodes: Given, marks: Mapping[str, float], at: Mapping[str, str]) -> TreeCluster:
    number = {name: i for i, name in enumerate(nodes)}
    counted = _resources(nodes)
    return TreeCluster(
        tuple(nodes),
        Tree(tuple(ROOT if node["parent"] is None else number[node["parent"]] for node in nodes.values())),
        counted,
        tuple(tuple(float(node[each]) for each in counted) for node in nodes.values()),
        {source: number[name] for name, node in nodes.items() for source in node["sources"]},
        TreeThresholds(**marks),
        {unit: number[node] for unit, node in at.items()},
    )

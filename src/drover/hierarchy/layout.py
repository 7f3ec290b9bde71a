"""Tree files in YAML: the nodes, their addresses, and the operators that each node starts with.

Rule 1: reading a file reports all its faults at once, each with its line, as for a network file.
Rule 2: nodes and operators are numbered in file order. Files with the same numbering have the same digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from drover.errors import Fault, FileError, ProblemError, nearest, shorten
from drover.hierarchy.node_state import NodeConfig, Timing
from drover.hierarchy.queries import Queries, placement_faults
from drover.hierarchy.thresholds import Size, TreeThresholds
from drover.hierarchy.tree import ROOT, Tree
from drover.network.files import codecs
from drover.network.files.codecs import ListOf, Text, fault_at
from drover.network.files.disk import read_text
from drover.network.files.document import Document, Fields, Scalar, file_fault, read_document
from drover.network.files.field import EMPTY, NONE, Default, Field, table_lines
from drover.network.files.gather import Gatherer
from drover.network.files.lines import by_line, placed
from drover.network.schema import known

VERSION: Final = "1"
RESOURCES: Final = ("memory", "cpu")
LEAST: Final = 1e-9  # smallest amount of a resource: below it, levels would overflow
MOST: Final = 1e300  # largest amount or size: the sum of ten million of them stays finite
LONGEST_NAME: Final = 128
NAME_RULE: Final = f"a name has 1 to {LONGEST_NAME} characters, all of them printable"
NODES: Final = ListOf(Text("the name of a node", "east"), "a list of nodes")
OPERATORS: Final = ListOf(Text("the name of an operator", "mean"), "a list of operators")

NODE: Final = (
    Field("parent", codecs.NAME, "the node that it sends to; omit it for the root", NONE),
    Field("address", Text("an address, host:port", "127.0.0.1:7001"), "the address that its agent listens on", NONE),
    Field("memory", codecs.RATIO, "its capacity, in any unit", NONE),
    Field("cpu", codecs.RATIO, "its capacity, in any unit", NONE),
)
OPERATOR: Final = (
    Field("inputs", OPERATORS, "the operators whose output it reads", EMPTY),
    Field("entries", NODES, "the nodes at which the sources enter that it reads directly", EMPTY),
    Field("at", codecs.NAME, "the node that runs it at the start"),
    Field("memory", codecs.RATIO, "its size until it is measured", Default(0.0)),
    Field("cpu", codecs.RATIO, "its size until it is measured", Default(0.0)),
)
MARKS: Final = (
    Field("lower", codecs.RATIO, "fraction of capacity below which a node asks for operators", Default(0.4)),
    Field("upper", codecs.RATIO, "fraction of capacity above which a node offers operators", Default(0.6)),
    Field("margin", codecs.RATIO, "fraction that an accepting node leaves free below `upper`", Default(0.01)),
    Field("least", codecs.RATIO, "smallest transfer, as a fraction of the giver's capacity", Default(0.01)),
)
TIMING: Final = (
    Field("period", codecs.SECONDS, "time between two checks of a node's own level", Default(5.0)),
    Field("patience", codecs.SECONDS, "how long to wait for an answer before asking again", Default(0.5)),
    Field("tries", codecs.SEED, "how often to send a request", Default(3)),
)
SECTIONS: Final = ("tree", "marks", "timing", "nodes", "operators")
TABLES: Final = {"A node": NODE, "An operator": OPERATOR, "`marks`": MARKS, "`timing`, in seconds": TIMING}


@dataclass(frozen=True, slots=True)
class TreeFile:
    """The content of a tree file."""

    nodes: tuple[str, ...]  # (n,)
    addresses: tuple[str, ...]  # (n,) host:port, or empty
    operators: tuple[str, ...]  # (m,)
    tree: Tree
    queries: Queries
    node_of: tuple[int, ...]  # (m,)
    sizes: tuple[Size, ...]  # (m,) in the order of `resources`
    capacity: tuple[Size, ...]  # (n,)
    resources: tuple[str, ...]
    thresholds: TreeThresholds
    timing: Timing

    @property
    def digest(self) -> str:
        """A hash of what all agents of a tree must agree on: names and inputs, but not addresses."""
        said = [self.nodes, self.tree.parent, self.operators, self.queries.inputs, self.queries.entries, self.resources]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def config(self, node: int) -> NodeConfig:
        """Return the configuration of a node."""
        return NodeConfig(node, self.tree, self.queries, self.capacity[node], self.thresholds, self.timing)

    def initial_sizes(self, node: int) -> dict[int, Size]:
        """Return the operators that a node starts with, and their sizes."""
        return {j: size for j, (at, size) in enumerate(zip(self.node_of, self.sizes, strict=True)) if at == node}

    def node(self, name: str) -> int:
        """Return the number of a node; the error for an unknown name suggests the nearest one."""
        if name not in self.nodes:
            raise FileError(
                [Fault(("nodes", name), "unknown", "the tree has no node of that name", _known(name, self.nodes))]
            )
        return self.nodes.index(name)


def field_lines() -> Iterator[str]:
    """Yield the tables of all fields, as docs/reference/tree-file.md shows them."""
    for title, rows in TABLES.items():
        yield from (line.replace("## ", "### ") for line in table_lines(title, rows))


def read_layout(path: str | os.PathLike[str]) -> TreeFile:
    """Return the content of a tree file; FileError lists every fault with its line."""
    return parse_layout(read_text(path))


def parse_layout(text: str) -> TreeFile:
    """Return the content of a YAML text."""
    document = read_document(text)
    root = document.root
    if root is None:
        raise FileError(by_line([_reworded(fault) for fault in document.faults]))
    return _TreeFileReader(document, root).layout()


# `read_document` words its faults for network files.
WORDS: Final = {
    "a network file names sources": "a tree file names nodes",
    "a network file": "a tree file",
    "`drover: 1` and `name: ...`": f"`tree: {VERSION}`",
    "drover: 1": f"tree: {VERSION}",
}


def _reworded(fault: Fault) -> Fault:
    rule = fault.rule
    way_out = fault.way_out
    for network, tree in WORDS.items():
        rule = rule.replace(network, tree)
        way_out = way_out.replace(network, tree)
    return replace(fault, rule=rule, way_out=way_out)


def _known(name: str, names: Sequence[str]) -> str:
    return f"{nearest(name, names)}Known: {known(names)}."


class _TreeFileReader:
    """Reads one file and collects its faults."""

    def __init__(self, document: Document, root: Fields) -> None:
        self.document = document
        self.root = root
        self.gatherer = Gatherer()
        self.found = {key.text: value for key, value in root.entries}

    def layout(self) -> TreeFile:
        self._version()
        self.gatherer.refuse_unknown(self.root, (), SECTIONS, "a tree file")
        nodes = self._section("nodes", NODE, "a node")
        operators = self._section("operators", OPERATOR, "an operator")
        marks = self._settings("marks", MARKS)
        timing = self._settings("timing", TIMING)
        # Names can be compared only if all fields could be read.
        sense = () if self.gatherer.faults else tuple(_sense(nodes, operators))
        self._refuse((*self.document.faults, *self.gatherer.faults, *placed(sense, self.root)))
        try:
            return _build(nodes, operators, marks, timing)
        except ProblemError as error:
            raise FileError([file_fault("no hierarchy", str(error).rstrip("."), "Correct the file.")]) from error

    def _version(self) -> None:
        mark = self.found.get("tree")
        if mark is None:
            self._refuse(
                [file_fault("not a tree file", "a tree file states its version", f"Begin with `tree: {VERSION}`.")]
            )
        elif not (isinstance(mark, Scalar) and mark.text == VERSION):
            way_out = f"Write tree: {VERSION}, or install a version of drover that reads it."
            self._refuse(
                [fault_at(mark, f"this version of drover reads version {VERSION} of tree files", way_out, ("tree",))]
            )

    def _refuse(self, found: Sequence[Fault]) -> None:
        if found:
            raise FileError(by_line(found))

    def _section(self, name: str, rows: tuple[Field, ...], what: str) -> dict[str, dict[str, Any]]:  # Any: by field
        return {
            key.text: self.gatherer.fields((name, key.text), key, content, rows, what)[0]
            for key, content in self.gatherer.entries(name, self.found.get(name))
        }

    def _settings(self, name: str, rows: tuple[Field, ...]) -> dict[str, Any]:  # Any: by field
        content = self.found.get(name, Fields((), self.root.line))
        return self.gatherer.fields((name,), Scalar(name, content.line), content, rows, f"the section {name}")[0]


def _sense(nodes: Mapping[str, Mapping[str, Any]], operators: Mapping[str, Mapping[str, Any]]) -> Iterator[Fault]:
    """Yield unknown names, invalid addresses, and resources that only some nodes have."""
    counted = _resources(nodes)
    yield from name_faults("nodes", nodes)
    yield from name_faults("operators", operators)
    for name, node in nodes.items():
        if node["parent"] is not None and node["parent"] not in nodes:
            yield Fault(
                ("nodes", name, "parent"), node["parent"], "no node has that name", _known(node["parent"], [*nodes])
            )
        if node["address"] and not _is_address(node["address"]):
            yield Fault(("nodes", name, "address"), node["address"], "it must be host:port", "Write 127.0.0.1:7001.")
        if not counted or any(node[each] is None or not LEAST <= node[each] <= MOST for each in counted):
            rule = f"every node has the same resources, each above 0 and up to {MOST:g}"
            yield Fault(("nodes", name), "missing a resource", rule, f"Set {' and '.join(counted or RESOURCES[:1])}.")
    yield from _operator_sense(nodes, operators)


def name_faults(section: str, names: Iterable[str]) -> Iterator[Fault]:
    """Yield names that are empty, too long, or not printable: they would break the line that shows them."""
    for name in names:
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            yield Fault((section, name), shorten(name), NAME_RULE, "Rename it.")


def _operator_sense(
    nodes: Mapping[str, Mapping[str, Any]], operators: Mapping[str, Mapping[str, Any]]
) -> Iterator[Fault]:
    for name, operator in operators.items():
        for each in (*operator["entries"], operator["at"]):
            if each not in nodes:
                yield Fault(("operators", name), each, "no node has that name", _known(each, [*nodes]))
        for each in operator["inputs"]:
            if each not in operators:
                yield Fault(
                    ("operators", name, "inputs"), each, "no operator has that name", _known(each, [*operators])
                )
        for each in RESOURCES:
            if not 0 <= operator[each] <= MOST:
                rule = f"a size is at least 0, and at most {MOST:g}"
                yield Fault(("operators", name, each), f"{operator[each]:g}", rule, "Correct it.")


def _resources(nodes: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(each for each in RESOURCES if any(node[each] is not None for node in nodes.values()))


def _is_address(text: str) -> bool:
    host, colon, port = text.rpartition(":")
    try:
        host.encode("idna")  # as a connecting socket would encode it
    except UnicodeError:
        return False
    return bool(host and colon and port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536)


def _build(
    nodes: Mapping[str, Mapping[str, Any]],
    operators: Mapping[str, Mapping[str, Any]],
    marks: Mapping[str, Any],
    timing: Mapping[str, Any],
) -> TreeFile:
    place = {name: i for i, name in enumerate(nodes)}
    number = {name: j for j, name in enumerate(operators)}
    resources = _resources(nodes)
    layout = TreeFile(
        nodes=tuple(nodes),
        addresses=tuple(node["address"] or "" for node in nodes.values()),
        operators=tuple(operators),
        tree=Tree(tuple(ROOT if node["parent"] is None else place[node["parent"]] for node in nodes.values())),
        queries=Queries(
            tuple(tuple(number[each] for each in operator["inputs"]) for operator in operators.values()),
            tuple(tuple(place[each] for each in operator["entries"]) for operator in operators.values()),
        ),
        node_of=tuple(place[operator["at"]] for operator in operators.values()),
        sizes=tuple(tuple(operator[each] for each in resources) for operator in operators.values()),
        capacity=tuple(tuple(node[each] for each in resources) for node in nodes.values()),
        resources=resources,
        thresholds=TreeThresholds(**marks),
        timing=Timing(**timing),
    )
    # Checked here, because agents rely on it: a transfer is safe only from a valid placement.
    for fault in placement_faults(layout.tree, layout.queries, layout.node_of):
        raise ProblemError(f"{fault}. Place every operator on a node that all its inputs pass.")
    return layout

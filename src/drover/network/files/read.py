"""Reads the parts of a network from YAML nodes, by the tables of fields.

Rule 1: whatever depends on a bad field is marked as unclear, so that one mistake is not reported twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from drover.errors import Fault, nearest
from drover.network.check import CLEAR, UnreadParts
from drover.network.files.codecs import NAME, STREAM, STREAMS, ListOf, fault_at, show
from drover.network.files.document import MOST_NODES, Fields, Node, Scalar
from drover.network.files.fields import KIND, KINDS, NETWORK, SOURCE, TABLE, VERSION
from drover.network.files.gather import Gatherer, Path
from drover.network.operators import OPERATORS, Operator, Table
from drover.network.parts import Parts, Source
from drover.network.schema import known

OUTPUTS: Final = ListOf(STREAM, "a list of streams", MOST_NODES)
STREAM_FIELDS: Final = frozenset(row.name for fields in KINDS.values() for row in fields if row.reads)
STAND_IN_NAME: Final = "unnamed"


@dataclass(frozen=True, slots=True)
class NetworkDraft:
    """The parts that could be read, and the faults of the rest; no parts if the format has another version."""

    parts: Parts | None
    faults: tuple[Fault, ...] = ()
    spoiled: frozenset[Path] = frozenset()  # paths of fields that could not be read
    unclear: UnreadParts = CLEAR


def read_draft(root: Fields, *, repeats: bool = False) -> NetworkDraft:
    """Return the draft of a document; `repeats` says that some keys were repeated, and dropped."""
    nodes = {key.text: value for key, value in root.entries}
    # A file of another version may have other fields. Reporting these as faults would mislead.
    if foreign := _foreign(nodes.get("drover")):
        return NetworkDraft(None, (foreign,))
    drafter = Drafter(reads=repeats)
    meant = drafter.refuse_unknown(root, (), NETWORK, "a network file")
    for name in ("drover", "name", "sources"):
        if name not in nodes:
            drafter.missing((name,), root.line, "a network file must have it", NETWORK[name], name in meant)
    for name in meant:
        drafter.lose(name)
    parts = Parts(
        drafter.value(("name",), NAME.read(nodes["name"])) if "name" in nodes else STAND_IN_NAME,
        drafter.sources(nodes.get("sources")),
        drafter.operators(nodes.get("operators")),
        drafter.value(("outputs",), OUTPUTS.read(nodes["outputs"])) if "outputs" in nodes else (),
        drafter.tables(nodes.get("tables")),
    )
    return NetworkDraft(parts, tuple(drafter.faults), frozenset(drafter.spoiled), drafter.unclear())


def _foreign(node: Node | None) -> Fault | None:
    if node is None or (isinstance(node, Scalar) and node.text == VERSION):
        return None
    way_out = f"Write drover: {VERSION}, or install a drover that knows this version."
    return fault_at(node, f"this drover reads version {VERSION} of the format", way_out, ("drover",))


@dataclass(slots=True)
class Drafter(Gatherer):
    """Reads section by section; `reads` says whether some operator's inputs are unknown."""

    makers: set[str] = field(default_factory=set)
    hidden_tables: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)  # by operators whose kind is unknown

    def unclear(self) -> UnreadParts:
        """Return which parts are unclear."""
        makers = None if self.lost & {"sources", "operators"} else frozenset(self.makers)
        tables = None if "tables" in self.lost else frozenset(self.hidden_tables)
        return UnreadParts(
            makers, tables, frozenset(self.read), self.reads or bool(self.lost & {"operators", "outputs"})
        )

    def sources(self, node: Node | None) -> tuple[Source, ...]:
        """Return the sources."""
        sources = []
        for key, content in self.entries("sources", node):
            values, hides = self.fields(("sources", key.text), key, content, SOURCE, "a source")
            sources.append(Source(name=key.text, **values))
            if hides:
                self.makers.add(key.text)
        return tuple(sources)

    def tables(self, node: Node | None) -> tuple[Table, ...]:
        """Return the tables."""
        tables = []
        for key, content in self.entries("tables", node):
            values, hides = self.fields(("tables", key.text), key, content, TABLE, "a table")
            tables.append(Table(name=key.text, **values))
            if hides:
                self.hidden_tables.add(key.text)
        return tuple(tables)

    def operators(self, node: Node | None) -> tuple[Operator, ...]:
        """Return the operators whose kind is known."""
        operators = []
        for key, content in self.entries("operators", node):
            kind = self._kind(key, content)
            if kind is None:
                self.makers.add(key.text)
                # Nobody knows what this operator makes, so streams with its name count as known, with unknown columns.
                self._note_inputs(content)
                continue
            fields = KINDS[kind]
            values, hides = self.fields(("operators", key.text), key, content, fields, f"kind {kind}", (KIND,))
            operators.append(OPERATORS[kind].model(name=key.text, **values))
            if hides:
                self.makers.add(key.text)
        return tuple(operators)

    def _note_inputs(self, node: Node) -> None:
        """Note what an operator of unknown kind seems to read."""
        entries = node.entries if isinstance(node, Fields) else ()
        found = [STREAMS.read(value) for name, value in entries if name.text in STREAM_FIELDS]
        self.reads |= not found or any(reading.faults for reading in found)
        self.read.update(name for reading in found for name in reading.value)

    def _kind(self, key: Scalar, node: Node) -> str | None:
        path = ("operators", key.text)
        if not isinstance(node, Fields):
            way_out = f"Write for example {key.text}: {{kind: filter, input: requests, where: bytes > 1000}}."
            self.faults.append(
                Fault(path, show(node), "an operator is a mapping of fields to values", way_out, key.line)
            )
            return None
        found = next((value for name, value in node.entries if name.text == KIND), None)
        if found is None:
            rule = "every operator has a kind"
            near = nearest(KIND, [name.text for name, _ in node.entries])
            hint = near.replace("Did you mean", "Did you misspell it as")
            way_out = f"{hint}Add kind: one of {known(KINDS)}."
            self.faults.append(Fault((*path, KIND), "missing", rule, way_out, key.line))
        elif isinstance(found, Scalar) and found.text in KINDS:
            return found.text
        else:
            hint = nearest(found.text, KINDS) if isinstance(found, Scalar) else ""
            way_out = f"{hint}Known: {known(KINDS)}."
            self.faults.append(fault_at(found, "there is no such kind of operator", way_out, (*path, KIND)))
        return None

"""From nodes to the parts of a network, with the help of the table of fields.

Rule 1: a bad field costs only itself: a stand-in takes its place, its path is noted as spoiled, and reading goes on.
Rule 2: what cannot be told because of it is said to be unclear, so that no fault is reported twice under two names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from drover.errors import Fault, nearest, nearest_name
from drover.network.check import CLEAR, MOST_FAULTS, Unclear
from drover.network.files.codecs import NAME, STREAM, STREAMS, ListOf, Reading, fault_at, is_blank, show
from drover.network.files.document import MOST_NODES, Fields, Node, Scalar
from drover.network.files.fields import KIND, KINDS, NETWORK, SOURCE, TABLE, VERSION, Field
from drover.network.operators import OPERATORS, Operator, Table
from drover.network.parts import Parts, Source
from drover.network.schema import known

T = TypeVar("T")
Path: TypeAlias = tuple[str | int, ...]

OUTPUTS: Final = ListOf(STREAM, "a list of streams", MOST_NODES)
STREAM_FIELDS: Final = frozenset(row.name for fields in KINDS.values() for row in fields if row.reads)
STAND_IN_NAME: Final = "unnamed"


@dataclass(frozen=True, slots=True)
class Draft:
    """The parts as far as they could be read, and what is wrong with the rest; None for a format of another version."""

    parts: Parts | None
    faults: tuple[Fault, ...] = ()
    spoiled: frozenset[Path] = frozenset()  # paths of what could not be read
    unclear: Unclear = CLEAR


def read_draft(root: Fields, *, repeats: bool = False) -> Draft:
    """Return what a document says; `repeats` says that some of its keys were repeated and left out."""
    nodes = {key.text: value for key, value in root.entries}
    if foreign := _foreign(nodes.get("drover")):
        return Draft(None, (foreign,))
    drafter = _Drafter(reads=repeats)
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
    return Draft(parts, tuple(drafter.faults), frozenset(drafter.spoiled), drafter.unclear())


def _foreign(node: Node | None) -> Fault | None:
    if node is None or (isinstance(node, Scalar) and node.text == VERSION):
        return None
    way_out = f"Write drover: {VERSION}, or install a drover that knows this version."
    return fault_at(node, f"this drover reads version {VERSION} of the format", way_out, ("drover",))


@dataclass(slots=True)
class _Drafter:
    """Reads section by section and collects what goes wrong."""

    reads: bool  # whether some operator's inputs are unknown
    faults: list[Fault] = field(default_factory=list)
    spoiled: set[Path] = field(default_factory=set)
    makers: set[str] = field(default_factory=set)
    hidden_tables: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)  # by operators whose kind is unknown
    lost: set[str] = field(default_factory=set)  # sections that could not be read at all

    def unclear(self) -> Unclear:
        """Return what cannot be told."""
        makers = None if self.lost & {"sources", "operators"} else frozenset(self.makers)
        tables = None if "tables" in self.lost else frozenset(self.hidden_tables)
        return Unclear(makers, tables, frozenset(self.read), self.reads or bool(self.lost & {"operators", "outputs"}))

    def value(self, path: Path, reading: Reading[T]) -> T:
        """Return what was read, taking down its faults."""
        self.faults += (fault.under(*path) for fault in reading.faults)
        self.spoiled |= {path + fault.path for fault in reading.faults}
        return reading.value

    def missing(self, path: Path, line: int, rule: str, help_text: str, said: bool) -> None:
        """Take down that a field is missing, unless another fault has `said` it already."""
        self.spoiled.add(path)
        if not said:
            self.faults.append(Fault(path, "missing", rule, f"Add {path[-1]}: {help_text}.", line))
        if len(path) == 1:
            self.lose(str(path[0]))

    def lose(self, section: str) -> None:
        """Note that nothing is known about a section."""
        self.lost.add(section)
        self.spoiled.add((section,))

    def refuse_unknown(self, node: Fields, path: Path, names: Collection[str], what: str) -> set[str]:
        """Take down fields that do not exist; return those they were meant to be."""
        present = {key.text for key, _ in node.entries}
        absent = [name for name in names if name not in present]
        meant = set()
        for key, _ in node.entries:
            if key.text not in names:
                hint = ""
                if len(self.faults) < MOST_FAULTS:
                    hint = nearest(key.text, absent) or nearest(key.text, names)
                    meant.add(nearest_name(key.text, absent))
                way_out = f"{hint}Known: {known(names)}."
                self.faults.append(Fault((*path, key.text), "unknown", f"{what} has no such field", way_out, key.line))
        return meant - {""}

    def sources(self, node: Node | None) -> tuple[Source, ...]:
        """Return the sources."""
        sources = []
        for key, content in self._entries("sources", node):
            values, hides = self._fields(("sources", key.text), key, content, SOURCE, "a source")
            sources.append(Source(name=key.text, **values))
            if hides:
                self.makers.add(key.text)
        return tuple(sources)

    def tables(self, node: Node | None) -> tuple[Table, ...]:
        """Return the tables."""
        tables = []
        for key, content in self._entries("tables", node):
            values, hides = self._fields(("tables", key.text), key, content, TABLE, "a table")
            tables.append(Table(name=key.text, **values))
            if hides:
                self.hidden_tables.add(key.text)
        return tuple(tables)

    def operators(self, node: Node | None) -> tuple[Operator, ...]:
        """Return the operators whose kind is known."""
        operators = []
        for key, content in self._entries("operators", node):
            kind = self._kind(key, content)
            if kind is None:
                self.makers.add(key.text)
                self._note_inputs(content)
                continue
            fields = KINDS[kind]
            values, hides = self._fields(("operators", key.text), key, content, fields, f"kind {kind}", (KIND,))
            operators.append(OPERATORS[kind](name=key.text, **values))
            if hides:
                self.makers.add(key.text)
        return tuple(operators)

    def _note_inputs(self, node: Node) -> None:
        """Note what an operator of unknown kind seems to read."""
        entries = node.entries if isinstance(node, Fields) else ()
        found = [STREAMS.read(value) for name, value in entries if name.text in STREAM_FIELDS]
        self.reads |= not found or any(reading.faults for reading in found)
        self.read.update(name for reading in found for name in reading.value)

    def _entries(self, section: str, node: Node | None) -> Iterable[tuple[Scalar, Node]]:
        if node is None or is_blank(node):
            return ()
        if not isinstance(node, Fields):
            way_out = "Write one `name: {...}` per line below it."
            self.faults.append(fault_at(node, f"{section} is a mapping of names to their fields", way_out, (section,)))
            self.lose(section)
            return ()
        return node.entries

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

    def _fields(
        self, path: Path, key: Scalar, node: Node, fields: tuple[Field, ...], what: str, extra: tuple[str, ...] = ()
    ) -> tuple[dict[str, Any], bool]:
        """Return attributes by name, stand-ins where needed, and whether the columns cannot be told."""
        if not isinstance(node, Fields):
            way_out = f"Write {known(field.name for field in fields)} below it."
            self.faults.append(Fault(path, show(node), f"{what} is a mapping of fields to values", way_out, key.line))
            self.spoiled.add(path)
            node = Fields((), key.line)
        entries = {name.text: value for name, value in node.entries}
        meant = self.refuse_unknown(node, path, (*extra, *(field.name for field in fields)), what)
        values: dict[str, Any] = {}
        hides = not entries
        for row in fields:
            found = entries.get(row.name)
            if found is not None:
                before = len(self.faults)
                value = self.value((*path, row.name), row.codec.read(found))
                bad = len(self.faults) > before
            else:
                value, bad = self._left_out((*path, row.name), key.line, row, what, values, row.name in meant)
            values |= dict(zip(row.targets, value if len(row.targets) > 1 else (value,), strict=True))
            hides |= bad and row.hides
            self.reads |= bad and row.reads
        return values, hides

    def _left_out(
        self, path: Path, line: int, row: Field, what: str, values: Mapping[str, Any], said: bool
    ) -> tuple[Any, bool]:
        """Return what a field is that does not stand there, and whether that is a fault."""
        if row.default is None:
            if path[:-1] not in self.spoiled:
                self.missing(path, line, f"{what} needs it", row.help, said)
            return row.codec.stand_in, True
        if said:
            self.spoiled.add(path)
        same_as = row.default.same_as
        return (row.default.value if same_as is None else values[same_as]), said

"""Reads mappings by tables of fields and collects the faults.

Rule 1: a bad field does not stop the reader. A placeholder takes its place, and its path is noted as spoiled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from drover.errors import Fault, nearest, nearest_name
from drover.network.check import MOST_FAULTS
from drover.network.files.codecs import Decoded, fault_at, is_blank, show
from drover.network.files.document import Fields, Node, Scalar
from drover.network.files.field import Field
from drover.network.schema import known

T = TypeVar("T")
Path: TypeAlias = tuple[str | int, ...]


@dataclass(slots=True)
class Gatherer:
    """Reads field by field and collects the faults."""

    reads: bool = False  # whether some field that names streams could not be read
    faults: list[Fault] = field(default_factory=list)
    spoiled: set[Path] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)  # sections that could not be read at all

    def value(self, path: Path, reading: Decoded[T]) -> T:
        """Return the value that was read, and record its faults."""
        self.faults += (fault.under(*path) for fault in reading.faults)
        self.spoiled |= {path + fault.path for fault in reading.faults}
        return reading.value

    def missing(self, path: Path, line: int, rule: str, help_text: str, said: bool) -> None:
        """Record that a field is missing, unless another fault has `said` so."""
        self.spoiled.add(path)
        if not said:
            self.faults.append(Fault(path, "missing", rule, f"Add {path[-1]}: {help_text}.", line))
        if len(path) == 1:
            self.lose(str(path[0]))

    def lose(self, section: str) -> None:
        """Record that a section could not be read."""
        self.lost.add(section)
        self.spoiled.add((section,))

    def refuse_unknown(self, node: Fields, path: Path, names: Collection[str], what: str) -> set[str]:
        """Record fields that do not exist; return the known fields that they probably mean."""
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

    def entries(self, section: str, node: Node | None) -> Iterable[tuple[Scalar, Node]]:
        """Return the names in a section with their values."""
        if node is None or is_blank(node):
            return ()
        if not isinstance(node, Fields):
            way_out = "Write one `name: {...}` per line below it."
            self.faults.append(fault_at(node, f"{section} is a mapping of names to their fields", way_out, (section,)))
            self.lose(section)
            return ()
        return node.entries

    def fields(
        self, path: Path, key: Scalar, node: Node, fields: tuple[Field, ...], what: str, extra: tuple[str, ...] = ()
    ) -> tuple[dict[str, Any], bool]:
        """Return attributes by name, with placeholders for bad ones, and whether the columns remain unknown."""
        if not isinstance(node, Fields):
            way_out = f"Write {known(field.name for field in fields)} below it."
            self.faults.append(Fault(path, show(node), f"{what} is a mapping of fields to values", way_out, key.line))
            self.spoiled.add(path)
            # Go on with an empty mapping: its missing fields are not reported again, because the path is spoiled.
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
            # A bad field such as a predicate does not change which columns come out. A bad select does: then nothing
            # further down can be checked.
            hides |= bad and row.hides
            self.reads |= bad and row.reads
        return values, hides

    def _left_out(
        self, path: Path, line: int, row: Field, what: str, values: Mapping[str, Any], said: bool
    ) -> tuple[Any, bool]:
        """Return the value of a field that is left out, and whether that is a fault."""
        if row.default is None:
            if path[:-1] not in self.spoiled:
                self.missing(path, line, f"{what} needs it", row.help, said)
            return row.codec.stand_in, True
        if said:
            self.spoiled.add(path)
        same_as = row.default.same_as
        return (row.default.value if same_as is None else values[same_as]), said

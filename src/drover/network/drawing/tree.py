"""A network as a tree of text: each stream is below the one it is computed from.

Rule 1: every operator is shown once; a second path to it ends in a line that refers to the first. Rule 2: a branch
deeper than `DEEPEST` levels is cut, and continues at the left margin.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from drover.errors import one_line
from drover.network.drawing.summary import describe_source, summary
from drover.network.model import Network
from drover.network.operators import Operator

DEEPEST: Final = 16
ABOVE: Final = "(shown above)"
BELOW: Final = "(goes on below)"
OUTPUT: Final = "=> output"


@dataclass(frozen=True, slots=True)
class Guides:
    """The characters that draw the branches."""

    stem: str
    fork: str
    last: str
    gap: str = "   "


LINES: Final = Guides("│  ", "├─ ", "└─ ")
ASCII: Final = Guides("|  ", "|- ", "`- ")


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One line: its guide, a name, a kind, a note, and a mark for outputs."""

    guide: str
    name: str
    kind: str
    note: str
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.guide}{'  '.join(word for word in (self.name, self.kind, self.note, self.mark) if word)}"


@dataclass(frozen=True, slots=True)
class _Branch:
    """An operator, or a stream of a switch, that is still to be shown."""

    item: Operator | str
    stems: tuple[bool, ...]  # for each level above: whether more follows there
    is_last: bool


def tree(network: Network, guides: Guides = LINES, *, schemas: bool = False) -> tuple[TreeLine, ...]:
    """Return the network as rows, in the order of sources; with `schemas`, each stream with its columns and types."""
    return tuple(_TreeBuilder(network, guides, schemas).rows())


class _TreeBuilder:
    def __init__(self, network: Network, guides: Guides, schemas: bool) -> None:
        self.network = network
        self.guides = guides
        self.schemas = schemas
        self.outputs = frozenset(network.outputs)
        self.shown: set[str] = set()
        self.cut: deque[Operator] = deque()  # branches that continue below

    def rows(self) -> Iterator[TreeLine]:
        for source in self.network.sources:
            note = self._note(source.name, describe_source(source))
            yield TreeLine("", source.name, "source", note, self._mark(source.name))
            yield from self._below(self._readers(source.name, ()))
        while self.cut:
            operator = self.cut.popleft()
            if operator.name not in self.shown:
                yield from self._below([_Branch(operator, (), True)], root=True)
        for table in self.network.tables:
            note = f"key {', '.join(table.key)}; {table.schema if self.schemas else ', '.join(table.schema.names)}"
            yield TreeLine("", table.name, "table", one_line(note))

    def _note(self, stream: str, note: str) -> str:
        return one_line(str(self.network.streams[stream])) if self.schemas and stream in self.network.streams else note

    def _readers(self, stream: str, stems: tuple[bool, ...]) -> list[_Branch]:
        readers = self.network.readers[stream]
        return [_Branch(item, stems, index == len(readers) - 1) for index, item in enumerate(readers)]

    def _mark(self, stream: str) -> str:
        return OUTPUT if stream in self.outputs else ""

    def _below(self, branches: list[_Branch], *, root: bool = False) -> Iterator[TreeLine]:
        """Yield a row for each branch and everything below it, without recursion."""
        stack = branches[::-1]
        while stack:
            branch = stack.pop()
            guide = "" if root and not branch.stems and isinstance(branch.item, Operator) else self._guide(branch)
            below = branch.stems if guide == "" else (*branch.stems, not branch.is_last)
            if isinstance(branch.item, str):
                yield TreeLine(guide, branch.item, "", self._note(branch.item, ""), self._mark(branch.item))
                children = self._readers(branch.item, below)
            else:
                row, children = self._operator(branch.item, guide, below)
                yield row
            stack += children[::-1]

    def _operator(self, operator: Operator, guide: str, below: tuple[bool, ...]) -> tuple[TreeLine, list[_Branch]]:
        # An operator with several inputs is reached several times, but shown once, where it is reached first.
        if operator.name in self.shown:
            return TreeLine(guide, operator.name, operator.kind, ABOVE), []
        if len(below) > DEEPEST:
            self.cut.append(operator)
            return TreeLine(guide, operator.name, operator.kind, BELOW), []
        self.shown.add(operator.name)
        note = self._note(operator.name, summary(operator))
        row = TreeLine(guide, operator.name, operator.kind, note, self._mark(operator.name))
        if not operator.branches:
            readers = [branch for stream in operator.outputs for branch in self._readers(stream, below)]
            return row, readers
        last = len(operator.outputs) - 1
        return row, [_Branch(stream, below, index == last) for index, stream in enumerate(operator.outputs)]

    def _guide(self, branch: _Branch) -> str:
        stems = (self.guides.stem if more else self.guides.gap for more in branch.stems)
        return "".join(stems) + (self.guides.last if branch.is_last else self.guides.fork)

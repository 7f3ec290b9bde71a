"""YAML text as a tree of frozen nodes with line numbers.

Rule 1: every scalar stays text. The field that reads `yes` decides whether it is a word or a truth value. Rule 2: a
loop over parser events builds the tree, so a deep or large file cannot exhaust the stack. Rule 3: anchors, aliases,
tags and merge keys are refused, because a file with them means more than it shows; so is a second document where one is
expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import yaml

from drover.errors import Fault, shorten

DEEPEST: Final = 20  # levels; a network file has five
MOST_NODES: Final = 500_000  # 50,000 operators; libyaml reads as many in about two seconds
MOST_NOTATION_FAULTS: Final = 100  # of anchors and the like; a file with more is not meant for drover
UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # where YAML 1.1 ends a line

LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times faster, where it is installed


@dataclass(frozen=True, slots=True)
class Scalar:
    """A piece of text, and whether it is `quoted`."""

    text: str
    line: int
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    nodes: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping, in the order of the file; its keys are different texts."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int


Node: TypeAlias = Scalar | Items | Fields


@dataclass(frozen=True, slots=True)
class Document:
    """The root of a text, or None if it cannot be parsed, and the faults of notation."""

    root: Fields | None
    faults: tuple[Fault, ...]


def file_fault(value: str, rule: str, way_out: str, line: int | None = None) -> Fault:
    """Return a fault of the file as a whole."""
    return Fault(("file",), value, rule, way_out, line)


def read_document(text: str) -> Document:
    """Return the tree of a YAML text."""
    reader = _DocumentReader()
    fatal = _feed(reader, text)
    return reader.document() if fatal is None else Document(None, (*reader.faults, *fatal))


def read_documents(text: str) -> tuple[tuple[Node, ...], tuple[Fault, ...]]:
    """Return the roots of all documents of a YAML text and the faults of notation; no roots if the notation is bad."""
    reader = _DocumentReader(several=True)
    fatal = _feed(reader, text)
    usable = fatal is None and not reader.spoiled
    return tuple(reader.roots) if usable else (), (*reader.faults, *(fatal or ()))


def _feed(reader: _DocumentReader, text: str) -> tuple[Fault, ...] | None:
    """Feed a text to a reader; return the faults that stopped it, or None if it reached the end."""
    # Some editors put a byte order mark in front. It is not part of the text.
    text = text.removeprefix("\ufeff")
    if bad := UNPRINTABLE.search(text):
        line = 1 + sum(1 for _ in BREAK.finditer(text, 0, bad.start()))
        way_out = "Save the file as plain UTF-8 text; in double quotes it can be written as an escape."
        value = f"holding character U+{ord(bad[0]):04X}"
        return (file_fault(value, "a file is printable text", way_out, line),)
    try:
        for event in yaml.parse(text, Loader=LOADER):
            reader.take(event)
    except _RefusedError as refused:
        return refused.args
    except yaml.MarkedYAMLError as error:
        return (_syntax_fault(error),)
    return None


def _syntax_fault(error: yaml.MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    said = ", ".join(part for part in (error.context, error.problem) if part)
    hint = "Indent with spaces, not tabs. " if "\\t" in said or "tab" in said else ""
    way_out = f"{hint}Correct the notation there or just before; quote texts with special characters."
    return file_fault("not YAML here", f"a network file is YAML ({said})", way_out, mark.line + 1 if mark else None)


class _RefusedError(Exception):
    """Stops the reader; holds the fault."""


@dataclass(slots=True)
class _OpenNode:
    """A list or mapping whose end has not been read yet."""

    line: int
    is_mapping: bool
    nodes: list[Node] = field(default_factory=list)  # the items of a list, or the values of a mapping
    keys: list[Scalar] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)  # of the keys read so far
    key: Scalar | None = None  # the key whose value comes next
    repeated: bool = False  # whether this key came before; its value is then dropped

    def finish(self) -> Node:
        if self.is_mapping:
            return Fields(tuple(zip(self.keys, self.nodes, strict=True)), self.line)
        return Items(tuple(self.nodes), self.line)


class _DocumentReader:
    """Builds the tree, event by event; `several` allows more than one document."""

    def __init__(self, *, several: bool = False) -> None:
        self.several = several
        self.faults: list[Fault] = []
        self.spoiled = False  # whether notation that drover refuses was found
        self.roots: list[Node] = []
        self.open_nodes: list[_OpenNode] = []
        self.count = 0

    def take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.NodeEvent):
            self._count(line)
            self._refuse_extras(event, line)
        if isinstance(event, yaml.ScalarEvent):
            self._add(Scalar(event.value, line, bool(event.style)))
        elif isinstance(event, yaml.AliasEvent):
            # An alias has been reported. An empty scalar keeps the tree complete, so that other faults are found too.
            self._add(Scalar("", line))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(line, isinstance(event, yaml.MappingStartEvent))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add(self.open_nodes.pop().finish(), closed=True)
        elif isinstance(event, yaml.DocumentStartEvent) and self.roots and not self.several:
            raise _RefusedError(file_fault("several documents", "a file holds one network", "Remove this `---`.", line))

    def document(self) -> Document:
        root = self.roots[0] if self.roots else Scalar("", 1)
        faults = list(self.faults)
        if isinstance(root, Scalar) and not root.text and not self.spoiled:
            way_out = "Begin with `drover: 1` and `name: ...`."
            faults.append(file_fault("empty", "a network file names sources and operators", way_out))
        elif not isinstance(root, Fields):
            found = shorten(root.text) if isinstance(root, Scalar) else "a list"
            way_out = "Begin with `drover: 1`."
            faults.append(file_fault(found, "a network file is a mapping of fields to values", way_out, root.line))
        usable = isinstance(root, Fields) and not self.spoiled
        return Document(root if usable and isinstance(root, Fields) else None, tuple(faults))

    def path(self) -> tuple[str | int, ...]:
        """Return the path of the node that comes next."""
        steps = (node.key.text if node.key else len(node.nodes) for node in self.open_nodes if not _waits(node))
        return tuple(steps)

    def _count(self, line: int) -> None:
        self.count += 1
        if self.count > MOST_NODES:
            rule = f"a file has at most {MOST_NODES} keys and values"
            raise _RefusedError(file_fault("too long", rule, "Split it into several files.", line))

    def _open(self, line: int, is_mapping: bool) -> None:
        if self.open_nodes and _waits(self.open_nodes[-1]):
            raise _RefusedError(
                Fault((*self.path(), "?"), "a list or mapping", "a key is a word", "Write `key: value`.", line)
            )
        if len(self.open_nodes) == DEEPEST:
            way_out = "Remove brackets or indentation; five levels are enough."
            raise _RefusedError(file_fault("nested too deeply", f"a file has at most {DEEPEST} levels", way_out, line))
        self.open_nodes.append(_OpenNode(line, is_mapping))

    def _add(self, node: Node, *, closed: bool = False) -> None:
        if not self.open_nodes:
            self.roots.append(node)
            return
        parent = self.open_nodes[-1]
        if not parent.is_mapping:
            parent.nodes.append(node)
        elif parent.key is None and isinstance(node, Scalar) and not closed:
            self._add_key(parent, node)
        else:
            # Of a repeated key, the first value stays. The second one is reported, not merged.
            if not parent.repeated and parent.key is not None:
                parent.keys.append(parent.key)
                parent.nodes.append(node)
            parent.key = None
            parent.repeated = False

    def _add_key(self, parent: _OpenNode, key: Scalar) -> None:
        if key.text == "<<" and not key.quoted:
            path = (*self.path(), key.text)
            self._spoil(
                Fault(
                    path,
                    "a merge key",
                    "a file has no merge keys, so that it means what it shows",
                    "Write it out.",
                    key.line,
                )
            )
        parent.repeated = key.text in parent.lines
        if parent.repeated:
            path = (*self.path(), key.text)
            rule = f"line {parent.lines[key.text]} has the same key"
            self.faults.append(Fault(path, "repeated", rule, "Rename or remove one of the two.", key.line))
        parent.lines.setdefault(key.text, key.line)
        parent.key = key

    def _refuse_extras(self, event: yaml.NodeEvent, line: int) -> None:
        for word, sign, name in _extras(event):
            rule = f"a file has no {word}, so that it means what it shows"
            self._spoil(Fault(self.path() or ("file",), shorten(sign + name), rule, "Write the value itself.", line))

    def _spoil(self, fault: Fault) -> None:
        self.spoiled = True
        self.faults.append(fault)
        if len(self.faults) >= MOST_NOTATION_FAULTS:
            raise _RefusedError


def _waits(parent: _OpenNode) -> bool:
    """Return whether a mapping waits for its next key."""
    return parent.is_mapping and parent.key is None


def _extras(event: yaml.NodeEvent) -> Iterator[tuple[str, str, str]]:
    if isinstance(event, yaml.AliasEvent):
        yield "aliases", "*", event.anchor or ""
    elif event.anchor is not None:
        yield "anchors", "&", event.anchor
    tag = getattr(event, "tag", None)
    if tag is not None:
        yield "tags", "", tag

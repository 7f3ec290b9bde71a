"""YAML text as a tree of frozen nodes that know their lines.

Rule 1: nothing is constructed but text: whether `yes` is a word or a truth is for the field that reads it.
Rule 2: the tree is built from parser events by a loop, so neither depth nor size of a file can exhaust anything.
Rule 3: what makes a file mean more than it shows is refused: anchors, aliases, tags, merge keys, and a second document
where one is meant.
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
MOST_NOTATION_FAULTS: Final = 100  # of anchors and the like; a file with more is not one for drover at all
UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # where YAML 1.1 ends a line

LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times faster, where it is installed


@dataclass(frozen=True, slots=True)
class Scalar:
    """A piece of text; `quoted` unless it stands there bare."""

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
    """What a text says: its root, or None where it cannot be made out, and what is wrong with the notation."""

    root: Fields | None
    faults: tuple[Fault, ...]


def file_fault(value: str, rule: str, way_out: str, line: int | None = None) -> Fault:
    """Return a fault of the file as a whole."""
    return Fault(("file",), value, rule, way_out, line)


def read_document(text: str) -> Document:
    """Return the tree of a YAML text."""
    reader = _Reader()
    fatal = _feed(reader, text)
    return reader.document() if fatal is None else Document(None, (*reader.faults, *fatal))


def read_documents(text: str) -> tuple[tuple[Node, ...], tuple[Fault, ...]]:
    """Return the roots of all documents of a YAML text, and what is wrong with the notation; no roots if it is bad."""
    reader = _Reader(several=True)
    fatal = _feed(reader, text)
    usable = fatal is None and not reader.spoiled
    return tuple(reader.roots) if usable else (), (*reader.faults, *(fatal or ()))


def _feed(reader: _Reader, text: str) -> tuple[Fault, ...] | None:
    """Let a reader take a text; return why it could not go on to the end, or None if it could."""
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
    """Reading on makes no sense; holds the fault."""


@dataclass(slots=True)
class _Frame:
    """A list or mapping in the making."""

    line: int
    is_mapping: bool
    nodes: list[Node] = field(default_factory=list)  # of a mapping: the values
    keys: list[Scalar] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)  # of the keys seen
    key: Scalar | None = None  # that waits for its value
    repeated: bool = False  # so that its value is dropped

    def finish(self) -> Node:
        if self.is_mapping:
            return Fields(tuple(zip(self.keys, self.nodes, strict=True)), self.line)
        return Items(tuple(self.nodes), self.line)


class _Reader:
    """Builds the tree, event by event; `several` documents if there may be more than one."""

    def __init__(self, *, several: bool = False) -> None:
        self.several = several
        self.faults: list[Fault] = []
        self.spoiled = False  # by notation whose meaning drover does not take
        self.roots: list[Node] = []
        self.frames: list[_Frame] = []
        self.count = 0

    def take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.NodeEvent):
            self._count(line)
            self._refuse_extras(event, line)
        if isinstance(event, yaml.ScalarEvent):
            self._add(Scalar(event.value, line, bool(event.style)))
        elif isinstance(event, yaml.AliasEvent):
            self._add(Scalar("", line))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(line, isinstance(event, yaml.MappingStartEvent))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add(self.frames.pop().finish(), closed=True)
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
        steps = (frame.key.text if frame.key else len(frame.nodes) for frame in self.frames if not _waits(frame))
        return tuple(steps)

    def _count(self, line: int) -> None:
        self.count += 1
        if self.count > MOST_NODES:
            rule = f"a file has at most {MOST_NODES} keys and values"
            raise _RefusedError(file_fault("too long", rule, "Split it into several files.", line))

    def _open(self, line: int, is_mapping: bool) -> None:
        if self.frames and _waits(self.frames[-1]):
            raise _RefusedError(
                Fault((*self.path(), "?"), "a list or mapping", "a key is a word", "Write `key: value`.", line)
            )
        if len(self.frames) == DEEPEST:
            way_out = "Remove brackets or indentation; five levels are enough."
            raise _RefusedError(file_fault("nested too deeply", f"a file has at most {DEEPEST} levels", way_out, line))
        self.frames.append(_Frame(line, is_mapping))

    def _add(self, node: Node, *, closed: bool = False) -> None:
        if not self.frames:
            self.roots.append(node)
            return
        frame = self.frames[-1]
        if not frame.is_mapping:
            frame.nodes.append(node)
        elif frame.key is None and isinstance(node, Scalar) and not closed:
            self._add_key(frame, node)
        else:
            if not frame.repeated and frame.key is not None:
                frame.keys.append(frame.key)
                frame.nodes.append(node)
            frame.key, frame.repeated = None, False

    def _add_key(self, frame: _Frame, key: Scalar) -> None:
        if key.text == "<<" and not key.quoted:
            path = (*self.path(), key.text)
            self._spoil(Fault(path, "a merge key", "a file says everything once", "Write it out.", key.line))
        frame.repeated = key.text in frame.lines
        if frame.repeated:
            path = (*self.path(), key.text)
            rule = f"line {frame.lines[key.text]} has the same key"
            self.faults.append(Fault(path, "repeated", rule, "Rename or remove one of the two.", key.line))
        frame.lines.setdefault(key.text, key.line)
        frame.key = key

    def _refuse_extras(self, event: yaml.NodeEvent, line: int) -> None:
        for word, sign, name in _extras(event):
            rule = f"a file has no {word}, so that it means what it shows"
            self._spoil(Fault(self.path() or ("file",), shorten(sign + name), rule, "Write the value itself.", line))

    def _spoil(self, fault: Fault) -> None:
        self.spoiled = True
        self.faults.append(fault)
        if len(self.faults) >= MOST_NOTATION_FAULTS:
            raise _RefusedError


def _waits(frame: _Frame) -> bool:
    """Return whether a mapping waits for its next key."""
    return frame.is_mapping and frame.key is None


def _extras(event: yaml.NodeEvent) -> Iterator[tuple[str, str, str]]:
    if isinstance(event, yaml.AliasEvent):
        yield "aliases", "*", event.anchor or ""
    elif event.anchor is not None:
        yield "anchors", "&", event.anchor
    tag = getattr(event, "tag", None)
    if tag is not None:
        yield "tags", "", tag

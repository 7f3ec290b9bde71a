"""Codecs: how one value is read from a file and written to it.

Rule 1: a codec never raises. It returns a value, or a placeholder of the right type together with the faults. Rule 2:
`read` returns an equal value for whatever `write` made. Rule 3: a codec checks the shape of a value; whether streams
and columns exist is for the model to check.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from drover.errors import ExpressionError, Fault, shorten
from drover.network.columns import KeyPair, Named, parse_key
from drover.network.durations import Micros, format_duration, parse_duration
from drover.network.files.document import Fields, Items, Node, Scalar
from drover.network.grid import AUTO, Spread, parse_spread
from drover.network.schema import Column
from drover.network.types import STRING, parse_type

T = TypeVar("T")
Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"  # a value as a file holds it

SHOWN_NAMES: Final = 8  # that a way out repeats
MOST_ENTRIES: Final = 5_000  # in a list or mapping of one operator; more must be a mistake
NUMBER: Final = re.compile(r"[-+]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][-+]?[0-9]{1,4})?")
WHOLE: Final = re.compile(r"[-+]?[0-9]{1,18}")
TRUTHS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Decoded(Generic[T]):
    """The value of a node. `faults` have paths relative to the node; if there are any, `value` is a placeholder."""

    value: T
    faults: tuple[Fault, ...] = ()


class Codec(Protocol[T]):
    """One kind of value; `says` describes it in an error and in the reference."""

    @property
    def says(self) -> str:
        """What the value is, in a few words."""

    @property
    def stand_in(self) -> T:
        """The placeholder for a value that cannot be read."""

    def read(self, node: Node) -> Decoded[T]:
        """Return the value of a node."""

    def write(self, value: T) -> Plain:
        """Return the value as a file holds it."""


def show(node: Node) -> str:
    """Return a node as an error shows it."""
    match node:
        case Items(nodes):
            return f"a list of {len(nodes)}"
        case Fields(entries):
            return f"a mapping of {len(entries)}"
        case Scalar("", quoted=False):
            return "empty"
        case _:
            return shorten(node.text)


def is_blank(node: Node) -> bool:
    """Return whether a key has no value."""
    return isinstance(node, Scalar) and not node.text and not node.quoted


def fault_at(node: Node, rule: str, way_out: str, path: tuple[str | int, ...] = ()) -> Fault:
    """Return a fault of the value in `node`."""
    return Fault(path, show(node), rule, way_out, node.line)


@dataclass(frozen=True, slots=True)
class Text:
    """Any text: a name, an expression, a path."""

    says: str
    example: str
    stand_in: str = ""

    def read(self, node: Node) -> Decoded[str]:
        """Return the text unchanged."""
        if isinstance(node, Scalar) and not is_blank(node):
            return Decoded(node.text)
        return Decoded(
            self.stand_in, (fault_at(node, f"it must be {self.says}", f"Write for example {self.example}."),)
        )

    def write(self, value: str) -> Plain:
        """Return the text."""
        return value


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """A text that a function parses; it raises ExpressionError if it cannot."""

    says: str
    example: str
    parse: Callable[[str], T]
    unparse: Callable[[T], str]
    stand_in: T

    def read(self, node: Node) -> Decoded[T]:
        """Return what the text means."""
        text = Text(self.says, self.example).read(node)
        if text.faults:
            return Decoded(self.stand_in, text.faults)
        try:
            return Decoded(self.parse(text.value))
        except ExpressionError as error:
            return Decoded(self.stand_in, (fault_at(node, error.rule, error.way_out),))

    def write(self, value: T) -> Plain:
        """Return the text that means `value`."""
        return self.unparse(value)


def _demand(pattern: re.Pattern[str], text: str, rule: str, way_out: str) -> str:
    if not pattern.fullmatch(text):
        raise ExpressionError(text, rule, way_out)
    return text


def _parse_number(text: str) -> float:
    return float(_demand(NUMBER, text, "it must be a number", "Write for example 0.5."))


def _parse_whole(text: str) -> int:
    return int(_demand(WHOLE, text, "it must be a whole number", "Write for example 3."))


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`, without quotes."""

    says: str = "true or false"
    stand_in: bool = False

    def read(self, node: Node) -> Decoded[bool]:
        """Return the truth value."""
        if isinstance(node, Scalar) and not node.quoted and node.text.lower() in TRUTHS:
            return Decoded(TRUTHS[node.text.lower()])
        return Decoded(False, (fault_at(node, f"it must be {self.says}", "Write true or false, without quotes."),))

    def write(self, value: bool) -> Plain:
        """Return the word."""
        return "true" if value else "false"


@dataclass(frozen=True, slots=True)
class ListOf(Generic[T]):
    """A list; a single item needs no brackets."""

    item: Codec[T]
    says: str
    most: int = MOST_ENTRIES
    stand_in: tuple[T, ...] = ()

    def read(self, node: Node) -> Decoded[tuple[T, ...]]:
        """Return the items, with a placeholder for each one that cannot be read."""
        if isinstance(node, Fields) or is_blank(node):
            way_out = "Write for example [a, b], or [] for none."
            return Decoded((), (fault_at(node, f"it must be {self.says}", way_out),))
        if isinstance(node, Scalar):
            node = Items((node,), node.line)
        if len(node.nodes) > self.most:
            return Decoded((), (fault_at(node, f"a list has at most {self.most} items", "Split the network."),))
        readings = [self.item.read(item) for item in node.nodes]
        faults = (fault.under(index) for index, reading in enumerate(readings) for fault in reading.faults)
        return Decoded(tuple(reading.value for reading in readings), tuple(faults))

    def write(self, value: tuple[T, ...]) -> Plain:
        """Return the items in a list."""
        return [self.item.write(item) for item in value]


@dataclass(frozen=True, slots=True)
class MapOf(Generic[T]):
    """A mapping of names to values, as a tuple of pairs made by `join`; entries that cannot be read are left out."""

    value: Codec[Any]  # Any: what `join` takes and `split` gives
    says: str
    example: str
    join: Callable[[str, Any], T]
    split: Callable[[T], tuple[str, Any]]
    stand_in: tuple[T, ...] = ()
    from_names: bool = False  # whether a name alone stands for itself in the way out: ts for {ts: ts}

    def read(self, node: Node) -> Decoded[tuple[T, ...]]:
        """Return the entries in order."""
        if not isinstance(node, Fields):
            way_out = f"Write {_pairs(node)}." if self.from_names and _pairs(node) else ""
            way_out = way_out or f"Write for example {{{self.example}}}."
            return Decoded((), (fault_at(node, f"it must be {self.says}", way_out),))
        if len(node.entries) > MOST_ENTRIES:
            return Decoded((), (fault_at(node, f"a mapping has at most {MOST_ENTRIES} entries", "Split it."),))
        readings = [(key.text, self.value.read(value)) for key, value in node.entries]
        faults = (fault.under(name) for name, reading in readings for fault in reading.faults)
        return Decoded(tuple(self.join(name, r.value) for name, r in readings if not r.faults), tuple(faults))

    def write(self, value: tuple[T, ...]) -> Plain:
        """Return the entries in a mapping."""
        return {name: self.value.write(content) for name, content in map(self.split, value)}


@dataclass(frozen=True, slots=True)
class Within:
    """How long left and right rows wait: one length for both, or a list of two."""

    says: str = "one length of time, or a list of two: for left and for right rows"
    stand_in: tuple[Micros, Micros] = (1_000_000, 1_000_000)

    def read(self, node: Node) -> Decoded[tuple[Micros, Micros]]:
        """Return both lengths."""
        if not isinstance(node, Items):
            both = LENGTH.read(node)
            return Decoded((both.value, both.value), both.faults)
        if len(node.nodes) != 2:
            fault = fault_at(node, f"it must be {self.says}", "Write for example 10 s, or [10 s, 0 s].")
            return Decoded(self.stand_in, (fault,))
        left, right = (LENGTH.read(item) for item in node.nodes)
        faults = (fault.under(index) for index, side in enumerate((left, right)) for fault in side.faults)
        return Decoded((left.value, right.value), tuple(faults))

    def write(self, value: tuple[Micros, Micros]) -> Plain:
        """Return one length if they are equal, else both."""
        left, right = (format_duration(length) for length in value)
        return left if left == right else [left, right]


NAME: Final = Text("a name", "requests")
STREAM: Final = Text("the name of a stream", "requests")
TABLE: Final = Text("the name of a table", "meters")
COLUMN: Final = Text("the name of a column", "ts")
FUNCTION: Final = Text("a function, module:name", "mypackage.scores:score", "stand.in:function")
COST: Final = Text("a cost class: light, medium or heavy", "medium", "medium")
HOW: Final = Text("inner", "inner", "inner")
FRAME: Final = Text("a kind of frame: polars or arrow", "polars", "polars")
PREDICATE: Final = Text("a SQL predicate", "bytes > 1000", "true")
SQL: Final = Text("a SQL expression", "bytes / 1024")
AGGREGATE: Final = Text("a SQL aggregate", "sum(bytes)")
LENGTH: Final = Parsed("a length of time", "10 s", parse_duration, format_duration, 1_000_000)
TYPE: Final = Parsed("a column type", "bigint", parse_type, str, STRING)
SECONDS: Final = Parsed("a number of seconds", "0.001", _parse_number, repr, 0.0)
RATIO: Final = Parsed("a number", "0.5", _parse_number, repr, 1.0)
SEED: Final = Parsed("a whole number", "3", _parse_whole, str, 0)
KEY: Final = Parsed("a column, or `column = other column`", "host = name", parse_key, str, KeyPair("", ""))
SPREAD: Final[Parsed[Spread]] = Parsed(
    "auto, a number of instances, or a grid, rows x columns", "2 x 3", parse_spread, str, AUTO
)
TRUTH: Final = Truth()
WITHIN: Final = Within()

STREAMS: Final = ListOf(STREAM, "a list of streams")
COLUMN_NAMES: Final = ListOf(COLUMN, "a list of columns")
KEYS: Final = ListOf(KEY, "a list of columns, or of `column = other column`")


def _pairs(node: Node) -> str:
    """Return the names of a text or a list as a mapping of each to itself; nothing if they are not names."""
    parts = node.nodes if isinstance(node, Items) else (node,)
    texts = [part.text for part in parts if isinstance(part, Scalar)]
    names = [name.strip() for text in texts for name in text.split(",")]
    if len(texts) < len(parts) or len(names) > SHOWN_NAMES or not all(name.isidentifier() for name in names):
        return ""
    return f"{{{', '.join(f'{name}: {name}' for name in names)}}}"


def _mapping_of_sql(codec: Text, says: str, example: str, *, from_names: bool = False) -> MapOf[Named]:
    return MapOf(codec, says, example, Named, lambda named: (named.name, named.expression), from_names=from_names)


SELECT: Final = _mapping_of_sql(SQL, "a mapping of columns to SQL expressions", "kb: bytes / 1024", from_names=True)
COMPUTE: Final = _mapping_of_sql(AGGREGATE, "a mapping of columns to SQL aggregates", "n: count(*)")
CASES: Final = _mapping_of_sql(PREDICATE, "a mapping of cases to SQL predicates", "big: bytes > 1000")
COLUMNS: Final = MapOf(
    TYPE, "a mapping of columns to types", "ts: timestamp", Column, lambda column: (column.name, column.type)
)

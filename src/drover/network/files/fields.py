"""The fields of a network file: one table, from which files are read, written, corrected and documented.

Rule 1: a field is a row here and nowhere else. Rule 2: rows stand in the order in which a file shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from drover.network.files import codecs
from drover.network.files.codecs import Codec
from drover.network.operators import OPERATORS

VERSION: Final = "1"  # of the format


@dataclass(frozen=True, slots=True)
class Default:
    """What a field is when it is left out: a value, or that of another field of the same operator."""

    value: object = None
    same_as: str | None = None  # attribute


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a source, a table or a kind of operator.

    `hides`: without it, nobody can tell the columns of the stream. `reads`: it names streams.
    """

    name: str  # in the file
    codec: Codec[Any]  # Any: each row has its own type of value
    help: str
    default: Default | None = None  # None: required
    attributes: tuple[str, ...] = ()  # in the model; empty: as in the file
    hides: bool = True
    reads: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        """The attributes of the model that it sets."""
        return self.attributes or (self.name,)


NONE: Final = Default(None)
FALSE: Final = Default(False)
EMPTY: Final = Default(())

INPUT: Final = Field("input", codecs.STREAM, "the stream it reads", reads=True)
STICKY: Final = Field(
    "sticky", codecs.TRUTH, "whether it is expensive to move; left out, drover decides by kind", NONE, hides=False
)

SOURCE: Final = (
    Field("columns", codecs.COLUMNS, "its columns, in order"),
    Field("time", codecs.COLUMN, "the timestamp column that holds event time; windows need it", NONE),
    Field("lateness", codecs.LENGTH, "how late rows may be", Default(0), hides=False),
)
TABLE: Final = (
    Field("columns", codecs.COLUMNS, "its columns, in order"),
    Field("key", codecs.COLUMN_NAMES, "the columns that identify a row"),
)

_KINDS: Final[Mapping[str, tuple[Field, ...]]] = {
    "filter": (INPUT, Field("where", codecs.PREDICATE, "rows for which this is true pass", hides=False)),
    "switch": (
        INPUT,
        Field("cases", codecs.CASES, "case `c` of switch `s` is stream `s.c`; the first that is true gets the row"),
        Field("rest", codecs.NAME, "name of the case for all other rows; left out, they are dropped", NONE),
    ),
    "map": (
        INPUT,
        Field("select", codecs.SELECT, "the columns to make"),
        Field("extend", codecs.TRUTH, "whether to keep the other columns too", FALSE),
    ),
    "union": (
        Field("inputs", codecs.STREAMS, "two or more streams with the same columns", None, ("streams",), reads=True),
    ),
    "aggregate": (
        INPUT,
        Field("size", codecs.LENGTH, "length of a window", hides=False),
        Field("advance", codecs.LENGTH, "from one window's start to the next", Default(same_as="size"), hides=False),
        Field("group_by", codecs.COLUMN_NAMES, "columns; a window has a result for each of their values", EMPTY),
        Field("compute", codecs.COMPUTE, "the columns to compute"),
        Field("timeout", codecs.LENGTH, "closes a window this long after its first row", NONE, hides=False),
    ),
    "join": (
        Field("left", codecs.STREAM, "the left stream", reads=True),
        Field("right", codecs.STREAM, "the right stream; may be the same", reads=True),
        Field(
            "within",
            codecs.WITHIN,
            "how long left rows wait for right ones, and right rows for left ones",
            None,
            ("left_window", "right_window"),
            hides=False,
        ),
        Field("on", codecs.KEYS, "columns that must be equal", EMPTY),
        Field("where", codecs.PREDICATE, "a predicate over left.x and right.y", NONE, hides=False),
        Field("select", codecs.SELECT, "the columns to make, over left.x and right.y; left out, all of both", EMPTY),
        Field(
            "spread",
            codecs.SPREAD,
            "over how many instances its pairs are spread",
            NONE,
            hides=False,
        ),
        Field("how", codecs.HOW, "the kind of join; outer ones are refused", Default("inner"), hides=False),
    ),
    "table_read": (
        INPUT,
        Field("from", codecs.TABLE, "the table", None, ("from_table",)),
        Field("on", codecs.KEYS, "columns of the stream (= those of the table) that make the table's whole key"),
        Field("columns", codecs.COLUMN_NAMES, "columns of the table to add"),
        Field("drop_unmatched", codecs.TRUTH, "whether rows without a match are dropped", FALSE, hides=False),
    ),
    "table_write": (INPUT, Field("into", codecs.TABLE, "the table that keeps the latest row per key")),
    "user": (
        INPUT,
        Field("function", codecs.FUNCTION, "the function to call, marked with drover.function", hides=False),
        Field("columns", codecs.COLUMNS, "columns of what it returns"),
        Field("time", codecs.COLUMN, "the column of what it returns that holds event time", NONE),
        Field("keeps_state", codecs.TRUTH, "whether it takes and returns a state", FALSE, hides=False),
        Field("cost", codecs.COST, "what it is expected to cost, until it is measured", Default("medium"), hides=False),
        Field("frame", codecs.FRAME, "what it is given and returns", Default("polars"), hides=False),
    ),
    "synthetic": (
        INPUT,
        Field("cost", codecs.SECONDS, "busy seconds per row", hides=False),
        Field("selectivity", codecs.RATIO, "rows out for each row in", Default(1.0), hides=False),
        Field("seed", codecs.SEED, "of the choice which rows pass", Default(0), hides=False),
    ),
}
KINDS: Final[Mapping[str, tuple[Field, ...]]] = {kind: (*_KINDS[kind], STICKY) for kind in OPERATORS}
KIND: Final = "kind"

NETWORK: Final[Mapping[str, str]] = {
    "drover": f"version of this format, {VERSION}; required",
    "name": "name of the network; required",
    "sources": "streams that enter the network: a mapping of names to their fields; required",
    "tables": "relational tables that operators read or write: a mapping of names to their fields",
    "operators": "operators: a mapping of names to their fields; each makes the stream of its name",
    "outputs": "list of the streams that leave the network",
}


def reference() -> str:
    """Return docs/format.md: every field there is."""
    return "\n".join(_reference_lines())


def _reference_lines() -> Iterator[str]:
    yield "# Network files"
    yield ""
    yield "<!-- Made by drover.network.files.fields.reference; tests/network/files/test_fields.py says how. -->"
    yield ""
    yield "A network file is YAML without anchors, aliases and tags. `drover check FILE` lists all its faults."
    yield "Where a list is expected, one item may stand without brackets. A length of time is a whole number and a unit"
    yield "(d, h, min, s, ms, us): `10 s`, `1 h 30 min`. Expressions are SQL; quote one that holds `: ` or ` #`."
    yield ""
    yield "| field | meaning |"
    yield "|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in NETWORK.items())
    sections = {"A source": SOURCE, "A table": TABLE}
    sections |= {f"An operator of kind `{kind}`": fields for kind, fields in KINDS.items()}
    for title, fields in sections.items():
        yield from table_lines(title, fields)
    yield ""


def table_lines(title: str, fields: Iterable[Field]) -> Iterator[str]:
    """Yield a section of a reference: a row per field."""
    yield from ("", f"## {title}", "", "| field | value | if left out | meaning |", "|---|---|---|---|")
    yield from (_row(field) for field in fields)


def _row(field: Field) -> str:
    return f"| `{field.name}` | {field.codec.says} | {_without(field)} | {field.help} |"


def _without(field: Field) -> str:
    """Return what happens when the field is left out."""
    match field.default:
        case None:
            return "required"
        case Default(same_as=str(other)):
            return f"as `{other}`"
        case Default(None | ()):
            return "none"
        case Default(value):
            plain = field.codec.write(value)
            return f"`{plain}`"

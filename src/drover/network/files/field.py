"""A field of a file: its name, its codec, what it means, and what holds when it is left out.

Rule 1: files are read, written, checked and documented from tables of fields, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from drover.network.files import codecs
from drover.network.files.codecs import Codec


@dataclass(frozen=True, slots=True)
class Default:
    """The value of a field that is left out: a constant, or the value of another field of the same operator."""

    value: object = None
    same_as: str | None = None  # attribute


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a source, a table, a kind of operator, a run and so on."""

    name: str  # in the file
    codec: Codec[Any]  # Any: each row has its own type of value
    help: str
    default: Default | None = None  # None: required
    attributes: tuple[str, ...] = ()  # in the model; empty: as in the file
    hides: bool = True  # whether the columns of the stream are unknown without it
    reads: bool = False  # whether it names streams
    table: bool = False  # whether it names a table

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
WAS: Final = Field(
    "was", codecs.NAME, "its name before it was renamed; a checkpoint with that name keeps its state", NONE, hides=False
)


def table_lines(title: str, fields: Iterable[Field]) -> Iterator[str]:
    """Yield a section of a reference page in Markdown: one row per field."""
    yield from ("", f"## {title}", "", "| field | value | if left out | meaning |", "|---|---|---|---|")
    yield from (_row(field) for field in fields)


def _row(field: Field) -> str:
    return f"| `{field.name}` | {field.codec.says} | {_without(field)} | {field.help} |"


def _without(field: Field) -> str:
    """Return what the reference says about a field that is left out."""
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

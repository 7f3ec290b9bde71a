"""What can go wrong, in words a person can act on.

Rule 1: every error drover raises on purpose is a DroverError; a shell prints it without a traceback.
Rule 2: a fault names the field, the value found there, the rule it breaks and the way out.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from drover.wording import count

SHOWN = 80  # characters of an offending value that an error repeats; the rest is cut
LONGEST_NAME = 128  # a longer word, or one among more names, is not compared: that would take seconds
MOST_NAMES = 1_000
# An empty checkpoint on used sink folders would mix the rows of two runs, so the advice names both.
START_ANEW = "start with an empty checkpoint directory, and with new sink folders or --overwrite"


def shorten(value: object) -> str:
    """Return `value` as an error shows it: quoted if it is text, cut if it is long."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


def visible(text: str, most: int = 10 * SHOWN) -> str:
    """Return `text` cut, and with an escape for every character that could steer a terminal or hide in it."""
    cut = text if len(text) <= most else f"{text[:most]}..."
    if cut.isprintable():
        return cut
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def one_line(text: str) -> str:
    """Return text on one line, without control characters that a terminal would obey."""
    return visible(" ".join(text.split()))


def nearest_name(word: str, names: Collection[str]) -> str:
    """Return the name most like `word`, or nothing if none is."""
    if len(word) > LONGEST_NAME or len(names) > MOST_NAMES:
        return ""
    same = (name for name in names if name.lower() == word.lower())
    return next(same, "") or next(iter(difflib.get_close_matches(word, names, n=1)), "")


def nearest(word: str, names: Collection[str]) -> str:
    """Return `Did you mean ...? `, or nothing if no name is like `word`."""
    near = nearest_name(word, names)
    case = "Case counts. " if near.lower() == word.lower() else ""
    return f"Did you mean {near}? {case}" if near else ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input.

    `path` leads to the field, e.g. ("operators", "busy", "where"); `line` (from 1) is known for files only.
    """

    path: tuple[str | int, ...]
    value: str  # as found, already shortened
    rule: str
    way_out: str
    line: int | None = None

    @property
    def field(self) -> str:
        """The path in one word, e.g. `operators.busy.where`."""
        return ".".join(visible(str(step), SHOWN) for step in self.path)

    @property
    def text(self) -> str:
        """The fault in one line, without the line it was found in."""
        value = visible(self.value, 2 * SHOWN)
        rule = visible(self.rule)
        way_out = visible(self.way_out)
        return f"{self.field} is {value}, but {rule}. {way_out}"

    def under(self, *prefix: str | int) -> Fault:
        """Return the same fault with `prefix` before its path."""
        return replace(self, path=(*prefix, *self.path))

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        return f"{where}{self.text}"


class DroverError(Exception):
    """Anything that is wrong with what drover was given, as opposed to a defect in drover."""


class ExpressionError(DroverError):
    """A SQL expression, type or duration that drover does not take."""

    def __init__(self, found: str, rule: str, way_out: str) -> None:
        super().__init__(f"{shorten(found)}: {rule}. {way_out}")
        self.found = found
        self.rule = rule
        self.way_out = way_out

    def __reduce__(self) -> tuple[type[ExpressionError], tuple[str, str, str]]:
        return (type(self), (self.found, self.rule, self.way_out))


class FaultsError(DroverError):
    """Several faults at once, each on a line of its own."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join([count(len(self.faults), "fault"), *(f"  {fault}" for fault in self.faults)]))

    def __reduce__(self) -> tuple[type[FaultsError], tuple[tuple[Fault, ...]]]:
        return (type(self), (self.faults,))


class NetworkError(FaultsError):
    """A query network that breaks a rule of the model."""


class LoadError(DroverError):
    """Statistics, capacities or coefficients that make no load model."""


class ProblemError(DroverError):
    """A placement problem that contradicts itself, or lacks what a policy needs."""


class FileError(FaultsError):
    """A network file that cannot be read as one."""


class StateError(DroverError):
    """Saved state that is missing, damaged, or not the state that was asked for."""

    def __init__(self, place: str, expected: str, found: str, way_out: str) -> None:
        super().__init__(f"{visible(place)}: expected {visible(expected)}, but found {visible(found)}. {way_out}")
        self.place = place
        self.expected = expected
        self.found = found
        self.way_out = way_out

    def __reduce__(self) -> tuple[type[StateError], tuple[str, str, str, str]]:
        return (type(self), (self.place, self.expected, self.found, self.way_out))


class LockedError(StateError):
    """A checkpoint that another run is working on."""


class TableError(DroverError):
    """A relational table that cannot be reached, read or written, or that is not as the network declares it.

    It says nothing against the operator that met it: the batch fails and is repeated, the operator is not parked.
    """

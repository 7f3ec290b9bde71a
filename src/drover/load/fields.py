"""The fields of a statistics file: one table for reading, writing, checking and documentation.

Rule 1: a field is defined here and nowhere else. Rule 2: this module checks the form of a value; `files` checks it
against the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from drover.network.files import codecs
from drover.network.files.codecs import Codec, Decoded, ListOf, MapOf, Parsed, Plain, fault_at
from drover.network.files.document import Fields, Items, Node
from drover.network.files.field import FALSE, NONE, Field, table_lines

VERSION: Final = "1"  # of the format
MARK: Final = "statistics"
MOST_PERIODS: Final = 100_000

T = TypeVar("T")
Selectivity: TypeAlias = "float | tuple[tuple[str, float], ...]"


@dataclass(frozen=True, slots=True)
class Selectivities:
    """One number, or one for each case of a switch."""

    says: str = "a number, or for a switch a mapping of cases to numbers"
    stand_in: Selectivity = 1.0

    def read(self, node: Node) -> Decoded[Selectivity]:
        """Return the number, or a number by case."""
        if isinstance(node, Fields):
            cases = CASES.read(node)
            return Decoded(cases.value, cases.faults)
        if isinstance(node, Items):
            way_out = "Write for example 0.5, or {big: 0.2, rest: 0.8}."
            return Decoded(self.stand_in, (fault_at(node, f"it must be {self.says}", way_out),))
        one = codecs.RATIO.read(node)
        return Decoded(one.value, one.faults)

    def write(self, value: Selectivity) -> Plain:
        """Return the number, or a number by case."""
        return CASES.write(value) if isinstance(value, tuple) else codecs.RATIO.write(value)


def _entry(name: str, value: T) -> tuple[str, T]:
    return name, value


def _halves(entry: tuple[str, T]) -> tuple[str, T]:
    return entry


def _by_name(value: Codec[T], says: str, example: str) -> MapOf[tuple[str, T]]:
    return MapOf(value, says, example, _entry, _halves)


RATE: Final = Parsed("a number of rows per second", "1000", codecs.RATIO.parse, repr, 0.0)
PERIODS: Final = ListOf(RATE, "a list of rows per second, one for each period", MOST_PERIODS)
CASES: Final = _by_name(codecs.RATIO, "a mapping of cases to numbers", "big: 0.2")
RATES: Final = _by_name(RATE, "a mapping of sources to rows per second", "requests: 1000")
SERIES: Final = _by_name(PERIODS, "a mapping of sources to lists of rows per second", "requests: [900, 1100]")

OPERATOR: Final = (
    Field("cost", codecs.SECONDS, "busy seconds per row in", NONE),
    Field("selectivity", Selectivities(), "rows out per row in; for a join, at the rates of this file", NONE),
    Field("varies", codecs.TRUTH, "whether the selectivity varies, so that it cannot be relied on", FALSE),
)
SECTIONS: Final[Mapping[str, str]] = {
    MARK: f"version of this format, {VERSION}; required",
    "rates": "rows per second: a mapping of sources to numbers; `--rates` overrides it",
    "operators": "costs of operators: a mapping of operators to their fields",
    "series": "rows per second over time: a mapping of sources to lists of equal length, one number per period",
}


def reference() -> str:
    """Return the text of docs/reference/statistics-file.md, with every field."""
    return "\n".join(_reference_lines())


def _reference_lines() -> Iterator[str]:
    yield "# Statistics files"
    yield ""
    yield "<!-- Made by drover.load.fields.reference; tests/load/test_files.py says how to make it again. -->"
    yield ""
    yield "A statistics file describes the rates of the sources of a network and the costs of its operators, for"
    yield "`drover headroom NETWORK --statistics FILE` and other commands. It is YAML or JSON. You can leave everything"
    yield "out: drover then uses what the network declares, assumes the rest, and says how much it assumed."
    yield ""
    yield "| section | meaning |"
    yield "|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in SECTIONS.items())
    tables: dict[str, Any] = {"An operator": OPERATOR}  # Any: as `table_lines` takes them
    for title, fields in tables.items():
        yield from table_lines(title, fields)
    yield ""

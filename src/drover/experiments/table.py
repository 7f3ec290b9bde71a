"""An experiment is a table: one row in, one row out, and what a text says of the whole.

Rule 1: a row is plain values, its seed among them; what a row gives depends on that row alone.
Rule 2: claims and figures are functions of the rows that came out, never of how they came about.
Rule 3: what cannot be judged does not hold: nobody may take the unknown for the good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version as version_of
from itertools import product
from typing import Final, Literal, TypeAlias

import polars as pl

from drover.errors import DroverError, shorten

Value: TypeAlias = bool | int | float | str
Row: TypeAlias = Mapping[str, Value]
Measure: TypeAlias = Callable[[Row], Row]

SEED: Final = "seed"
MARKS: Final = ("experiment", "version")  # columns that every result has, besides what went in and what came out


@dataclass(frozen=True, slots=True)
class Grid:
    """A base row with properties varied: every combination of them, once for each of so many seeds."""

    vary: Mapping[str, Sequence[Value]]
    base: Row = field(default_factory=dict)
    seeds: int = 1
    first: int = 0  # seed

    def rows(self, seeds: int | None = None) -> Iterator[dict[str, Value]]:
        """Yield the rows, seed by seed: rows of one instance are neighbours, so that a memory of one is enough."""
        for seed in range(self.first, self.first + (self.seeds if seeds is None else seeds)):
            for values in product(*self.vary.values()):
                yield {**self.base, **dict(zip(self.vary, values, strict=True)), SEED: seed}


@dataclass(frozen=True, slots=True)
class Finding:
    """What rows say about a claim."""

    measured: str
    holds: bool
    judged: bool = True  # whether the rows were enough to tell


def unjudged(reason: str) -> Finding:
    """Return the finding that these rows do not tell."""
    return Finding(f"not judged: {reason}", holds=False, judged=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a text says."""

    name: str
    text: str  # what it says
    find: Callable[[pl.DataFrame], Finding]
    why: str = ""  # why we think it does not hold, said where it does not


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim beside what was measured."""

    claim: str
    text: str
    measured: str
    holds: bool
    judged: bool
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One plot of a figure: means over seeds of a column against another, a line for each value of a third."""

    x: str
    y: str
    line: str = ""  # column; without it there is one line
    title: str = ""
    label: str = ""  # of the y axis, if the column's name does not do
    kind: Literal["lines", "points"] = "lines"
    where: Row = field(default_factory=dict)  # only rows with these values
    log: Literal["", "x", "y", "xy"] = ""
    bound: str = ""  # column drawn as a thin black line: a limit that y is compared with
    printed: Mapping[str, Mapping[float, float]] = field(default_factory=dict)  # y by x, by line, as the text prints it


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is run, and what it is compared with."""

    name: str  # letter of the text, figure or table
    title: str
    about: str  # what the text did, and what it leaves open: a paragraph or more, in Markdown
    grids: tuple[Grid, ...]
    quick: tuple[Grid, ...]  # the same with fewer rows: to see that it runs, not to be quoted
    measure: Measure  # of a module, so that other processes find it by name
    columns: Mapping[str, str]  # what comes out of a row, and what it means
    claims: tuple[Claim, ...]
    panels: tuple[Panel, ...]
    timed: frozenset[str] = frozenset()  # columns that a clock gives: not the same the next time

    def rows(self, *, quick: bool = False, seeds: int | None = None) -> list[dict[str, Value]]:
        """Return what goes in."""
        return [row for grid in (self.quick if quick else self.grids) for row in grid.rows(seeds)]

    def judge(self, rows: pl.DataFrame) -> tuple[Verdict, ...]:
        """Return the verdict on every claim."""
        found = [(claim, claim.find(rows)) for claim in self.claims]
        return tuple(
            Verdict(claim.name, claim.text, finding.measured, finding.holds, finding.judged, claim.why)
            for claim, finding in found
        )


def version() -> str:
    """Return drover's version, which every result row carries."""
    return version_of("drover")


def complete(experiment: Experiment, given: Row, found: Row) -> dict[str, Value]:
    """Return the result row: what went in, what came out, and where it is from."""
    if set(found) != set(experiment.columns):
        raise DroverError(
            f"a row of {experiment.name} gave {shorten(sorted(found))}, but its columns are "
            f"{shorten(sorted(experiment.columns))}. Declare what is measured, and measure what is declared."
        )
    return {"experiment": experiment.name, **given, **{name: found[name] for name in experiment.columns},
            "version": version()}  # fmt: skip


def tabulate(rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows as a table; all of them are looked at for the type of a column."""
    return pl.DataFrame(list(rows), infer_schema_length=None, strict=False)

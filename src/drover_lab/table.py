"""An experiment is a table: one row of parameters in, one row of measurements out, and claims about all rows.

Rule 1: a row is plain values, among them its seed. Its measurements depend on that row alone.
Rule 2: claims and figures are functions of the result rows, not of how these were computed.
Rule 3: a claim that cannot be judged does not hold, so that an unknown never passes for a success.
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
MARKS: Final = ("experiment", "version")  # columns of every result, besides parameters and measurements


@dataclass(frozen=True, slots=True)
class ParameterGrid:
    """A base row with some parameters varied: every combination of their values, for each seed."""

    vary: Mapping[str, Sequence[Value]]
    base: Row = field(default_factory=dict)
    seeds: int = 1
    first: int = 0  # first seed

    def rows(self, seeds: int | None = None) -> Iterator[dict[str, Value]]:
        """Yield the rows seed by seed: rows of one instance are adjacent, so a cache of one instance is enough."""
        for seed in range(self.first, self.first + (self.seeds if seeds is None else seeds)):
            for values in product(*self.vary.values()):
                yield {**self.base, **dict(zip(self.vary, values, strict=True)), SEED: seed}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking a claim against rows."""

    measured: str
    holds: bool
    judged: bool = True  # whether there were enough rows to judge the claim


def unjudged(reason: str) -> Finding:
    """Return a finding that could not be judged, with the reason."""
    return Finding(f"not judged: {reason}", holds=False, judged=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a text that rows can confirm or refute."""

    name: str
    text: str  # the statement
    find: Callable[[pl.DataFrame], Finding]
    why: str = ""  # our explanation, shown where the claim does not hold


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """A claim, and what was measured."""

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
    label: str = ""  # of the y axis; by default the column's name
    kind: Literal["lines", "points"] = "lines"
    where: Row = field(default_factory=dict)  # only rows with these values are drawn
    log: Literal["", "x", "y", "xy"] = ""
    bound: str = ""  # column drawn as a thin black line, as a limit for y
    printed: Mapping[str, Mapping[float, float]] = field(
        default_factory=dict
    )  # y by x for each line, as printed in the text


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """The rows to run, and the claims to compare them with."""

    name: str  # letter of the text, figure or table
    title: str
    about: str  # what the text did and what it leaves open, in Markdown
    grids: tuple[ParameterGrid, ...]
    quick: tuple[ParameterGrid, ...]  # the same with fewer rows, to see that it runs; not to be quoted
    measure: Measure  # a module-level function, so that other processes can import it
    columns: Mapping[str, str]  # measurements of a row, and their meaning
    claims: tuple[Claim, ...]
    panels: tuple[Panel, ...]
    timed: frozenset[str] = frozenset()  # columns that depend on a clock and differ from run to run
    engine: bool = False  # whether each row is a run on Spark, which needs the whole machine

    def rows(self, *, quick: bool = False, seeds: int | None = None) -> list[dict[str, Value]]:
        """Return the parameter rows."""
        return [row for grid in (self.quick if quick else self.grids) for row in grid.rows(seeds)]

    def judge(self, rows: pl.DataFrame) -> tuple[ClaimVerdict, ...]:
        """Return the verdict on every claim."""
        found = [(claim, claim.find(rows)) for claim in self.claims]
        return tuple(
            ClaimVerdict(claim.name, claim.text, finding.measured, finding.holds, finding.judged, claim.why)
            for claim, finding in found
        )


def version() -> str:
    """Return drover's version, which is part of every result row."""
    return version_of("drover")


def complete(experiment: Experiment, given: Row, found: Row) -> dict[str, Value]:
    """Return the result row: parameters, measurements and origin."""
    if set(found) != set(experiment.columns):
        raise DroverError(
            f"a row of {experiment.name} gave {shorten(sorted(found))}, but its columns are "
            f"{shorten(sorted(experiment.columns))}. Make `measure` return exactly the declared columns."
        )
    return {
        "experiment": experiment.name,
        **given,
        **{name: found[name] for name in experiment.columns},
        "version": version(),
    }


def tabulate(rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows as a table; the type of a column is inferred from all rows."""
    return pl.DataFrame(list(rows), infer_schema_length=None, strict=False)

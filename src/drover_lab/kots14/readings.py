"""How the figures of [Kots14] depend on what the text leaves open."""

from __future__ import annotations

from typing import Final

import polars as pl

from drover_lab.kots14.paired_runs import BASE, OPEN, excess, fewer_when, less, pair_of, spell
from drover_lab.summary import mean, numbers_of, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value, unjudged

COLUMNS: Final = {
    "less": "fraction by which overloaded time falls with the protocol, all nodes together",
    "fewer": "fraction of the time in which fewer nodes are overloaded with the protocol",
    "fewer_when": "the same, of the time in which some node is overloaded without the protocol",
    "more": "fraction of the time in which more nodes are overloaded",
    "excess": "fraction by which the load above the upper mark falls, all nodes and times together",
    "peak": "largest average level",
    "spell": "mean seconds that a node stays overloaded",
    "spell_without": "the same without the protocol",
    "moved": "operators that moved",
    "messages": "messages of a node per minute",
    "stopped": "seconds that an operator is stopped while it moves, on average",
}
ABOUT: Final = (
    OPEN
    + """
Here each of these varies while the others stay the same: units of memory of a node (`capacity`), sizes at the
beginning (`size`), and operators in a chain (`chain`). `merging` is the fraction of queries that read from all
children of their node, and so can only go up. `loss` is the fraction of messages that are lost.
"""
)


CHAINS: Final = (
    "With four operators per chain, nodes begin more unevenly, and a few of them have most of the excess load. The "
    "protocol spreads it. The load above the mark falls by at least a third (see `excess`), but more nodes have some."
)
EARLY: Final = (
    "Overloaded time falls by more than the text says, but the fraction of time is slightly below the printed one. At "
    "the beginning and at the end no node is overloaded, so there cannot be fewer. See `counted`."
)


def measure(row: Row) -> Row:
    """Measure one scenario."""
    pair = pair_of(row)
    outcome = pair.with_
    minutes = float(outcome.times[-1] - outcome.times[0]) / 60
    return {
        "less": less(pair),
        "fewer": float(pair.fewer.mean()),
        "fewer_when": fewer_when(pair),
        "more": float(pair.more.mean()),
        "excess": excess(pair),
        "peak": float(outcome.levels.mean(axis=1).max()),
        "spell": spell(outcome),
        "spell_without": spell(pair.without),
        "moved": outcome.moved,
        "messages": float(outcome.sent_by.sum()) / len(outcome.sent_by) / minutes,
        "stopped": outcome.stopped / max(outcome.moved, 1),
    }


def by(rows: pl.DataFrame, name: str, column: str) -> dict[float, float]:
    """Return the mean of a column by the values of a parameter, with the others at their defaults."""
    others = {key: value for key, value in BASE.items() if key != name}
    part = select(rows, **others)
    return {value: mean(part, column, **{name: value}) for value in numbers_of(part, name)}


def describe_shares(found: dict[float, float]) -> str:
    """Return means by value as text."""
    return ", ".join(f"{value:g}: {share:.1%}" for value, share in found.items())


def always(rows: pl.DataFrame) -> Finding:
    """Find whether overloaded time falls under every reading of the text."""
    found = {name: by(rows, name, "less") for name in ("capacity", "size", "chain", "merging")}
    values = [share for each in found.values() for share in each.values()]
    words = "; ".join(f"{name} {describe_shares(each)}" for name, each in found.items())
    return Finding(words, min(values) > 0)


def as_printed(rows: pl.DataFrame) -> Finding:
    """Find which memory gives at least the printed figures."""
    falls = by(rows, "capacity", "less")
    fewer = by(rows, "capacity", "fewer")
    good = [value for value in falls if falls[value] >= 0.2644 and fewer[value] >= 0.8083]
    return Finding(
        f"overloaded time falls by {describe_shares(falls)}; fewer nodes for {describe_shares(fewer)} of the time",
        bool(good),
    )


def counted(rows: pl.DataFrame) -> Finding:
    """Find whether the printed fraction is reached if only time with overload counts."""
    found = by(rows, "capacity", "fewer_when")
    return Finding(f"by capacity {describe_shares(found)}", max(found.values()) >= 0.8083)


def lower(rows: pl.DataFrame) -> Finding:
    """Find whether there is less load above the upper mark under every reading of the text."""
    found = {name: by(rows, name, "excess") for name in ("capacity", "size", "chain", "merging")}
    words = "; ".join(f"{name} {describe_shares(each)}" for name, each in found.items())
    return Finding(words, min(share for each in found.values() for share in each.values()) > 0)


def shorter(rows: pl.DataFrame) -> Finding:
    """Find whether nodes stay overloaded for a shorter time."""
    pairs = {
        value: (a, by(rows, "capacity", "spell_without")[value]) for value, a in by(rows, "capacity", "spell").items()
    }
    words = ", ".join(f"{value:g}: {a:.0f} s against {b:.0f} s" for value, (a, b) in pairs.items())
    return Finding(f"by capacity {words}", all(a < b for a, b in pairs.values()))


def lossy(rows: pl.DataFrame) -> Finding:
    """Find whether lost messages do little harm."""
    found = by(rows, "loss", "less")
    if 0.0 not in found or len(found) < 2:
        return unjudged("there is nothing to compare")
    still = by(rows, "loss", "stopped")
    words = ", ".join(f"{value:g}: {seconds:.2f} s" for value, seconds in still.items())
    return Finding(
        f"overloaded time falls by {describe_shares(found)}; an operator stands still for {words}",
        min(found.values()) >= found[0.0] - 0.05,
    )


def varied(name: str, values: tuple[Value, ...], seeds: int) -> ParameterGrid:
    """Return rows in which one parameter has other values than by default."""
    return ParameterGrid({name: values}, {key: value for key, value in BASE.items() if key != name}, seeds)


def grids(seeds: int) -> tuple[ParameterGrid, ...]:
    """Return the rows of one parameter after the other; the default is among the capacities."""
    return (
        varied("capacity", (100.0, 125.0, 150.0, 200.0), seeds),
        varied("size", (0.5, 1.5), seeds),
        varied("chain", (1, 4), seeds),
        varied("merging", (0.5, 1.0), seeds),
        varied("loss", (0.05, 0.2), seeds),
    )


EXPERIMENTS: Final = (
    Experiment(
        name="T-readings",
        title="What the text leaves open, varied",
        about=ABOUT,
        grids=grids(15),
        quick=(varied("capacity", (100.0, 150.0), 1), varied("loss", (0.2,), 1)),
        measure=measure,
        columns=COLUMNS,
        panels=tuple(
            Panel(
                x=name, y=column, where={key: value for key, value in BASE.items() if key != name}, title=f"by {name}"
            )
            for name in ("capacity", "size", "chain", "merging", "loss")
            for column in ("less", "fewer")
        ),
        claims=(
            Claim("always", "Not in the text: overloaded time falls under every reading of it.", always, CHAINS),
            Claim("excess", "Not in the text: load above the upper mark falls under every reading of it.", lower),
            Claim(
                "printed",
                "Not in the text: some size of memory gives both printed figures (26.44 % and 80.83 %).",
                as_printed,
                EARLY,
            ),
            Claim(
                "counted",
                "Not in the text: of the time in which some node is overloaded, the printed 80.83 % are reached.",
                counted,
            ),
            Claim("shorter", "Nodes that become overloaded stay so for a shorter time.", shorter),
            Claim(
                "loss", "Not in the text: losing a fifth of the messages costs less than 5 percentage points.", lossy
            ),
        ),
    ),
)

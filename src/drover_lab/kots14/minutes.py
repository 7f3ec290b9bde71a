"""Fig. 15 and 16 [Kots14]: use of memory, its spread, and overloaded nodes over sixteen minutes."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from drover_lab.kots14.paired_runs import BASE, OPEN, THRESHOLDS, pair_of
from drover_lab.summary import listed, mean
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, unjudged

MINUTES: Final = tuple(range(1, 17))
WITHOUT = "without"
WITH = "with the protocol"
COLUMNS: Final = {
    "average": "fraction of memory in use, mean over nodes and the minute",
    "spread": "standard deviation of that over nodes, mean over the minute",
    "overloaded": "nodes above the upper mark, mean over the minute",
    "fewer": "fraction of the minute in which fewer nodes are overloaded than without the protocol",
    "steadier": "fraction of the minute in which the standard deviation is below that without the protocol",
}


def measure(row: Row) -> Row:
    """Measure one minute of one outcome."""
    pair = pair_of(row)
    minute = int(row["minute"])
    outcome = pair.with_ if row["protocol"] == WITH else pair.without
    then = (outcome.times >= 60 * (minute - 1)) & (outcome.times < 60 * minute)
    fewer = outcome.overloaded(THRESHOLDS.upper) < pair.without.overloaded(THRESHOLDS.upper)
    return {
        "average": float(outcome.levels[then].mean()),
        "spread": float(outcome.spread()[then].mean()),
        "overloaded": float(outcome.overloaded(THRESHOLDS.upper)[then].mean()),
        "fewer": float(fewer[then].mean()),
        "steadier": float((outcome.spread() < pair.without.spread())[then].mean()),
    }


def totals(rows: pl.DataFrame) -> pl.DataFrame:
    """Return for every seed by how much overloaded time falls, and how often fewer nodes are overloaded."""
    sums = rows.group_by("seed", "protocol", maintain_order=True).agg(
        pl.col("overloaded").sum(), pl.col("fewer").mean()
    )
    both = sums.filter(protocol=WITH).join(sums.filter(protocol=WITHOUT), on="seed", suffix="_without")
    return both.filter(pl.col("overloaded_without") > 0).select(
        "seed", "fewer", less=1 - pl.col("overloaded") / pl.col("overloaded_without")
    )


def hill(rows: pl.DataFrame) -> Finding:
    """Find whether average use rises for eight minutes, falls for eight, and does not depend on the protocol."""
    curves = {name: [mean(rows, "average", protocol=name, minute=each) for each in MINUTES] for name in (WITHOUT, WITH)}
    if any(np.isnan(curve).any() for curve in curves.values()):
        return unjudged("some minutes are missing")
    plain = curves[WITHOUT]
    rises = np.diff(plain[:8]).min() > 0
    falls = np.diff(plain[8:]).max() < 0
    apart = max(abs(a - b) for a, b in zip(*curves.values(), strict=True))
    words = f"without: {listed(plain)}; at most {apart:.2g} apart"
    return Finding(words, bool(rises and falls and apart < 1e-9))


def steady(rows: pl.DataFrame) -> Finding:
    """Find whether the spread is smaller with the protocol, always or nearly always."""
    curves = [[mean(rows, "spread", protocol=name, minute=each) for each in MINUTES] for name in (WITHOUT, WITH)]
    share = mean(rows, "steadier", protocol=WITH)
    if np.isnan(curves).any():
        return unjudged("some minutes are missing")
    words = f"{share:.1%} of the time; by minute {listed(curves[1], 2)} against {listed(curves[0], 2)}"
    return Finding(words, share >= 0.95)


def falls_by(rows: pl.DataFrame) -> Finding:
    """Find by how much overloaded time falls, over all seeds."""
    found = totals(rows)["less"].to_list()
    if not found:
        return unjudged("no node is overloaded")
    return Finding(
        f"{np.mean(found):.1%} on average; by run {listed(sorted(found), 2)}", float(np.mean(found)) >= 0.2644
    )


def fewer_for(rows: pl.DataFrame) -> Finding:
    """Find for how much of the time fewer nodes are overloaded, over all seeds."""
    found = totals(rows)["fewer"].to_list()
    if not found:
        return unjudged("no node is overloaded")
    words = f"{np.mean(found):.1%} on average; by run {listed(sorted(found), 2)}"
    return Finding(words, float(np.mean(found)) >= 0.8083)


def one_run(rows: pl.DataFrame) -> Finding:
    """Find whether some run is as good as the one that the text shows."""
    found = totals(rows)
    if not len(found):
        return unjudged("no node is overloaded")
    good = found.filter((pl.col("less") >= 0.2644) & (pl.col("fewer") >= 0.8552))
    best = found.sort("fewer").row(-1, named=True)
    words = f"{len(good)} of {len(found)} runs; the best has {best['less']:.1%} and {best['fewer']:.1%}"
    return Finding(words, len(good) > 0)


def fewer_on_average(rows: pl.DataFrame) -> Finding:
    """Find whether there is less overload in every minute that has any."""
    plain, moved = (
        [mean(rows, "overloaded", protocol=name, minute=each) for each in MINUTES] for name in (WITHOUT, WITH)
    )
    if np.isnan([*plain, *moved]).any():
        return unjudged("some minutes are missing")
    holds = all(b < a for a, b in zip(plain, moved, strict=True) if a > 0)
    return Finding(f"by minute {listed(moved, 2)} against {listed(plain, 2)}", holds)


def grids(minutes: tuple[int, ...], seeds: int) -> tuple[ParameterGrid, ...]:
    """Return every minute, with and without the protocol."""
    return (ParameterGrid({"minute": minutes, "protocol": (WITHOUT, WITH)}, BASE, seeds),)


TOO_MUCH: Final = (
    "With memory in percent, the operators do not fit below the upper mark for half of the time. Nodes that could "
    "stay below it take work until they are just below, and the next operator that grows pushes them above. Around "
    "the peak, more nodes are overloaded with the protocol than without it. Still, the load above the mark falls by a "
    "third in total. With a quarter more memory, both figures are near those of the text; see T-readings."
)

EXPERIMENTS: Final = (
    Experiment(
        name="T-fig15",
        title="Average use of memory, and its standard deviation",
        about=OPEN,
        grids=grids(MINUTES, 15),
        quick=grids(MINUTES, 2),
        measure=measure,
        columns=COLUMNS,
        panels=(
            Panel(x="minute", y="average", line="protocol", title="average use of memory"),
            Panel(x="minute", y="spread", line="protocol", title="its standard deviation"),
        ),
        claims=(
            Claim(
                "average",
                "Average use rises for eight minutes and falls for eight, with and without the protocol.",
                hill,
            ),
            Claim("spread", "With the protocol the standard deviation is lower throughout.", steady),
        ),
    ),
    Experiment(
        name="T-fig16",
        title="Overloaded nodes over time",
        about=OPEN,
        grids=grids(MINUTES, 15),
        quick=grids(MINUTES, 2),
        measure=measure,
        columns=COLUMNS,
        panels=(
            Panel(x="minute", y="overloaded", line="protocol"),
            Panel(x="minute", y="fewer", where={"protocol": WITH}, title="share of time with fewer overloaded nodes"),
        ),
        claims=(
            Claim("less", "With the protocol the system is overloaded 26.44 % less in total.", falls_by, TOO_MUCH),
            Claim(
                "fewer",
                "On average over 15 runs, fewer nodes are overloaded for 80.83 % of the time.",
                fewer_for,
                TOO_MUCH,
            ),
            Claim(
                "run",
                "In one run, the system is overloaded 26.44 % less, and fewer nodes are for 85.52 % of the time.",
                one_run,
                TOO_MUCH,
            ),
            Claim(
                "over-time", "With the protocol there are fewer overloaded nodes over time.", fewer_on_average, TOO_MUCH
            ),
        ),
    ),
)

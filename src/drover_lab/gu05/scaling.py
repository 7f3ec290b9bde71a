"""Fig. 4 and 5 [Gu05]: throughput and effective utilisation by the number of servers per join."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import polars as pl

from drover_lab.gu05.clusters import SETTING, outcome_of, split_by
from drover_lab.lines import describe_means, lacks, line
from drover_lab.summary import mean, numbers_of, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value

X: Final = "servers"
POLICIES: Final = ("ssp", "ssp-printed", "grid", "llf")
SERVERS: Final = (1, 3, 5, 8, 10, 12, 15, 18, 20, 25, 30)
BASE: Final[dict[str, Value]] = {"joins": 10, "nodes": 100, "seconds": 5000.0, "section": 5000.0, "part": "main"}
SMALL: Final[dict[str, Value]] = {"joins": 4, "nodes": 20, "seconds": 500.0, "section": 500.0, "part": "main"}
COLUMNS: Final = {
    "throughput": "join operations of all servers, in millions, over the whole run",
    "utilisation": "fraction of a server's capacity spent on join operations, mean over all servers",
    "received": "tuples that servers received, in millions, copies and dropped ones included",
    "dropped": "fraction of them that was dropped",
}
NEAR: Final = (12.0, 18.0)  # servers that count as about 15


def measure(row: Row) -> Row:
    """Spread each join over the row's number of servers."""
    found = outcome_of(row)
    return {
        "throughput": float(found.operations.sum()) / 1e6,
        "utilisation": float(found.utilisation.mean()),
        "received": float(found.received.sum()) / 1e6,
        "dropped": float(found.dropped.sum() / max(found.received.sum(), 1)),
    }


def main_part(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the figure itself."""
    return select(rows, part="main")


def peak(rows: pl.DataFrame, y: str) -> Finding:
    """Find whether SSP is best at about 15 servers per join."""
    part = main_part(rows)
    if missing := lacks(part, ("ssp",), X, 3):
        return missing
    x = numbers_of(part, X)
    values = line(part, "ssp", y, X)
    best = x[int(np.argmax(values))]
    return Finding(
        f"best at {best:g}; {describe_means(part, ('ssp', 'ssp-printed'), y, X)}", NEAR[0] <= best <= NEAR[1]
    )


def falls(rows: pl.DataFrame, y: str) -> Finding:
    """Find whether SSP has fallen by a hundredth or more at the largest number of servers."""
    part = main_part(rows)
    if missing := lacks(part, ("ssp",), X, 3):
        return missing
    found = {policy: line(part, policy, y, X) for policy in ("ssp", "ssp-printed")}
    words = ", ".join(f"{policy} {values[-1] / max(values):.3f}" for policy, values in found.items())
    return Finding(
        f"at {numbers_of(part, X)[-1]:g} servers, over the best: {words}", found["ssp"][-1] < 0.99 * max(found["ssp"])
    )


def flat(rows: pl.DataFrame, y: str) -> Finding:
    """Find whether LLF is the same for any number of servers."""
    part = main_part(rows)
    if missing := lacks(part, ("llf",), X):
        return missing
    values = line(part, "llf", y, X)
    return Finding(describe_means(part, ("llf",), y, X), max(values) - min(values) <= 1e-9 * max(values))


def above(rows: pl.DataFrame, y: str, first: str, other: str, least: float, most: float = np.inf) -> Finding:
    """Find whether a policy is above another at every number of servers from `least` to `most`."""
    part = main_part(rows).filter(pl.col(X).is_between(least, most))
    if missing := lacks(part, (first, other), X, 1):
        return missing
    gains = [mine / theirs for mine, theirs in zip(line(part, first, y, X), line(part, other, y, X), strict=True)]
    return Finding(
        f"{min(gains):.3f} to {max(gains):.3f} times; {describe_means(part, (first, other), y, X)}", min(gains) > 1.0
    )


def fewer(rows: pl.DataFrame) -> Finding:
    """Find whether grids receive fewer tuples than SSP, with ten servers per join or more."""
    part = main_part(rows).filter(pl.col(X) >= 10)
    if missing := lacks(part, ("grid", "ssp"), X, 1):
        return missing
    shares = [a / b for a, b in zip(line(part, "grid", "received", X), line(part, "ssp", "received", X), strict=True)]
    return Finding(
        f"share {min(shares):.2f} to {max(shares):.2f}; {describe_means(part, ('grid', 'ssp'), 'received', X)}",
        max(shares) < 1,
    )


def readings(rows: pl.DataFrame, y: str) -> Finding:
    """Find whether SSP is best at about 15 servers under any reading of what the text leaves open."""
    part = select(rows, part="readings")
    if missing := lacks(part, ("ssp",), X, 3):
        return missing
    x = numbers_of(part, X)
    words = []
    near = False
    for split in ("least-loaded", "round-robin"):
        for full in ("tidy", "drop", "replace"):
            for policy in ("ssp", "ssp-printed"):
                kept = select(part, split=split, full=full, policy=policy)
                best = x[int(np.argmax([mean(kept, y, servers=value) for value in x]))]
                words.append(f"{policy}, {split}, {full}: {best:g}")
                near = near or NEAR[0] <= best <= NEAR[1]
    return Finding(f"best at: {'; '.join(words)}", near)


def grids(base: dict[str, Value], servers: tuple[int, ...], seeds: int) -> tuple[ParameterGrid, ...]:
    """Return the figure, policy by policy, and SSP under other readings of the text."""
    found = [
        ParameterGrid({X: servers}, {**base, "policy": policy, "split": split_by(policy), "full": "tidy"}, seeds)
        for policy in POLICIES
    ]
    vary = {
        X: servers,
        "policy": ("ssp", "ssp-printed"),
        "split": ("least-loaded", "round-robin"),
        "full": ("tidy", "drop", "replace"),
    }
    return (*found, ParameterGrid(vary, {**base, "part": "readings"}, max(seeds - 3, 1)))


ABOUT: Final = f"""
10 joins on 100 servers, each on 1 to 30 randomly drawn ones, for 5000 s. The part `readings` repeats both roles with
other readings of the text. One splits the master in turn. Others change what a full server does: drop new tuples at
once, or replace its oldest tuple. A server that drops at once can stay full of one stream for ever, because only
tuples of the other stream make it discard any.
{SETTING}
"""
WHY: Final = (
    "Joins ask for several times the capacity, so it matters most how many servers have a join at all. With 15 "
    "servers drawn for each of ten joins, 80 % have one; with 25, 94 %. Receiving costs about a tenth of a server at "
    "15 and grows slowly, so the two effects balance at 25 or more. The best number is smaller only where full "
    "servers drop at once and tuples go to the least loaded server. There it is 5 to 8."
)


def claims(y: str, word: str) -> tuple[Claim, ...]:
    """Return the claims of both figures."""
    return (
        Claim("peak", f"The {word} of SSP is best with about 15 servers per join.", partial(peak, y=y), WHY),
        Claim(
            "falls",
            f"With more servers the {word} of SSP falls again.",
            partial(falls, y=y),
            "If the faster stream is copied, as printed, 25 is best and 30 is slightly worse. If the slower one is "
            "copied, as the formula demands, the rise ends at 30 and the fall has not begun.",
        ),
        Claim("flat", f"The {word} of LLF is the same for any number of servers.", partial(flat, y=y)),
        Claim(
            "above", f"The {word} of SSP is far above LLF's.", partial(above, y=y, first="ssp", other="llf", least=3)
        ),
        Claim(
            "readings",
            "Not in the text: under one of the readings tried, SSP is best with about 15 servers.",
            partial(readings, y=y),
            "The best number is elsewhere for every way of splitting and of treating a full server.",
        ),
        Claim(
            "role",
            f"Not in the text: copying the slower stream gives more {word} than copying the faster one, as printed.",
            partial(above, y=y, first="ssp", other="ssp-printed", least=3),
        ),
        Claim(
            "grid",
            f"Not in the text: grids give more {word} than SSP from 8 servers per join on.",
            partial(above, y=y, first="grid", other="ssp", least=8),
        ),
        Claim("fewer", "Not in the text: from 10 servers per join on, grids send fewer tuples than SSP.", fewer),
    )


def figure(name: str, title: str, y: str, word: str) -> Experiment:
    """Return one of the two figures; they have the same rows."""
    return Experiment(
        name=name,
        title=title,
        about=ABOUT,
        grids=grids(BASE, SERVERS, 5),
        quick=grids(SMALL, (1, 4, 8), 1),
        measure=measure,
        columns=COLUMNS,
        claims=claims(y, word),
        panels=(
            Panel(x=X, y=y, line="policy", where={"part": "main"}),
            Panel(
                x=X,
                y=y,
                line="full",
                where={"part": "readings", "policy": "ssp", "split": "least-loaded"},
                title="ssp, by what a full server does",
            ),
            Panel(x=X, y="received", line="policy", where={"part": "main"}, label="tuples received, millions"),
        ),
    )


EXPERIMENTS: Final = (
    figure("D-fig4", "Throughput by servers per join", "throughput", "throughput"),
    figure("D-fig5", "Effective utilisation by servers per join", "utilisation", "utilisation"),
)

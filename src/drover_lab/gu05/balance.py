"""Fig. 6 [Gu05]: the effective utilisation of each of ten servers with two joins."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import polars as pl

from drover_lab.gu05.clusters import SETTING, outcome_of, split_by
from drover_lab.lines import lacks
from drover_lab.summary import column, mean, select, values_of
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value

POLICIES: Final = ("ssp", "grid", "llf")
BASE: Final[dict[str, Value]] = {"joins": 2, "nodes": 10, "servers": 10, "seconds": 5000.0, "section": 5000.0}
COLUMNS: Final = {
    "utilisation": "fraction of the server's capacity spent on join operations",
    "received": "tuples that it received, per second",
}


def measure(row: Row) -> Row:
    """Return the work of one server; `server` counts from 1."""
    found = outcome_of(row, "server")
    i = int(row["server"]) - 1
    return {
        "utilisation": float(found.utilisation[i]),
        "received": float(found.received[i]) / float(row["seconds"]),
    }


def spread(rows: pl.DataFrame, policy: str) -> float:
    """Return the standard deviation over servers, mean over seeds."""
    mine = select(rows, policy=policy)
    return float(np.mean([column(select(mine, seed=seed), "utilisation").std() for seed in values_of(mine, "seed")]))


def balanced(rows: pl.DataFrame, first: str, other: str, factor: float) -> Finding:
    """Find whether utilisation varies less between servers under one policy than under another, by that factor."""
    if missing := lacks(rows, (first, other), "server"):
        return missing
    mine = spread(rows, first)
    theirs = spread(rows, other)
    means = ", ".join(f"{policy} {mean(rows, 'utilisation', policy=policy):.3f}" for policy in (first, other))
    words = f"standard deviation over servers: {first} {mine:.4f}, {other} {theirs:.4f}; mean utilisation: {means}"
    return Finding(words, mine * factor < theirs)


def used(rows: pl.DataFrame) -> Finding:
    """Find whether grids use more of the servers than SSP."""
    if missing := lacks(rows, ("grid", "ssp"), "server"):
        return missing
    one, other = (mean(rows, "utilisation", policy=policy) for policy in ("grid", "ssp"))
    return Finding(f"mean utilisation: grid {one:.4f}, ssp {other:.4f}", one > other)


def grids(base: dict[str, Value], servers: int, seeds: int) -> tuple[ParameterGrid, ...]:
    """Return a grid for each policy: every server is a row."""
    return tuple(
        ParameterGrid(
            {"server": tuple(range(1, servers + 1))},
            {**base, "policy": policy, "split": split_by(policy), "full": "tidy"},
            seeds,
        )
        for policy in POLICIES
    )


EXPERIMENTS: Final = (
    Experiment(
        name="D-fig6",
        title="Utilisation of ten servers with two joins",
        about=f"The text does not say how many servers each join uses. Here both use all ten, for 5000 s.\n{SETTING}",
        grids=grids(BASE, 10, 5),
        quick=grids({**BASE, "nodes": 4, "servers": 4, "seconds": 300.0, "section": 300.0}, 4, 1),
        measure=measure,
        columns=COLUMNS,
        claims=(
            Claim(
                "balanced",
                "The utilisation of servers differs less with SSP than with LLF, which uses two of them.",
                partial(balanced, first="ssp", other="llf", factor=2.0),
            ),
            Claim("grid", "Not in the text: with a grid, servers are used more than with SSP.", used),
        ),
        panels=(Panel(x="server", y="utilisation", line="policy"), Panel(x="server", y="received", line="policy")),
    ),
)

"""Fig. 7 [Gu05]: throughput while rates change every 500 s, with roles that follow them and with fixed roles."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import polars as pl

from drover.load.arrays import Floats
from drover_lab.gu05.clusters import PAYBACK, PERIOD, SETTING, outcome_of
from drover_lab.lines import lacks
from drover_lab.summary import column, mean, numbers_of, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value, unjudged

SECTION: Final = 500.0
POLICIES: Final = ("ssp", "ssp-adaptive", "grid", "grid-adaptive")
BASE: Final[dict[str, Value]] = {"joins": 10, "nodes": 100, "seconds": 5000.0, "section": SECTION, "full": "tidy"}
SMALL: Final[dict[str, Value]] = {"joins": 4, "nodes": 20, "seconds": 600.0, "section": 200.0, "full": "tidy"}
COLUMNS: Final = {
    "throughput": "join operations of all servers in the last 50 s, in thousands",
    "changes": "changes of shape in the whole run",
}


def measure(row: Row) -> Row:
    """Return a sample of a run; `at` is its time in seconds."""
    found = outcome_of(row, "at")
    sample = found.operations[round(float(row["at"]) / PERIOD) - 1]
    return {"throughput": float(sample.sum()) / 1e3, "changes": found.changes}


def differences(rows: pl.DataFrame, servers: int, first: str, other: str) -> tuple[Floats, Floats]:
    """Return, for every sample after the first change of rates, the mean difference over seeds, and its error."""
    part = select(rows, servers=servers).filter(pl.col("at") > pl.col("section"))
    found = []
    errors = []
    for at in numbers_of(part, "at"):
        one, two = (column(select(part, policy=name, at=at).sort("seed"), "throughput") for name in (first, other))
        apart = (one - two) / two.mean()
        found.append(apart.mean())
        errors.append(apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.inf)
    return np.array(found), np.array(errors)


def better(rows: pl.DataFrame, servers: int, first: str, other: str, share: float) -> Finding:
    """Find whether a policy is above another in nearly all samples after the first change of rates."""
    if missing := lacks(select(rows, servers=servers), (first, other), "at", 3):
        return missing
    found, _ = differences(rows, servers, first, other)
    ahead = float((found > 0).mean())
    changes = mean(rows, "changes", policy=first, servers=servers)
    words = (
        f"above in {ahead:.0%} of samples, by {found.mean():.2%} on average ({found.min():.2%} to {found.max():.2%})"
    )
    return Finding(f"{words}; {changes:.0f} changes of shape", ahead >= share and bool(found.mean() > 0))


def never_below(rows: pl.DataFrame) -> Finding:
    """Find whether adaptive is never below static by more than noise: three standard errors, and a thousandth."""
    if missing := lacks(rows, POLICIES, "at", 3):
        return missing
    words = []
    holds = True
    for servers, first, other in (
        (5, "ssp-adaptive", "ssp"),
        (12, "ssp-adaptive", "ssp"),
        (12, "grid-adaptive", "grid"),
    ):
        found, errors = differences(rows, servers, first, other)
        if not np.isfinite(errors).all():
            return unjudged("noise can only be estimated from several seeds, and there is one")
        low = found + 3 * errors + 0.001
        words.append(f"{first} on {servers}: worst sample {found.min():.2%}, {int((low < 0).sum())} beyond noise")
        holds = holds and not (low < 0).any()
    return Finding("; ".join(words), holds)


def grids(base: dict[str, Value], seeds: int, servers: tuple[int, ...] = (5, 12)) -> tuple[ParameterGrid, ...]:
    """Return every sample as a row; grids where there is one that is not a single row or column."""
    at = tuple(PERIOD * (number + 1) for number in range(round(float(base["seconds"]) / PERIOD)))
    split = {"ssp": "least-loaded", "grid": "weighted"}
    return tuple(
        ParameterGrid(
            {"at": at}, {**base, "servers": count, "policy": policy, "split": split[policy.partition("-")[0]]}, seeds
        )
        for count in servers
        for policy in POLICIES
        if count > 5 or policy.startswith("ssp")
    )


ABOUT: Final = f"""
Ten joins on 100 servers, each on 5 of them, for 5000 s. All rates are drawn again every 500 s. Every 50 s, throughput
is sampled and rates are measured. `ssp` keeps the roles that were right at first. `ssp-adaptive` switches them if the
gain repays the cost within {PAYBACK:g} s. For as long as a window lasts, tuples go where they belong in both shapes,
so that no pair is lost or made twice. With 12 servers there are also grids, whose shapes are fixed or follow the
rates. We take *consistently* to mean in 95 % of the samples after the first change of rates, as means over seeds.
{SETTING}
"""

EXPERIMENTS: Final = (
    Experiment(
        name="D-fig7",
        title="Throughput while rates change",
        about=ABOUT,
        grids=grids(BASE, 10),
        quick=grids(SMALL, 1),
        measure=measure,
        columns=COLUMNS,
        claims=(
            Claim(
                "adaptive",
                "Adaptive SSP is consistently better than static SSP.",
                partial(better, servers=5, first="ssp-adaptive", other="ssp", share=0.95),
                "It is better on average, but only slightly. Roles affect only the cost of copies, which is a few "
                "percent of what five servers can do. It is slightly below in two kinds of samples: right after a "
                "change of rates, before roles change; and while tuples go where they belong in both shapes.",
            ),
            Claim(
                "adaptive-12",
                "Not in the text: the same with 12 servers per join.",
                partial(better, servers=12, first="ssp-adaptive", other="ssp", share=0.95),
            ),
            Claim(
                "grid",
                "Not in the text: with 12 servers, grids that follow the rates are above SSP that follows them.",
                partial(better, servers=12, first="grid-adaptive", other="ssp-adaptive", share=0.95),
            ),
            Claim("never-below", "Not in the text: adaptive is never below static by more than noise.", never_below),
        ),
        panels=(
            Panel(x="at", y="throughput", line="policy", where={"servers": 5}, title="5 servers per join"),
            Panel(x="at", y="throughput", line="policy", where={"servers": 12}, title="12 servers per join"),
        ),
    ),
)

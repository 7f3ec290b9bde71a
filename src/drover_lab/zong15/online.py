"""Fig. 5 [Zong15] and the remarks beside it: queries arrive one after the other, and stay."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from drover_lab.lines import lacks
from drover_lab.summary import numbers_of, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Value
from drover_lab.zong15.workloads import BASE, COLUMNS, SMALL, alike, describe_replication, line, lowest, measure, up_to

TEXT: Final = ("random", "least-cost", "least-source", "least-types")
OWN: Final = ("gather",)
VARIED: Final[dict[str, tuple[Value, ...]]] = {
    "skew": (1.0, 1.5, 2.0, 2.5, 3.0),
    "sources": (1, 2, 4, 6, 8, 10),
    "servers": (10, 30, 100, 300, 1000),
    "queries": (10_000, 100_000, 1_000_000),
}
FEW: Final[dict[str, tuple[Value, ...]]] = {
    "skew": (1.5, 2.0, 3.0),
    "sources": (1, 2, 4),
    "servers": (5, 20, 80),
    "queries": (1_000, 4_000),
}
ABOUT: Final = """
As H-fig4, but queries arrive in random order, are assigned on arrival, and stay. A server is open if its load stays
within max(n/k + 10, 1.05 n/k), where n counts the arrival. Ties go to the least loaded server, then to the lowest
number. `mms` is offline, for comparison. `gather` is drover's own. With few queries per server, the allowance of 10
exceeds the slack of 5 %. So at 1000 servers, online policies may fill a server to 1.1 times the mean.
"""


def of(rows: pl.DataFrame, part: str) -> pl.DataFrame:
    """Return the rows of one plot."""
    return select(rows, part=part)


def logarithmic(rows: pl.DataFrame) -> Finding:
    """Find whether the factor grows with the logarithm of the number of servers."""
    part = of(rows, "servers")
    if missing := lacks(part, TEXT, "servers", 3):
        return missing
    x = np.log(numbers_of(part, "servers"))
    fits = []
    for policy in TEXT[:3]:
        y = np.array(line(part, policy, "servers"))
        left = y - np.polyval(np.polyfit(x, y, 1), x)
        fits.append(1 - float((left**2).sum() / ((y - y.mean()) ** 2).sum()))
    words = ", ".join(f"{policy} {fit:.3f}" for policy, fit in zip(TEXT[:3], fits, strict=True))
    return Finding(
        f"R2 of a line over log k: {words}; {describe_replication(part, TEXT, 'servers')}", min(fits) >= 0.95
    )


def invariant(rows: pl.DataFrame) -> Finding:
    """Find whether the factor hardly depends on the number of queries."""
    part = of(rows, "queries")
    if missing := lacks(part, TEXT, "queries"):
        return missing
    spread = {policy: max(line(part, policy, "queries")) / min(line(part, policy, "queries")) for policy in TEXT}
    words = ", ".join(f"{policy} {value:.2f}" for policy, value in spread.items())
    return Finding(
        f"largest over smallest mean: {words}; {describe_replication(part, TEXT, 'queries')}",
        max(spread.values()) <= 1.15,
    )


def beats_offline(rows: pl.DataFrame) -> Finding:
    """Find whether LeastCost is below MMS somewhere."""
    part = of(rows, "skew")
    return up_to(part, ("least-cost",), "mms", "skew", 1.0)


def everywhere(rows: pl.DataFrame) -> Finding:
    """Find whether gathering takes no more than LeastCost in every plot."""
    found = [lowest(of(rows, part), OWN, ("least-cost",), part) for part in VARIED]
    return Finding(
        " | ".join(each.measured for each in found),
        all(each.holds for each in found),
        all(each.judged for each in found),
    )


def grids(base: dict[str, Value], varied: dict[str, tuple[Value, ...]], seeds: int) -> tuple[ParameterGrid, ...]:
    """Return a grid for each plot."""
    found = []
    for part, values in varied.items():
        policies = TEXT + OWN + (("mms",) if part == "skew" else ())
        rest = {key: value for key, value in base.items() if key != part}
        found.append(ParameterGrid({part: values, "policy": policies}, {**rest, "part": part}, seeds))
    return tuple(found)


EXPERIMENTS: Final = (
    Experiment(
        name="H-fig5",
        title="Online assignment without departures",
        about=ABOUT,
        grids=grids(BASE, VARIED, 5),
        quick=grids(SMALL, FEW, 2),
        measure=measure,
        columns=COLUMNS,
        panels=(
            Panel(x="skew", y="replication", line="policy", where={"part": "skew"}, log="y"),
            Panel(x="sources", y="replication", line="policy", where={"part": "sources"}),
            Panel(x="servers", y="replication", line="policy", where={"part": "servers"}, log="x"),
            Panel(x="queries", y="replication", line="policy", where={"part": "queries"}, log="x"),
        ),
        claims=(
            Claim(
                "best",
                "LeastCost is the best online policy by skew.",
                lambda rows: lowest(
                    of(rows, "skew"), ("least-cost",), ("random", "least-source", "least-types"), "skew"
                ),
                "At skew 1 there are about 30 sources, and LeastSource is a little better.",
            ),
            Claim(
                "best-by-sources",
                "LeastCost is the best online policy by sources per query.",
                lambda rows: lowest(
                    of(rows, "sources"), ("least-cost",), ("random", "least-source", "least-types"), "sources"
                ),
            ),
            Claim(
                "four-times",
                "LeastCost is up to four times better than OnRand.",
                lambda rows: up_to(of(rows, "skew"), ("least-cost",), "random", "skew", 4.0),
            ),
            Claim("offline", "LeastCost is sometimes better than MMS, which knows all queries.", beats_offline),
            Claim(
                "least-source",
                "LeastSource is close to LeastCost.",
                lambda rows: alike(of(rows, "skew"), "least-source", "least-cost", "skew", 1.15),
                "It is from skew 2 on. Below that, a few sources are everywhere, and balancing traffic copies them "
                "more often.",
            ),
            Claim(
                "least-types",
                "LeastQT is virtually the same as OnRand.",
                lambda rows: alike(of(rows, "skew"), "least-types", "random", "skew", 1.1),
                "It is from skew 2 on, where most types have one query. Below that, it helps to keep types together.",
            ),
            Claim("servers", "The factor grows with the logarithm of the number of servers.", logarithmic),
            Claim(
                "queries",
                "The factor is largely invariant to the number of queries.",
                invariant,
                "It is from 100,000 queries on. With 10,000, the allowance of 10 lets a server have a tenth more than "
                "the mean.",
            ),
            Claim(
                "gather",
                "Not in the text: gathering takes at most the traffic of LeastCost in every plot.",
                everywhere,
                "At skew 1, about thirty sources are everywhere, and it takes as much as LeastCost, within a few "
                "parts in ten thousand. Elsewhere it takes up to 14 % less.",
            ),
        ),
    ),
)

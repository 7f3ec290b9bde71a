"""Fig. 8 [Zong15]: sources with different rates."""

from __future__ import annotations

from typing import Final

import polars as pl

from drover_lab.lines import lacks
from drover_lab.summary import numbers_of, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Value
from drover_lab.zong15.workloads import BASE, COLUMNS, SMALL, describe_replication, line, lowest, measure

KINDS: Final = ("random", "positive", "negative")
TEXT: Final = ("mms", "random", "least-cost", "least-source", "least-types")
OWN: Final = ("gather",)
ABOUT: Final = """
As H-fig5, with different rates of sources. `random` draws them from a power law with exponent 2. `positive` rates are
proportional to the number of queries that subscribe to a source; `negative` rates are inversely proportional. The
text varies an exponent from 1 to 3, but does not say whether it is that of rates or of popularity. Where rates follow
popularity, both are the same, so we vary popularity.
"""


def ordered(rows: pl.DataFrame) -> Finding:
    """Find whether factors rise with the correlation of rates and popularity."""
    parts = [select(rows, rates=kind) for kind in ("negative", "random", "positive")]
    for part in parts:
        if missing := lacks(part, ("least-cost", "random"), "skew", 1):
            return missing
    holds = all(
        low <= middle <= high
        for policy in TEXT
        for low, middle, high in zip(*(line(part, policy, "skew") for part in parts), strict=True)
    )
    words = " | ".join(
        f"{kind} {describe_replication(part, TEXT, 'skew')}"
        for kind, part in zip(("negative", "random", "positive"), parts, strict=True)
    )
    return Finding(words, holds)


def typically(rows: pl.DataFrame) -> Finding:
    """Find whether LeastCost is the best of the text's policies for most kinds of rates and skews."""
    others = tuple(policy for policy in TEXT if policy != "least-cost")
    found = [
        lowest(select(rows, rates=kind, skew=skew), ("least-cost",), others, "skew", 1.001)
        for kind in KINDS
        for skew in numbers_of(rows, "skew")
    ]
    best = sum(each.holds for each in found)
    return Finding(
        f"it is the best in {best} of {len(found)} cases", best > len(found) / 2, all(each.judged for each in found)
    )


def negative(rows: pl.DataFrame) -> Finding:
    """Find whether LeastCost is clearly below MMS where popular sources are slow."""
    part = select(rows, rates="negative")
    if missing := lacks(part, ("least-cost", "mms"), "skew", 1):
        return missing
    gains = [b / a for a, b in zip(line(part, "least-cost", "skew"), line(part, "mms", "skew"), strict=True)]
    words = f"MMS takes {min(gains):.3f} to {max(gains):.3f} times as much"
    return Finding(f"{words}; {describe_replication(part, ('least-cost', 'mms'), 'skew')}", max(gains) >= 1.2)


def everywhere(rows: pl.DataFrame) -> Finding:
    """Find whether gathering takes no more than LeastCost."""
    found = [lowest(select(rows, rates=kind), OWN, ("least-cost",), "skew") for kind in KINDS]
    words = " | ".join(f"{kind} {each.measured}" for kind, each in zip(KINDS, found, strict=True))
    return Finding(words, all(each.holds for each in found), all(each.judged for each in found))


def grids(base: dict[str, Value], skews: tuple[float, ...], seeds: int) -> tuple[ParameterGrid, ...]:
    """Return all kinds of rates."""
    rest = {key: value for key, value in base.items() if key != "skew"}
    return (ParameterGrid({"rates": KINDS, "skew": skews, "policy": TEXT + OWN}, rest, seeds),)


EXPERIMENTS: Final = (
    Experiment(
        name="H-fig8",
        title="Sources of different rates",
        about=ABOUT,
        grids=grids(BASE, (1.5, 2.0, 2.5, 3.0), 3),
        quick=grids(SMALL, (1.5, 2.5), 2),
        measure=measure,
        columns=COLUMNS,
        panels=tuple(
            Panel(x="skew", y="replication", line="policy", title=kind, where={"rates": kind}, log="y")
            for kind in KINDS
        ),
        claims=(
            Claim(
                "correlation",
                "The more positive the correlation of rate and popularity, the larger the factor.",
                ordered,
            ),
            Claim("best", "Typically LeastCost is the best.", typically),
            Claim(
                "negative",
                "With negative correlation LeastCost is substantially better than MMS.",
                negative,
                "The sources that count have one query each, and no policy copies those. So all factors are near 1.",
            ),
            Claim("gather", "Not in the text: gathering takes at most the traffic of LeastCost.", everywhere),
        ),
    ),
)

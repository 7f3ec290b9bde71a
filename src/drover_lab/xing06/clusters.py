"""The claims of Fig. 6.8 to 6.11 [Xing06] about clusters, as functions of rows.

Rule 1: the text does not say how large clusters may be, so every claim is judged twice: for `clustered`, whose clusters
are at most a node's share of a stream, and for `clustered-wide`, whose clusters may be larger.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import polars as pl

from drover_lab.summary import listed, mean, numbers_of, over, rank_correlation, select
from drover_lab.table import Claim, Finding, unjudged
from drover_lab.xing06.trees import ROD

WORSE: Final = 0.99  # a ratio above this is not a loss: the sizes are estimates
READINGS: Final = {"": "clustered", "-wide": "clustered-wide"}
WHY: Final = {
    "clustered": "In a small graph, a single operator exceeds a node's share of its stream, so a psi of at most 1 "
    "forbids every cluster. The results of `clustered-wide` show how much this matters.",
    "clustered-wide": "We compare clusterings by their plane distance, which bounds the feasible set but is not its "
    "size. Now and then the more distant plane belongs to the smaller set.",
}


def both(name: str, text: str, find: Callable[[str, pl.DataFrame], Finding], why: str = "") -> tuple[Claim, ...]:
    """Return a claim in both readings; `why` applies to both, if the reason is not the size of clusters."""
    said = {"": text, "-wide": f"{text[:-1]}, also with larger clusters."}
    return tuple(
        Claim(name + suffix, said[suffix], partial(find, policy), why or WHY[policy])
        for suffix, policy in READINGS.items()
    )


def gains(rows: pl.DataFrame, clusters: str, other: str) -> dict[float, list[float]]:
    """Return, by number of operators and for rising cost, the mean size with clusters over that of a policy."""
    costs = numbers_of(rows, "cost")
    found = {}
    for m in numbers_of(rows, "operators"):
        part = select(rows, operators=int(m))
        means = [[mean(part, "ratio", policy=policy, cost=cost) for cost in costs] for policy in (clusters, other)]
        found[m] = [over(one, two) for one, two in zip(*means, strict=True)]
    return found


def describe_gains(rows: pl.DataFrame, clusters: str, other: str) -> str:
    """Return the same in words."""
    lines = gains(rows, clusters, other).items()
    words = "; ".join(f"{m:g} operators {listed(line)}" for m, line in lines)
    return f"{clusters} over {other} at cost {listed(numbers_of(rows, 'cost'))}: {words}"


def matters_more(clusters: str, rows: pl.DataFrame) -> Finding:
    """Find whether clusters gain more as links cost more."""
    costs = numbers_of(rows, "cost")
    if len(costs) < 3:
        return unjudged("two costs do not make a trend")
    lines = gains(rows, clusters, ROD).values()
    holds = all(rank_correlation(costs, line) >= 0.8 and line[-1] > 1 for line in lines)
    return Finding(describe_gains(rows, clusters, ROD), holds)


def always_better(clusters: str, rows: pl.DataFrame) -> Finding:
    """Find whether clusters are better than `connected` at every cost."""
    lines = gains(rows, clusters, "connected").values()
    return Finding(describe_gains(rows, clusters, "connected"), all(gain > 1 for line in lines for gain in line))


def better_with_more(clusters: str, rows: pl.DataFrame) -> Finding:
    """Find whether the gain over `connected` grows with the number of operators, at every cost."""
    lines = gains(rows, clusters, "connected").values()
    if len(lines) < 3:
        return unjudged("two numbers of operators do not make a trend")
    at_cost = list(zip(*lines, strict=True))
    rising = sum(list(line) == sorted(line) for line in at_cost)
    words = describe_gains(rows, clusters, "connected")
    return Finding(f"rises throughout at {rising} of {len(at_cost)} costs; {words}", rising == len(at_cost))


def at_costs(rows: pl.DataFrame, clusters: str, low: float, high: float) -> list[float]:
    """Return all gains over ROD at costs in a range, by number of operators and then by cost."""
    costs = numbers_of(rows, "cost")
    lines = gains(rows, clusters, ROD).values()
    return [line[costs.index(cost)] for line in lines for cost in costs if low <= cost <= high]


def same_if_abundant(clusters: str, rows: pl.DataFrame) -> Finding:
    """Find whether clusters change nothing while bandwidth is not the bottleneck."""
    found = at_costs(rows, clusters, 0, 0.8)
    holds = all(abs(gain - 1) <= 1 - WORSE for gain in found)
    return Finding(f"{clusters} over plain ROD at 0.2 and 0.8, by number of operators: {listed(found)}", holds)


def better_at_the_edge(clusters: str, rows: pl.DataFrame) -> Finding:
    """Find whether clusters can be better where bandwidth and processor are filled together."""
    found = at_costs(rows, clusters, 1, 1)
    words = f"{clusters} over plain ROD at 1, by number of operators: {listed(found)}"
    return Finding(words, min(found) >= WORSE and max(found) > 1.01)


def much_better_if_scarce(clusters: str, rows: pl.DataFrame) -> Finding:
    """Find whether clusters are much better, by half at least, where bandwidth is the bottleneck."""
    found = at_costs(rows, clusters, 2, 10)
    return Finding(f"{clusters} over plain ROD at 2 and 10, by number of operators: {listed(found)}", min(found) >= 1.5)

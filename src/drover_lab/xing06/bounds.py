"""Fig. 4.5 and 4.7 [Xing06]: sizes of feasible sets against the two bounds that MMAD and MMPD make large."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator, default_rng

from drover.load.arrays import Floats
from drover.load.feasible import axis_bound, plane_bound, plane_distance, weights
from drover.placement.policy import propose
from drover.placement.score import hyperplanes
from drover_lab.summary import bins, column, listed, rank_correlation, select, values_of
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value, unjudged
from drover_lab.xing06.trees import ratio, tree

BINS: Final = 10
ERROR: Final = 5e-3  # of an estimate of a ratio, more than three standard deviations
MAIN: Final[dict[str, Value]] = {"kind": "uniform", "nodes": 10, "streams": 3}


def matrix(kind: str, nodes: int, streams: int, rng: Generator) -> Floats:
    """Return random weights, (n, d), of node load coefficients drawn in one of three ways."""
    if kind == "plans":  # as many operators on every node, of 50 in random trees
        problem = tree(int(rng.integers(100)), nodes=nodes, streams=streams, size=50 // streams)
        return hyperplanes(problem, propose(problem, "random", rng))
    drawn = rng.uniform(size=(nodes, streams)) if kind == "uniform" else rng.exponential(size=(nodes, streams))
    return weights(drawn, np.ones(nodes))


def measure(row: Row) -> Row:
    """Draw a matrix and measure it."""
    seed = int(row["seed"])
    nodes = int(row["nodes"])
    streams = int(row["streams"])
    weighed = matrix(str(row["kind"]), nodes, streams, default_rng((seed, nodes, streams)))
    nearest = float(plane_distance(weighed).min()) * np.sqrt(streams)  # r* = 1 / sqrt(d)
    return {"g": axis_bound(weighed), "r": float(nearest), "ball": plane_bound(weighed), "ratio": ratio(weighed)}


def envelopes(rows: pl.DataFrame, x: str) -> tuple[Floats, Floats, Floats]:
    """Return, (10,) each, the median of x and the 1st and 99th percentile of the ratio, in groups of rising x."""
    at = column(rows, x)
    size = column(rows, "ratio")
    groups = bins(at, BINS)
    low, high = zip(*(np.percentile(size[group], (1, 99)) for group in groups), strict=True)
    return np.array([np.median(at[group]) for group in groups]), np.array(low), np.array(high)


def both_rise(x: str, rows: pl.DataFrame) -> Finding:
    """Find whether both envelopes rise with x, in every way of drawing and every shape."""
    described = []
    holds = True
    for kind, nodes, streams in rows.select("kind", "nodes", "streams").unique(maintain_order=True).iter_rows():
        part = select(rows, kind=kind, nodes=nodes, streams=streams)
        if len(part) < 10 * BINS:
            return unjudged(f"{len(part)} rows of a kind are too few for {BINS} groups")
        at, low, high = envelopes(part, x)
        below = rank_correlation(at, low)
        above = rank_correlation(at, high)
        holds &= min(below, above) > 0.9
        described.append(f"{kind}, {nodes} nodes, {streams} streams: {below:.2f} and {above:.2f}")
    return Finding(f"rank correlation of {x} with the 1st and 99th percentile: {'; '.join(described)}", holds)


def stays_above(bound: str, rows: pl.DataFrame) -> Finding:
    """Find whether the ratio is never below a bound."""
    slack = column(rows, "ratio") - column(rows, bound) * (1 - ERROR)
    return Finding(
        f"{int((slack < 0).sum())} of {len(rows)} below; nearest: the ratio is "
        f"{float((column(rows, 'ratio') / column(rows, bound)).min()):.3f} times the bound",
        bool((slack >= 0).all()),
    )


def differ_widely(rows: pl.DataFrame) -> Finding:
    """Find whether plans of nearly the same g differ by half or more in the middle of the range."""
    part = select(rows, **MAIN)
    if len(part) < 1000:
        return unjudged(f"{len(part)} rows are too few to find equal g")
    at = column(part, "g")
    size = column(part, "ratio")
    near = size[np.abs(at / np.median(at) - 1) < 0.02]
    factor = float(near.max() / near.min())
    return Finding(
        f"among {len(near)} matrices within 2 % of the median g, ratios go from {near.min():.3f} to {near.max():.3f}, "
        f"{factor:.2f} times",
        factor >= 1.5,
    )


def follows_power(rows: pl.DataFrame) -> Finding:
    """Find whether the lower envelope grows as r^d."""
    part = select(rows, **MAIN)
    if len(part) < 10 * BINS:
        return unjudged(f"{len(part)} rows are too few for {BINS} groups")
    at, low, _high = envelopes(part, "r")
    slope = float(np.polyfit(np.log(at), np.log(low), 1)[0])
    return Finding(f"the lower envelope grows as r^{slope:.2f}; d = 3", abs(slope - 3) <= 0.75)


def lower_is_linear(rows: pl.DataFrame) -> Finding:
    """Find whether the lower envelope over g is a straight line."""
    part = select(rows, **MAIN)
    if len(part) < 10 * BINS:
        return unjudged(f"{len(part)} rows are too few for {BINS} groups")
    at, low, _high = envelopes(part, "g")
    fit = np.polyfit(at, low, 1)
    left = float(((low - np.polyval(fit, at)) ** 2).sum() / ((low - low.mean()) ** 2).sum())
    return Finding(f"a line of slope {fit[0]:.2f} explains {1 - left:.1%} of its variance", 1 - left >= 0.95)


def better_guide(rows: pl.DataFrame) -> Finding:
    """Find whether both g and r correlate with the ratio."""
    correlations = []
    for kind in values_of(rows, "kind"):
        part = select(rows, **{**MAIN, "kind": kind})
        if len(part) < BINS:
            return unjudged(f"{len(part)} rows of a kind are too few for a correlation")
        size = np.log(column(part, "ratio"))
        correlations.append([float(np.corrcoef(np.log(column(part, x)), size)[0, 1]) for x in ("g", "r")])
    words = f"correlation of logarithms by kind: g {listed(pair[0] for pair in correlations)}"
    return Finding(
        f"{words}; r {listed(pair[1] for pair in correlations)}", all(pair[0] > 0.5 < pair[1] for pair in correlations)
    )


ABOUT: Final = """
The text draws 10,000 random node load coefficient matrices for 10 nodes and 3 streams, without saying how. We draw
them in three ways: every coefficient uniform, every coefficient exponential, and random plans. The plans have 50
operators in random trees, with equally many on every node. Matrices for other numbers of nodes and streams are
uniform. The ratio is the size of the feasible set divided by that of the ideal one, from 4096 Sobol points. g is
prod_k min_i 1/w_ik. r is the smallest distance of a hyperplane from the origin, divided by that of the ideal one.
*Bounds of the ratio at a given g or r* are its 1st and 99th percentile in ten groups of equal size.
"""
COLUMNS: Final = {
    "g": "the product over streams of the least axis distance; MMAD maximises it",
    "r": "the least plane distance, divided by the ideal one; MMPD maximises it",
    "ball": "the size of the ball of radius r, divided by that of the ideal set",
    "ratio": "size of the feasible set, divided by that of the ideal one",
}
OTHER_SHAPES: Final = ((5, 3), (20, 3), (10, 2), (10, 5))


def grids(main: int, other: int) -> tuple[ParameterGrid, ...]:
    """Return the rows: matrices of each kind, and matrices of other shapes."""
    kinds = ParameterGrid({"kind": ("uniform", "exponential", "plans")}, {"nodes": 10, "streams": 3}, main)
    shapes = [ParameterGrid({"kind": ("uniform",)}, {"nodes": n, "streams": d}, other) for n, d in OTHER_SHAPES]
    return (kinds, *shapes)


def experiment(name: str, title: str, x: str, bound: str, claims: tuple[Claim, ...]) -> Experiment:
    """Return one of the two experiments; they have the same rows, but another x and another bound."""
    panels = tuple(
        Panel(
            x=x,
            y="ratio",
            kind="points",
            title=f"{kind}, 10 nodes, 3 streams",
            bound=bound,
            where={**MAIN, "kind": kind},
        )
        for kind in ("uniform", "exponential", "plans")
    )
    return Experiment(
        name=name,
        title=title,
        about=ABOUT,
        grids=grids(10_000, 2_000),
        quick=grids(300, 100),
        measure=measure,
        columns=COLUMNS,
        panels=panels,
        claims=claims,
    )


EXPERIMENTS: Final = (
    experiment(
        "R-fig4.5",
        "Feasible set size against the product of axis distances",
        "g",
        "g",
        (
            Claim("bound", "The ratio is never below g.", partial(stays_above, "g")),
            Claim("rises", "Both the upper and the lower bound of the ratio rise with g.", partial(both_rise, "g")),
            Claim("linear", "The lower bound in the figure follows a linear function.", lower_is_linear),
            Claim("spread", "Plans with the same g have very different feasible sets.", differ_widely),
        ),
    ),
    experiment(
        "R-fig4.7",
        "Feasible set size against the least plane distance",
        "r",
        "ball",
        (
            Claim("bound", "The ratio is never below the size of the ball of radius r.", partial(stays_above, "ball")),
            Claim(
                "rises",
                "Both the upper and the lower bound of the ratio rise with r, also for other numbers of nodes and "
                "streams.",
                partial(both_rise, "r"),
            ),
            Claim("power", "The lower bound is very close to a function proportional to r^d.", follows_power),
            Claim("guides", "Both g and r say much about the size of the feasible set.", better_guide),
        ),
    ),
)

"""Fig. 6.6, Fig. 6.7 and Table 6.1 [Xing06]: the cost of an unknown or a wrong lower bound on the rates."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.load.arrays import Floats, Ints
from drover.placement.problem import PlacementProblem
from drover.placement.resilient.place import place_resilient
from drover.placement.score import feasible
from drover.placement.search.feasible import SearchEffort, place_searched
from drover_lab.summary import bins, column, listed, mean, numbers_of, rank_correlation, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, unjudged
from drover_lab.xing06.trees import ROD, SIZES, ideal_points, points, tree

GRAPHS: Final = 10
STREAMS: Final = 5
EFFORT: Final = SearchEffort(look=20_000_000)  # a twentieth of the default: each row searches twice
PRINTED: Final = {"origin": (0.90, 0.79, 0.56, 0.35), "other": (0.89, 0.83, 0.55, 0.32)}
NEAR: Final = 0.1  # of what is printed


def above(problem: PlacementProblem, point: Floats) -> PlacementProblem:
    """Return a problem whose rates are at least those of a point, (d,), of the ideal set."""
    totals = problem.coefficients.sum(axis=0)
    return replace(problem, lower=point * problem.capacity.sum() / totals)


def place(problem: PlacementProblem, method: str, seed: int) -> Ints:
    """Return the plan of a method that knows lower bounds."""
    if method == ROD:
        return place_resilient(problem, default_rng(seed))
    return place_searched(problem, default_rng(seed), EFFORT)


def measure(row: Row) -> Row:
    """Place a graph with the true lower bound and with another one; compare the feasible sets above the true one."""
    seed = int(row["seed"])
    method = str(row["method"])
    problem = tree(seed % GRAPHS, size=int(row["operators"]) // STREAMS)
    true, other = ideal_points(seed, STREAMS, 2)
    assumed = np.zeros(STREAMS) if row["assumed"] == "origin" else other
    # Both plans are judged above the true bound. They differ only in the bound that they were made for.
    judged = above(problem, true)
    informed = feasible(judged, place(judged, method, seed), points(STREAMS))
    misled = feasible(judged, place(above(problem, assumed), method, seed), points(STREAMS))
    return {
        "informed": informed,
        "misled": misled,
        "penalty": (informed - misled) / informed if informed > 0 else math.nan,
        "height": float(1 - true.sum()),
        "distance": float(np.linalg.norm(true - assumed) * np.sqrt(STREAMS)),
    }


def trend(rows: pl.DataFrame, x: str, assumed: str, falling: bool) -> Finding:
    """Find whether the penalty falls, or rises, with x: mean penalties in groups of rising x."""
    part = select(rows, assumed=assumed, method=ROD, operators=50).filter(pl.col("penalty").is_finite())
    if len(part) < 30:
        return unjudged(f"{len(part)} points have a plan that can carry the lower bound at all")
    at = column(part, x)
    penalty = column(part, "penalty")
    groups = bins(at, 6)
    line = [float(penalty[group].mean()) for group in groups]
    middle = [float(np.median(at[group])) for group in groups]
    trend = rank_correlation(middle, line)
    return Finding(
        f"mean penalty {listed(line, 2)} at {x} {listed(middle, 2)}; rank correlation {trend:.2f}",
        trend <= -0.8 if falling else trend >= 0.8,
    )


def drops(rows: pl.DataFrame) -> Finding:
    """Find whether the mean penalty falls with the number of operators."""
    sizes = numbers_of(rows, "operators")
    if len(sizes) < 2:
        return unjudged("one number of operators does not make a trend")
    lines = {key: [mean(rows, "penalty", operators=int(m), assumed=key, method=ROD) for m in sizes] for key in PRINTED}
    described = "; ".join(
        f"{key} {listed(line, 2)} (on points that count at every size {listed(common(rows, key), 2)})"
        for key, line in lines.items()
    )
    return Finding(described, all(line == sorted(line, reverse=True) for line in lines.values()))


def common(rows: pl.DataFrame, assumed: str) -> list[float]:
    """Return mean penalties by number of operators, over the points whose penalty is known for every number."""
    part = select(rows, assumed=assumed, method=ROD)
    lost = set(part.filter(pl.col("penalty").is_nan())["seed"].to_list())
    kept = part.filter(~pl.col("seed").is_in(list(lost)))
    return [mean(kept, "penalty", operators=int(m)) for m in numbers_of(rows, "operators")]


def as_printed(rows: pl.DataFrame) -> Finding:
    """Find whether mean penalties are near the printed ones."""
    described = []
    holds = True
    for key, printed in PRINTED.items():
        found = [mean(rows, "penalty", operators=m, assumed=key, method=ROD) for m in SIZES]
        if any(math.isnan(value) for value in found):
            return unjudged("not every number of operators was run")
        part = select(rows, assumed=key, method=ROD)
        lost = [1 - mean(part, "misled", operators=m) / mean(part, "informed", operators=m) for m in SIZES]
        kept = [int(select(part, operators=m)["penalty"].is_finite().sum()) for m in SIZES]
        holds &= all(abs(mine - theirs) <= NEAR for mine, theirs in zip(found, printed, strict=True))
        described.append(
            f"{key}: {listed(found, 2)} (printed {listed(printed, 2)}); of mean sizes instead of the mean of ratios "
            f"{listed(lost, 2)}; points that could be used {listed(kept)}"
        )
    return Finding("; ".join(described), holds)


ABOUT: Final = """
Random trees as in Fig. 6.3. A point B, drawn evenly from the ideal set, is the true lower bound on the rates. One
plan is made with knowledge of B. The other assumes the origin, or another such point Z. Both are measured by the part
of their feasible set above B. The penalty is (informed - misled) / informed. Where even the informed plan cannot
carry B, this is 0/0, and we leave the point out. That is so for most points at 25 operators; the text does not
mention it.

The *height* of B is its distance to the ideal hyperplane, divided by that of the origin. *distance* is that from B to
the assumed bound, in units of the distance between origin and ideal hyperplane. The text does not give its unit; its
largest distance, 4, does not occur in ours. Points are assigned to ten graphs in turn. `searched` is drover's search
in place of ROD, in both plans, with a twentieth of its usual effort.
"""
COLUMNS: Final = {
    "informed": "remaining ratio above B of the plan that knows B",
    "misled": "the same for the plan that assumes something else",
    "penalty": "(informed - misled) / informed; NaN if informed is 0",
    "height": "distance of B to the ideal hyperplane, divided by that of the origin",
    "distance": "distance from B to the assumed bound",
}


def experiment(
    name: str,
    title: str,
    grids: tuple[ParameterGrid, ...],
    quick: tuple[ParameterGrid, ...],
    claims: tuple[Claim, ...],
    panels: tuple[Panel, ...],
) -> Experiment:
    """Return one of the three."""
    return Experiment(
        name=name,
        title=title,
        about=ABOUT,
        grids=grids,
        quick=quick,
        measure=measure,
        columns=COLUMNS,
        claims=claims,
        panels=panels,
    )


def one_size(assumed: str, seeds: int) -> tuple[ParameterGrid, ...]:
    """Return points on graphs of 50 operators."""
    return (ParameterGrid({"method": (ROD,)}, {"operators": 50, "assumed": assumed}, seeds),)


EXPERIMENTS: Final = (
    experiment(
        "R-fig6.6",
        "Penalty for not knowing a lower bound",
        one_size("origin", 1000),
        one_size("origin", 100),
        (
            Claim(
                "drops-off",
                "Close to the ideal hyperplane the penalty is large; it drops off as B approaches the origin.",
                lambda rows: trend(rows, "height", "origin", falling=True),
            ),
        ),
        (Panel(x="height", y="penalty", kind="points", title="50 operators, the origin assumed"),),
    ),
    experiment(
        "R-fig6.7",
        "Penalty for a wrong lower bound",
        one_size("other", 1000),
        one_size("other", 100),
        (
            Claim(
                "rises",
                "The penalty is low if true and assumed bound are close, and rises with their distance.",
                lambda rows: trend(rows, "distance", "other", falling=False),
            ),
        ),
        (Panel(x="distance", y="penalty", kind="points", title="50 operators, another point assumed"),),
    ),
    experiment(
        "R-table6.1",
        "Mean penalty by number of operators",
        (
            ParameterGrid({"operators": SIZES, "assumed": ("origin", "other"), "method": (ROD,)}, {}, 1000),
            ParameterGrid({"operators": SIZES, "assumed": ("origin",), "method": ("searched",)}, {}, 100),
        ),
        (ParameterGrid({"operators": (50, 100), "assumed": ("origin", "other"), "method": (ROD,)}, {}, 60),),
        (
            Claim(
                "falls",
                "The average penalty drops as the number of operators grows.",
                drops,
                "It does from 50 operators on. With 25, plans can carry only bounds far from the ideal hyperplane, "
                "and those have small penalties. So we also give means over the same points for every size.",
            ),
            Claim(
                "as-printed",
                "It is 0.90, 0.79, 0.56, 0.35 without a bound, and 0.89, 0.83, 0.55, 0.32 with a wrong one, for 25, "
                "50, 100, 200 operators (we accept a difference of up to 0.1).",
                as_printed,
                "The graphs are not the text's, and the text does not say how it counts points that no plan can "
                "carry. Penalties fall as in the text, but are higher; those of a wrong bound are far higher. ROD "
                "with a bound gives up what lies below it. In five dimensions, a wrong bound is mostly far from the "
                "true one.",
            ),
        ),
        (
            Panel(
                x="operators",
                y="penalty",
                line="assumed",
                log="x",
                where={"method": ROD},
                title="ROD",
                printed={key: dict(zip(map(float, SIZES), values, strict=True)) for key, values in PRINTED.items()},
            ),
            Panel(
                x="operators",
                y="informed",
                line="method",
                log="x",
                where={"assumed": "origin"},
                title="What an informed plan keeps",
            ),
        ),
    ),
)

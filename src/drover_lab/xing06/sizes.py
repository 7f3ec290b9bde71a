"""Fig. 6.1 to 6.4 [Xing06]: how large feasible sets are, by policy and number of operators."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Final

import numpy as np
import polars as pl

from drover.placement.score import hyperplanes
from drover_lab.summary import column, listed, numbers_of, over, select, values_of
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, unjudged
from drover_lab.xing06.trees import (
    OTHERS,
    ROD,
    SIZES,
    WORDS,
    always_above,
    by_line,
    ideal_points,
    place,
    ratio,
    tree,
)

STREAMS: Final = 5
TRIED: Final = 100  # workload points, as on the prototype of the text
FIRST: Final = 100  # graph: not among those that drover's defaults were chosen on


@lru_cache(maxsize=64)
def of_rod(operators: int, graph: int) -> float:
    """Return the ratio that ROD's plan reaches."""
    problem = tree(graph, size=operators // STREAMS)
    return ratio(hyperplanes(problem, place(problem, ROD, (graph,))))


def measure(row: Row) -> Row:
    """Place a random graph by a policy and measure the plan."""
    graph = int(row["seed"])
    run = int(row["run"])
    operators = int(row["operators"])
    problem = tree(graph, size=operators // STREAMS)
    weighed = hyperplanes(problem, place(problem, str(row["policy"]), (graph, run)))
    tried = ideal_points(graph, STREAMS, TRIED)
    counted = float((tried @ weighed.T <= 1).all(axis=1).mean())
    found = ratio(weighed)
    return {"ratio": found, "counted": counted, "to_rod": found / of_rod(operators, graph)}


def grows(y: str, rows: pl.DataFrame) -> Finding:
    """Find whether ROD's ratio rises with the number of operators towards 1."""
    line = by_line(rows, y, "operators")[ROD]
    if max(numbers_of(rows, "operators")) < max(SIZES):
        return unjudged("no graph of 200 operators was run")
    return Finding(f"ROD reaches {listed(line)}", line == sorted(line) and line[-1] >= 0.8)


def others_grow(y: str, rows: pl.DataFrame) -> Finding:
    """Find whether most of the other policies rise with the number of operators."""
    lines = {name: line for name, line in by_line(rows, y, "operators").items() if name in OTHERS}
    rising = [name for name, line in lines.items() if line == sorted(line)]
    described = "; ".join(f"{name} {listed(line)}" for name, line in lines.items())
    return Finding(f"{len(rising)} of {len(lines)} rise throughout: {described}", len(rising) > len(lines) / 2)


def keeps_its_lead(rows: pl.DataFrame) -> Finding:
    """Find whether the ratio of the others to ROD is about the same for every number of operators."""
    lines = {name: line for name, line in by_line(rows, "counted", "operators").items() if name in OTHERS}
    rod = by_line(rows, "counted", "operators")[ROD]
    shares = {name: [over(mine, best) for mine, best in zip(line, rod, strict=True)] for name, line in lines.items()}
    spread = {name: over(max(line), min(line)) for name, line in shares.items()}
    described = "; ".join(f"{name} {listed(line)}" for name, line in shares.items())
    return Finding(f"over ROD: {described}", max(spread.values()) <= 2)


def agrees(rows: pl.DataFrame) -> Finding:
    """Find whether counting few points and integrating give the same means."""
    one = by_line(rows, "counted", "operators")
    other = by_line(rows, "ratio", "operators")
    off = max(abs(a - b) for name in one for a, b in zip(one[name], other[name], strict=True))
    return Finding(f"means of 100 counted points and of the integral differ by {off:.3f} at most", off <= 0.05)


def varies(rows: pl.DataFrame) -> Finding:
    """Find whether the runs of one policy on one graph differ by a factor of two or more in most cases."""
    factors = {}
    for policy in OTHERS:
        for operators in numbers_of(rows, "operators"):
            part = select(rows, policy=policy, operators=int(operators))
            if len(part) < 100:
                return unjudged("fewer than 100 runs of a policy")
            spread = [column(select(part, seed=seed), "to_rod") for seed in values_of(part, "seed")]
            factors[policy, operators] = float(np.median([values.max() / values.min() for values in spread]))
    wide = sum(factor >= 2 for factor in factors.values())
    described = "; ".join(
        f"{policy} {listed(factor for (name, _), factor in factors.items() if name == policy)}" for policy in OTHERS
    )
    return Finding(f"largest over smallest, by number of operators: {described}", wide > len(factors) / 2)


def best_is_below(rows: pl.DataFrame) -> Finding:
    """Find whether the best of all runs is below ROD in most cases."""
    below = 0
    cases = 0
    described = []
    for policy in OTHERS:
        best = []
        for operators in numbers_of(rows, "operators"):
            part = select(rows, policy=policy, operators=int(operators))
            found = [float(column(select(part, seed=seed), "to_rod").max()) for seed in values_of(part, "seed")]
            below = below + sum(value < 1 for value in found)
            cases = cases + len(found)
            best.append(max(found))
        described.append(f"{policy} {listed(best)}")
    runs = len(values_of(select(rows, policy="random"), "run"))
    return Finding(
        f"the best of {runs} runs is below ROD in {below} of {cases} cases; best over ROD, by number of operators: "
        f"{'; '.join(described)}",
        below > cases / 2,
    )


ABOUT: Final = f"""
Random trees with five input streams on 10 equal nodes. The text names no distributions. We use the graphs of
`drover_lab.generate`: 1 to 3 children per operator, costs uniform from 0.1 to 1, half of the selectivities 1 and the
others uniform from 0.5 to 1. With equal costs, every policy except `random` and `connected` comes close to the ideal,
and they cannot be told apart. Policies that look at rates get random ones: uniform means, and ten samples around
them. The text has one graph for each size, and 10 runs of every policy except ROD. We have ten graphs, and 10 runs on
each. `counted` is the fraction of 100 random workload points that a plan can carry; the text measured its prototype
this way. `ratio` is integrated over 4096 points. {WORDS}
"""
COLUMNS: Final = {
    "ratio": "size of the feasible set, divided by that of the ideal one; integrated",
    "counted": "fraction of 100 random points of the ideal set that are feasible",
    "to_rod": "ratio, divided by that of ROD on the same graph",
}


def grids(sizes: tuple[int, ...], graphs: int, runs: int, *, searched: bool = True) -> tuple[ParameterGrid, ...]:
    """Return the rows: ROD and the search once for each graph, the others several times."""
    best = (ROD, "searched") if searched else (ROD,)
    others = {"operators": sizes, "policy": OTHERS, "run": tuple(range(runs))}
    return (
        ParameterGrid({"operators": sizes, "policy": best}, {"run": 0}, graphs, FIRST),
        ParameterGrid(others, {}, graphs, FIRST),
    )


def best_of_all(y: str) -> Claim:
    """Return the claim that ROD is the best."""
    return Claim(
        "rod-best",
        "ROD is significantly better than the average of every other policy.",
        partial(always_above, first=ROD, others=OTHERS, y=y, x="operators"),
    )


def order(y: str) -> tuple[Claim, ...]:
    """Return the claims on the order of the policies."""

    def connected_is_worst(rows: pl.DataFrame) -> Finding:
        lines = by_line(rows, y, "operators")
        others = [lines[name] for name in OTHERS[:-1]]
        holds = all(mine < min(rest) for mine, *rest in zip(lines["connected"], *others, strict=True))
        return Finding(f"connected {listed(lines['connected'])}; random {listed(lines['random'])}", holds)

    return (
        best_of_all(y),
        Claim("connected-worst", "Connected fares the worst.", connected_is_worst),
        Claim(
            "correlation-next",
            "The correlation-based policy does fairly well compared to the other balancers.",
            partial(always_above, first="correlation", others=("largest-first", "random"), y=y, x="operators"),
        ),
        Claim("approaches", "ROD approaches the ideal as the number of operators grows.", partial(grows, y)),
        Claim(
            "others-improve",
            "Most of the other policies improve as the number of operators grows.",
            partial(others_grow, y),
        ),
    )


FULL: Final = grids(SIZES, 10, 10)
QUICK: Final = grids((25, 50), 2, 2, searched=False)
BY_SIZE: Final = {"x": "operators", "line": "policy", "log": "x"}

EXPERIMENTS: Final = (
    Experiment(
        name="R-fig6.1",
        title="Feasible set size by policy, counted on workload points",
        about=ABOUT,
        grids=FULL,
        quick=QUICK,
        measure=measure,
        columns=COLUMNS,
        claims=order("counted"),
        panels=(Panel(x="operators", line="policy", log="x", y="counted", label="feasible over ideal, counted"),),
    ),
    Experiment(
        name="R-fig6.2",
        title="The same over ROD",
        about=ABOUT,
        grids=FULL,
        quick=QUICK,
        measure=measure,
        columns=COLUMNS,
        claims=(
            Claim(
                "same-lead",
                "For fewer operators, ROD retains roughly the same relative improvement.",
                keeps_its_lead,
                "It does for all except `connected`. The plans of `connected` hardly improve with more operators, "
                "while those of ROD approach the ideal.",
            ),
        ),
        panels=(Panel(x="operators", line="policy", log="x", y="to_rod", label="feasible over ROD's"),),
    ),
    Experiment(
        name="R-fig6.3",
        title="Feasible set size by policy, integrated",
        about=ABOUT,
        grids=FULL,
        quick=QUICK,
        measure=measure,
        columns=COLUMNS,
        claims=(
            *order("ratio"),
            Claim("tracks", "Integrating gives the same result as counting workload points.", agrees),
        ),
        panels=(Panel(x="operators", line="policy", log="x", y="ratio", label="feasible over ideal"),),
    ),
    Experiment(
        name="R-fig6.4",
        title="500 runs of every policy over ROD",
        about=ABOUT
        + """
For this figure there are three graphs of each size. Every policy except ROD runs 500 times on each.
""",
        grids=grids(SIZES, 3, 500, searched=False),
        quick=grids((25, 50), 1, 100, searched=False),
        measure=measure,
        columns=COLUMNS,
        claims=(
            Claim("varies", "The performance of all policies except ROD varies significantly.", varies),
            Claim("best-below", "Even the best runs of the others are worse than ROD in most cases.", best_is_below),
        ),
        panels=tuple(
            Panel(
                x="run",
                y="to_rod",
                line="policy",
                kind="points",
                title=f"{operators} operators, one graph",
                where={"operators": operators, "seed": FIRST},
                log="y",
            )
            for operators in SIZES
        ),
    ),
)

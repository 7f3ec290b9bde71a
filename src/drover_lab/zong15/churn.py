"""Fig. 6 and 7 [Zong15]: queries come and go, and servers too."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover_lab.herding.generate import QueryEvents, churn
from drover_lab.herding.sequences import watch
from drover_lab.herding.servers import watch_servers
from drover_lab.lines import lacks
from drover_lab.summary import numbers_of, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value
from drover_lab.zong15.workloads import alike, describe_replication, line, lowest, problem_in, rises

TEXT: Final = ("random", "least-cost", "least-source", "least-types")
OWN: Final = ("gather",)
BASE: Final[dict[str, Value]] = {"servers": 100, "sources": 2, "skew": 2.0, "queries": 1_000_000}
SMALL: Final[dict[str, Value]] = {"servers": 20, "sources": 2, "skew": 2.0, "queries": 8_000}
SHAPES: Final = {"exponential": 0.0, "pareto": 2.5}
LOOKS: Final = 40
COLUMNS: Final = {
    "replication": "traffic divided by the rate of the subscribed sources; mean over the second half of the steps",
    "imbalance": "largest load of a server, divided by the mean, at the end",
    "live": "live queries; mean over the second half",
}
ABOUT: Final = """
A million steps on 100 servers, with one arrival per step on average (exponential gaps), skew 2, and two sources per
query. The factor divides by the rate of the sources that somebody subscribes to at that time. The text does not say
when it measures; we average over the second half of the steps. With a mean lifetime of a million steps, the system is
still filling up then. Pareto lifetimes have exponent 2.5. With a lifetime of ten steps there are ten queries on a
hundred servers, and all policies put them wherever a source is.
"""

SERVERS: Final = """
After every period a server joins or, equally likely, a randomly drawn one leaves. The queries of a server that leaves
are assigned again as if they were new. A period of 0 stands for no changes.
"""


@lru_cache(maxsize=1)
def events_of(queries: int, lifetime: float, life: str, seed: int) -> QueryEvents:
    """Return arrivals and departures."""
    return churn(queries, lifetime, default_rng((seed, 6)), shape=SHAPES[life])


def measure(row: Row) -> Row:
    """Run the arrivals and departures of a row; servers change every `period`, 0 for never."""
    problem = problem_in(row)
    seed = int(row["seed"])
    policy = str(row["policy"])
    events = events_of(problem.n, float(row["lifetime"]), str(row["life"]), seed)
    period = float(row["period"])
    if period:
        moments = list(watch_servers(problem, policy, events, default_rng(seed), period))
    else:
        moments = list(watch(problem, policy, events, default_rng(seed), LOOKS))
    # In the first half the system is still filling up.
    late = moments[len(moments) // 2 :]
    return {
        "replication": float(np.mean([moment.replication for moment in late])),
        "imbalance": moments[-1].imbalance,
        "live": float(np.mean([moment.live for moment in late])),
    }


def exponential(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with exponential life times."""
    return select(rows, life="exponential")


def sublinear(rows: pl.DataFrame) -> Finding:
    """Find how the factor of LeastCost grows with the life time."""
    part = exponential(rows)
    if missing := lacks(part, ("least-cost",), "lifetime", 3):
        return missing
    x = numbers_of(part, "lifetime")
    y = line(part, "least-cost", "lifetime")
    power = float(np.polyfit(np.log(x), np.log(y), 1)[0])
    return Finding(
        f"it grows as life time to the power of {power:.3f}; {describe_replication(part, ('least-cost',), 'lifetime')}",
        power < 0.5,
    )


def by_life(rows: pl.DataFrame) -> Finding:
    """Find whether Pareto's life times give about the same factors as exponential ones."""
    both = set(numbers_of(select(rows, life="pareto"), "lifetime"))
    part = rows.filter(pl.col("lifetime").is_in(list(both)))
    pairs = {name: [line(select(part, life=life), name, "lifetime")[0] for life in SHAPES] for name in TEXT}
    worst = max(max(a / b, b / a) for a, b in pairs.values())
    words = "; ".join(f"{name} {a:.3f} and {b:.3f}" for name, (a, b) in pairs.items())
    return Finding(f"exponential and Pareto: {words}", worst <= 1.1)


def robust(rows: pl.DataFrame) -> Finding:
    """Find whether LeastCost hardly suffers from changes of servers."""
    if missing := lacks(rows, ("least-cost",), "period"):
        return missing
    x = numbers_of(rows, "period")
    y = line(rows, "least-cost", "period")
    without = y[x.index(0.0)] if 0.0 in x else np.nan
    worst = max(value / without for value in y)
    words = describe_replication(rows, ("least-cost",), "period")
    return Finding(f"at most {worst:.3f} times the factor without changes; {words}", worst <= 1.1)


def grids(base: dict[str, Value], times: tuple[float, ...], pareto: float, seeds: int) -> tuple[ParameterGrid, ...]:
    """Return the rows of Fig. 6."""
    fixed = {**base, "period": 0.0}
    return (
        ParameterGrid({"lifetime": times, "policy": TEXT + OWN}, {**fixed, "life": "exponential"}, seeds),
        ParameterGrid({"policy": TEXT + OWN}, {**fixed, "lifetime": pareto, "life": "pareto"}, seeds),
    )


def changes(
    base: dict[str, Value], periods: tuple[float, ...], lifetime: float, seeds: int
) -> tuple[ParameterGrid, ...]:
    """Return the rows of Fig. 7."""
    fixed = {**base, "lifetime": lifetime, "life": "exponential"}
    return (ParameterGrid({"period": periods, "policy": TEXT + OWN}, fixed, seeds),)


EXPERIMENTS: Final = (
    Experiment(
        name="H-fig6",
        title="Queries that come and go",
        about=ABOUT,
        grids=grids(BASE, (10.0, 100.0, 1e3, 1e4, 1e5, 1e6), 1e5, 2),
        quick=grids(SMALL, (10.0, 300.0, 4e3), 300.0, 2),
        measure=measure,
        columns=COLUMNS,
        panels=(Panel(x="lifetime", y="replication", line="policy", where={"life": "exponential"}, log="x"),),
        claims=(
            Claim(
                "best",
                "LeastCost is consistently the best.",
                lambda rows: lowest(
                    exponential(rows), ("least-cost",), ("random", "least-source", "least-types"), "lifetime", 1.001
                ),
            ),
            Claim(
                "rises",
                "The factor tends to rise with the load of the servers.",
                lambda rows: rises(exponential(rows), TEXT, "lifetime"),
                "LeastCost already peaks at a lifetime of 100 steps, where each server has one query, and falls after "
                "that. With so few queries, the allowance of 10 lets it put all of them together.",
            ),
            Claim("sublinear", "For LeastCost the rise is slow, sub-linear in the lifetime.", sublinear),
            Claim("pareto", "Results are similar for exponential and Pareto lifetimes.", by_life),
            Claim(
                "gather",
                "Not in the text: gathering takes at most the traffic of LeastCost.",
                lambda rows: lowest(exponential(rows), OWN, ("least-cost",), "lifetime"),
            ),
        ),
    ),
    Experiment(
        name="H-fig7",
        title="Servers that come and go",
        about=ABOUT + SERVERS,
        grids=changes(BASE, (0.0, 1e3, 1e4, 1e5), 1e5, 2),
        quick=changes(SMALL, (0.0, 200.0, 1000.0), 500.0, 2),
        measure=measure,
        columns=COLUMNS,
        panels=(Panel(x="period", y="replication", line="policy"),),
        claims=(
            Claim(
                "best",
                "LeastCost is the best.",
                lambda rows: lowest(rows, ("least-cost",), ("random", "least-source", "least-types"), "period"),
            ),
            Claim("robust", "LeastCost is robust against arrivals and departures of servers.", robust),
            Claim(
                "gather",
                "Not in the text: gathering takes at most the traffic of LeastCost.",
                lambda rows: lowest(rows, OWN, ("least-cost",), "period"),
            ),
            Claim(
                "alike",
                "LeastQT provides no benefit over OnRand.",
                lambda rows: alike(rows, "least-types", "random", "period", 1.1),
            ),
        ),
    ),
)

"""Fig. 9 [Zong15]: real subscriptions."""

from __future__ import annotations

import gzip
import os
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.errors import DroverError, shorten
from drover.herding.problem import HerdingProblem
from drover_lab.herding.policy import assign
from drover_lab.herding.score import score, subscribed_rate
from drover_lab.lines import lacks
from drover_lab.summary import listed, select
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value
from drover_lab.zong15.workloads import line, lowest

FOLDER: Final = "DROVER_DATA"  # variable of the environment: where data are that drover may not carry
LIBRARIES: Final = Path(os.environ.get(FOLDER, "")) / "subs-citeulike-a" / "edges.csv.gz"
WORKLOADS: Final = ("reviews", "jobs", *(("libraries",) if LIBRARIES.is_file() else ()))
TEXT: Final = ("round-robin", "least-cost")
OWN: Final = ("gather", "mms-rare")
PRINTED: Final = 0.11  # traffic of LeastCost over that of round robin
ABOUT: Final = """
The text's trace is not public. We use three other workloads:

- `reviews`: 40,000 reviewers of a web site, and the 243 vendors that they reviewed. Each reviewed at least two. They
  come in order of their first review (elastic/examples, Apache-2.0).
- `jobs`: 25,428 jobs of a Hadoop cluster. Each reads one of 17,158 paths (SWIMProjectUCB/SWIM, New BSD).
- `libraries`: 5,551 users and 16,980 articles. Each user has 37 articles on average (js05212/citeulike-a). No licence
  is stated, so drover does not include this workload. To run it, set `DROVER_DATA` to a folder with
  `subs-citeulike-a/edges.csv.gz`, whose lines are `user, article`.

A reviewer, a job or a user is a query. A vendor, a path or an article is a source of rate 1. The worst case sends
every source to every server. The text has hundreds of servers.
"""
COLUMNS: Final = {
    "replication": "traffic divided by the rate of all sources",
    "worst": "the same if every source goes to every server",
    "imbalance": "largest load of a server, divided by the mean",
}


@lru_cache(maxsize=3)
def subscriptions(name: str) -> tuple[tuple[int, ...], ...]:
    """Return the sources of each query of a workload, in order of arrival or of query number."""
    if name == "libraries":
        return libraries(LIBRARIES)
    data = files("drover_lab.zong15").joinpath("data", f"{name}.csv.gz").read_bytes()
    lines = gzip.decompress(data).decode("ascii").splitlines()[1:]
    return tuple(tuple(int(source) for source in each.split()) for each in lines)


def libraries(path: Path) -> tuple[tuple[int, ...], ...]:
    """Return the articles of each user in a file of edges."""
    try:
        edges = pl.read_csv(path, schema={"user": pl.Int64, "article": pl.Int64})
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = shorten(str(error).partition("\n")[0])
        raise DroverError(
            f"{path} cannot be read as lines of user, article ({reason}). Correct it, or unset {FOLDER}."
        ) from error
    users = edges.unique().sort("user", "article").group_by("user", maintain_order=True).agg("article")
    return tuple(map(tuple, users["article"].to_list()))


def problem_of(name: str, queries: int, servers: int) -> HerdingProblem:
    """Return the first queries of a workload as a problem on these servers."""
    sets = subscriptions(name)[:queries]
    source = np.concatenate([np.array(each) for each in sets])
    start = np.concatenate([[0], np.cumsum([len(each) for each in sets])])
    return HerdingProblem(start=start, source=source, rate=np.ones(int(source.max()) + 1), capacity=np.ones(servers))


def measure(row: Row) -> Row:
    """Assign the queries of a row."""
    problem = problem_of(str(row["workload"]), int(row["queries"]), int(row["servers"]))
    found = score(problem, assign(problem, str(row["policy"]), default_rng(int(row["seed"]))))
    worst = problem.k * float(problem.rate.sum()) / subscribed_rate(problem)
    return {"replication": found.replication, "worst": worst, "imbalance": found.imbalance}


def eleven_percent(rows: pl.DataFrame) -> Finding:
    """Find what part of round robin's traffic LeastCost takes."""
    found = {}
    for name in WORKLOADS:
        part = select(rows, workload=name)
        if missing := lacks(part, TEXT, "servers", 1):
            return missing
        pairs = zip(line(part, "least-cost", "servers"), line(part, "round-robin", "servers"), strict=True)
        found[name] = [a / b for a, b in pairs]
    words = "; ".join(f"{name} {listed(values)}" for name, values in found.items())
    return Finding(
        f"LeastCost over round robin, by servers: {words}",
        any(abs(v - PRINTED) <= 0.05 for vs in found.values() for v in vs),
    )


def nearly_worst(rows: pl.DataFrame) -> Finding:
    """Find how near round robin comes to the worst case."""
    found = {}
    for name in WORKLOADS:
        part = select(rows, workload=name)
        if missing := lacks(part, TEXT, "servers", 1):
            return missing
        one = select(part, policy="round-robin")
        found[name] = [
            a / b
            for a, b in zip(
                line(one, "round-robin", "servers"), line(one, "round-robin", "servers", "worst"), strict=True
            )
        ]
    words = "; ".join(f"{name} {listed(values)}" for name, values in found.items())
    parts = [part for values in found.values() for part in values]
    most = sum(part >= 0.8 for part in parts) > len(parts) / 2
    return Finding(f"round robin over the worst case, by servers: {words}", most)


def on_all(first: tuple[str, ...], others: tuple[str, ...], rows: pl.DataFrame) -> Finding:
    """Find whether policies are the best on all workloads."""
    found = [lowest(select(rows, workload=name), first, others, "servers") for name in WORKLOADS]
    words = " | ".join(f"{name} {each.measured}" for name, each in zip(WORKLOADS, found, strict=True))
    return Finding(words, all(each.holds for each in found), all(each.judged for each in found))


def grids(queries: int, servers: tuple[Value, ...]) -> tuple[ParameterGrid, ...]:
    """Return the rows: all workloads on these numbers of servers."""
    return (ParameterGrid({"workload": WORKLOADS, "servers": servers, "policy": TEXT + OWN}, {"queries": queries}),)


EXPERIMENTS: Final = (
    Experiment(
        name="H-fig9",
        title="Real subscriptions",
        about=ABOUT,
        grids=grids(40_000, (10, 30, 100, 300)),
        quick=grids(3_000, (10, 30)),
        measure=measure,
        columns=COLUMNS,
        panels=tuple(
            Panel(
                x="servers",
                y="replication",
                line="policy",
                title=name,
                where={"workload": name},
                log="xy",
                bound="worst",
            )
            for name in WORKLOADS
        ),
        claims=(
            Claim(
                "eleven-percent",
                "The traffic of LeastCost is about 11 % of that of round robin.",
                eleven_percent,
                "It depends on how often sources are shared. The text's trace must have had more queries for each "
                "source.",
            ),
            Claim(
                "nearly-worst",
                "Round robin is nearly as bad as the worst case.",
                nearly_worst,
                "It is, with ten servers and hundreds of queries for each source. A source with fewer queries than "
                "there are servers cannot be everywhere.",
            ),
            Claim(
                "less",
                "LeastCost takes much less than round robin.",
                lambda rows: on_all(("least-cost",), ("round-robin",), rows),
            ),
            Claim(
                "gather",
                "Not in the text: gathering takes at most the traffic of LeastCost.",
                lambda rows: on_all(("gather",), ("least-cost",), rows),
                "It takes up to 2 % more where a query has dozens of sources and none of them is rare. It takes 1 % "
                "more where there are many servers and few sources. Elsewhere it takes up to 5 % less.",
            ),
        ),
    ),
)

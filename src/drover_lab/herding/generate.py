"""Random workloads of [Zong15]: subscriptions with skewed popularity, rates of sources, arrivals and departures.

Rule 1: a workload depends on a seed and the text's parameters; equal seeds give equal workloads on any machine.
Rule 2: every source has a subscriber. The number of sources follows from the popularity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Flags, Floats, Ints

ROUNDS: Final = 200  # of swaps that make the sources of a query distinct; then a double subscription is dropped
Correlation: TypeAlias = Literal["equal", "random", "positive", "negative"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The parameters of a synthetic workload, with the text's defaults."""

    queries: int = 100_000  # n
    servers: int = 100  # k
    sources: int = 2  # d, of each query
    skew: float = 2.0  # beta: a source has x subscriptions with probability ~ x^-beta
    rates: Correlation = "equal"  # of sources, and how they follow popularity
    rate_skew: float = 2.0  # exponent of random rates

    def __post_init__(self) -> None:
        """Raise ProblemError for a parameter out of range."""
        for name in ("queries", "servers", "sources"):
            if getattr(self, name) < 1:
                raise ProblemError(f"{name} is {getattr(self, name)}, but must be at least 1. Give 1 or more.")
        if not (np.isfinite(self.skew) and np.isfinite(self.rate_skew)):
            raise ProblemError(f"skew is {self.skew}, but must be finite. Give an exponent such as 2.")


def generate(workload: Workload, rng: Generator) -> HerdingProblem:
    """Return queries with unit weight on equal servers: a random bipartite graph with given degrees.

    The degrees of sources are drawn until they suffice for all subscriptions, as in the configuration model; a reading
    with a fixed number of sources contradicts the figures of the text.
    """
    n = workload.queries
    d = workload.sources
    degrees = draw_degrees(n * d, n, workload.skew, rng)
    stubs = rng.permutation(np.repeat(np.arange(len(degrees)), degrees)).reshape(n, d)
    start, source = subscriptions(make_distinct(stubs, rng))
    return HerdingProblem(
        start=start, source=source, rate=draw_rates(degrees, workload, rng), capacity=np.ones(workload.servers)
    )


def draw_degrees(total: int, most: int, skew: float, rng: Generator) -> Ints:
    """Return how many queries subscribe to each source: P(x) ~ x^-skew for x = 1 .. most, until `total` is reached."""
    found: list[Ints] = []
    sum_so_far = 0
    while sum_so_far < total:
        found.append(draw_zipf(4096, most, skew, rng))
        sum_so_far += int(found[-1].sum())
    degrees = np.concatenate(found)
    last = int(np.searchsorted(np.cumsum(degrees), total))
    degrees = degrees[: last + 1].copy()
    degrees[-1] -= int(degrees.sum()) - total
    return degrees


def draw_zipf(count: int, most: int, skew: float, rng: Generator) -> Ints:
    """Return random numbers from 1 to `most`, with P(x) ~ x^-skew."""
    cumulated = np.cumsum(np.arange(1, most + 1, dtype=np.float64) ** -skew)
    drawn = np.searchsorted(cumulated, rng.random(count) * cumulated[-1], side="right") + 1
    return np.asarray(np.minimum(drawn, most))


def make_distinct(stubs: Ints, rng: Generator) -> Ints:
    """Return subscriptions, (n, d), in which queries that had a source twice have swapped it with others.

    A swap is made if it leaves both queries without a new double one; so the degrees of sources stay.
    """
    rows = stubs.copy()
    n, d = rows.shape
    for _ in range(ROUNDS if d > 1 and n > 1 else 0):
        row, column = np.nonzero(_doubled(rows))
        if not len(row):
            break
        other = rng.integers(0, n, len(row))
        place = rng.integers(0, d, len(row))
        mine = rows[row, column]
        theirs = rows[other, place]
        fine = ~(rows[row] == theirs[:, None]).any(axis=1) & ~(rows[other] == mine[:, None]).any(axis=1)
        # One swap per query and round: each swap was checked against the state before the round.
        both = np.stack([row, other], axis=1)[fine]
        _seen, first, times = np.unique(both, return_index=True, return_counts=True)
        once = np.zeros(both.size, dtype=np.bool_)
        once[first[times == 1]] = True
        lone = once.reshape(both.shape).all(axis=1)
        chosen = np.flatnonzero(fine)[lone]
        rows[row[chosen], column[chosen]] = theirs[chosen]
        rows[other[chosen], place[chosen]] = mine[chosen]
    return rows


def _doubled(rows: Ints) -> Flags:
    """Return, (n, d), whether the same source stands further left in the row."""
    found = np.zeros(rows.shape, dtype=np.bool_)
    for column in range(1, rows.shape[1]):
        found[:, column] = (rows[:, :column] == rows[:, column : column + 1]).any(axis=1)
    return found


def subscriptions(rows: Ints) -> tuple[Ints, Ints]:
    """Return subscriptions, (n, d), as `start` and `source` of a problem; what is doubled counts once."""
    ordered = np.sort(rows, axis=1)
    keep = ~_doubled(ordered)
    start = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    return start, ordered[keep]


def draw_rates(degrees: Ints, workload: Workload, rng: Generator) -> Floats:
    """Return the rate of each source, (m,): equal, a power law of its own, or with or against popularity (Fig. 8)."""
    if workload.rates == "equal":
        return np.ones(len(degrees))
    if workload.rates == "positive":
        return degrees.astype(np.float64)
    if workload.rates == "negative":
        return 1 / degrees
    return draw_zipf(len(degrees), workload.queries, workload.rate_skew, rng).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class QueryEvents:
    """Arrivals and departures in order of time."""

    query: Ints  # (2n or fewer,) which query
    arrives: Flags  # whether it arrives or leaves
    at: Floats  # in steps


def churn(n: int, lifetime: float, rng: Generator, *, steps: float | None = None, shape: float = 0.0) -> QueryEvents:
    """Return n arrivals, one per step on average, and the departures of those that leave before the last step.

    Life times are exponential; with a `shape` above 1 they are Pareto's with that exponent and the same mean.
    """
    arrival = np.cumsum(rng.exponential(1.0, n))
    end = float(arrival[-1]) if steps is None else steps
    life = rng.exponential(lifetime, n) if shape <= 1 else (1 + rng.pareto(shape, n)) * lifetime * (shape - 1) / shape
    leaves = arrival + life
    query = np.concatenate([np.arange(n), np.arange(n)])
    at = np.concatenate([arrival, leaves])
    order = np.argsort(at, kind="stable")
    order = order[at[order] <= end]
    return QueryEvents(query[order], order < n, at[order])

"""The policies by name, and the one way to ask them.

Rule 1: POLICIES is the table: what is not in it is no policy. Rule 2: a policy gets a fused problem and a generator and
proposes places; `propose` fuses, repairs, relabels and spreads: what comes out keeps every rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final, Protocol

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError, nearest
from drover.load.arrays import Ints
from drover.placement import baseline
from drover.placement.combine import place_combined, place_in_domains
from drover.placement.correlation import pairwise
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import Problem
from drover.placement.resilient.cluster import place_clustered
from drover.placement.resilient.place import Resilience, place_resilient
from drover.placement.rules import fuse, relabel, repair
from drover.placement.search.evening import place_evenly
from drover.placement.search.feasible import place_searched
from drover.placement.search.steady import place_steady, place_thriftily


class Policy(Protocol):
    """Proposes places, (m,), for the units of a fused problem."""

    def __call__(self, problem: Problem, rng: Generator, /) -> Ints:
        """Return the node of each unit; one that breaks a rule is moved elsewhere."""


POLICIES: Final[Mapping[str, Policy]] = {
    "round-robin": baseline.place_in_turn,
    "hash": baseline.place_by_hash,
    "random": baseline.place_randomly,
    "largest-first": baseline.place_largest_first,
    "balanced-random": baseline.place_balanced_randomly,
    "max-rate": baseline.place_by_rate,
    "connected": baseline.place_connected,
    "whole": baseline.place_whole,
    "resilient": place_resilient,
    "resilient-random": partial(place_resilient, settings=Resilience(class_one="random")),
    "resilient-fewest-cuts": partial(place_resilient, settings=Resilience(class_one="fewest-cuts")),
    "clustered": place_clustered,
    "correlation": place_correlated,
    "correlation-domains": place_in_domains,
    "combined": place_combined,
    "searched": place_searched,
    "steady": place_steady,
    "thrifty": place_thriftily,
    "fewest-moves": place_evenly,
    **{name: pairwise.policy(name) for name in pairwise.METHODS},
}

FROM_CURRENT: Final = frozenset(
    {"thrifty", "fewest-moves", *pairwise.METHODS}
)  # move from the current plan, and no more than they say

WORDS: Final[Mapping[str, str]] = {
    "round-robin": "deal the units out in turn",
    "hash": "put each unit where a hash of its name says, as Spark does with keys",
    "random": "as many units on every node, drawn",
    "largest-first": "the largest unit to the least loaded node, and so on",
    "balanced-random": "a drawn unit to the least loaded node, and so on",
    "max-rate": "as largest-first, by the load at the peak",
    "connected": "fill a node with units that are linked, then the next",
    "whole": "each query graph on one node",
    "resilient": "ROD: the largest feasible set, greedily; looks at no rates",
    "resilient-random": "ROD, drawing among nodes that cost nothing",
    "resilient-fewest-cuts": "ROD, cutting few links among nodes that cost nothing",
    "clustered": "ROD over clusters of units whose links cost much, and without; the farther plane decides",
    "correlation": "COR-GLB: separate what rises together, from scratch",
    "correlation-domains": "COR-GLB in two steps, for hundreds of nodes",
    "combined": "ROD for sticky units, then COR-GLB for floating ones",
    "searched": "ROD, then moves and swaps for a larger feasible set",
    "steady": "COR-GLB, then moves and swaps for less variance and better balance",
    "thrifty": "from the current plan, the moves that gain most per byte of state, a tenth of it at most",
    "fewest-moves": "from the current plan, the fewest moves that even out nodes whose loads differ by more than 0.1",
    "cor-bal": "from the current plan, pair by pair: balance, choosing by correlation",
    "llf-bal": "as cor-bal, choosing the largest unit",
    "rand-bal": "as cor-bal, choosing by chance",
    "cor-re": "as cor-bal, dealing the units of both nodes out again",
    "cor-se": "as cor-bal, exchanging units worth it",
    "cor-re-imp": "as cor-re, also where nodes are balanced but vary",
    "cor-se-imp": "as cor-se, also where nodes are balanced but vary",
}


def propose(problem: Problem, name: str, rng: Generator) -> Ints:
    """Return the plan, (m,), that a policy makes of a problem; it keeps all rules."""
    if name not in POLICIES:
        known = ", ".join(POLICIES)
        raise ProblemError(
            f"policy is {name!r}, but there is none of that name. {nearest(name, POLICIES)}Known: {known}."
        )
    fused = fuse(problem)
    if not problem.m:
        return np.empty(0, dtype=np.int64)
    places = repair(fused.problem, POLICIES[name](fused.problem, rng))
    return fused.spread(places if name in FROM_CURRENT else relabel(fused.problem, places))

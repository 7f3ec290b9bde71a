"""The placement policies by name, and the function that runs them.

Rule 1: POLICIES is the complete table of policies. Rule 2: a policy gets a fused problem and a generator, and proposes
places. `propose` fuses, repairs, relabels and spreads, so that its result keeps every rule.
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
from drover.placement.problem import PlacementProblem
from drover.placement.resilient.cluster import place_clustered
from drover.placement.resilient.place import Resilience, place_resilient
from drover.placement.rules import fuse, relabel, repair
from drover.placement.search.feasible import place_searched
from drover.placement.search.fewest_moves import place_with_fewest_moves
from drover.placement.search.steady import place_steady, place_thriftily


class PlacementPolicy(Protocol):
    """Proposes places, (m,), for the units of a fused problem."""

    def __call__(self, problem: PlacementProblem, rng: Generator, /) -> Ints:
        """Return the node of each unit; `repair` moves a unit whose node breaks a rule."""


POLICIES: Final[Mapping[str, PlacementPolicy]] = {
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
    "fewest-moves": place_with_fewest_moves,
    **{name: pairwise.policy(name) for name in pairwise.METHODS},
}

# These policies limit their moves from the current plan themselves, so `propose` does not renumber their nodes.
FROM_CURRENT: Final = frozenset({"thrifty", "fewest-moves", *pairwise.METHODS})

WORDS: Final[Mapping[str, str]] = {
    "round-robin": "assign the units to the nodes in turn",
    "hash": "by a hash of the unit's name, as Spark does with keys",
    "random": "the same number of units on every node, at random",
    "largest-first": "the largest unit to the least loaded node, then the next",
    "balanced-random": "a random unit to the least loaded node, then the next",
    "max-rate": "as largest-first, by peak load",
    "connected": "fill one node with linked units and readers of one source, then the next",
    "whole": "each query graph on one node; readers of one source are one graph",
    "resilient": "ROD: greedily, for the largest feasible set; ignores rates",
    "resilient-random": "ROD, with a random choice among nodes that cost nothing",
    "resilient-fewest-cuts": "ROD, with the fewest cut links among nodes that cost nothing",
    "clustered": "ROD with and without clusters of units with costly links; the farther plane decides",
    "correlation": "COR-GLB: separate units whose loads rise together, from scratch",
    "correlation-domains": "COR-GLB in two steps, for hundreds of nodes",
    "combined": "ROD for sticky units, then COR-GLB for floating ones",
    "searched": "ROD, then moves and swaps for a larger feasible set",
    "steady": "COR-GLB, then moves and swaps for less variance and better balance",
    "thrifty": "from the current plan: the moves that gain most per byte of state, at most a tenth of all state",
    "fewest-moves": "from the current plan: the fewest moves that balance nodes whose loads differ by more than 0.1",
    "cor-bal": "from the current plan: balance pairs of nodes, choosing units by correlation",
    "llf-bal": "as cor-bal, choosing the largest unit",
    "rand-bal": "as cor-bal, choosing at random",
    "cor-re": "as cor-bal, redistributing the units of both nodes",
    "cor-se": "as cor-bal, exchanging units with a high score",
    "cor-re-imp": "as cor-re, also for balanced nodes whose loads vary",
    "cor-se-imp": "as cor-se, also for balanced nodes whose loads vary",
}


def propose(problem: PlacementProblem, name: str, rng: Generator) -> Ints:
    """Return the plan, (m,), that a policy proposes for a problem; it keeps all rules."""
    if name not in POLICIES:
        known = ", ".join(POLICIES)
        raise ProblemError(
            f"policy is {name!r}, but there is no policy of that name. {nearest(name, POLICIES)}Known: {known}."
        )
    fused = fuse(problem)
    if not problem.m:
        return np.empty(0, dtype=np.int64)
    places = repair(fused.problem, POLICIES[name](fused.problem, rng))
    return fused.spread(places if name in FROM_CURRENT else relabel(fused.problem, places))

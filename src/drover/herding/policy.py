"""The policies by name, and the one way to ask them.

Rule 1: OFFLINE and ONLINE are the tables: what is not in them is no policy. Rule 2: offline policies see all queries
before they assign one, and keep the problem's limits; online ones see one after the other, and keep eq. (4) [Zong15].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from numpy.random import Generator

from drover.errors import ProblemError, nearest
from drover.herding import offline
from drover.herding.anneal.search import anneal, polish
from drover.herding.greedy.assign import least_added, least_server, least_server_rare
from drover.herding.online.play import ONLINE, assign_online
from drover.herding.partition import partition
from drover.herding.problem import Problem
from drover.load.arrays import Ints


class Policy(Protocol):
    """Assigns all queries of a problem."""

    def __call__(self, problem: Problem, rng: Generator, /) -> Ints:
        """Return the server of each query, (n,)."""


OFFLINE: Final[Mapping[str, Policy]] = {
    "random-types": offline.draw_types,
    "mqp": offline.pack_types,
    "ic": least_added,
    "mms": least_server,
    "mms-rare": least_server_rare,
    "polished": polish,
    "single-source": offline.split_sources,
    "annealed": anneal,
    "partition": partition,
}

WORDS: Final[Mapping[str, str]] = {
    "random-types": "all queries of a drawn type to a drawn server (OffRand)",
    "mqp": "one server after the other, the largest types first",
    "ic": "the pair of type and server that adds least traffic, the larger type first",
    "mms": "the pair after which the server has least traffic, the larger type first",
    "mms-rare": "as mms, the type with the rarest sources first",
    "polished": "as mms-rare, then a million small moves and swaps: half a second for 100,000 queries",
    "single-source": "for queries with one source: at most twice the least traffic",
    "annealed": "greedily, then many small moves and swaps: the best there is here",
    "partition": "by the hypergraph partitioner Mt-KaHyPar, an extra",
    "least-cost": "where it adds least traffic, then the least loaded",
    "rare-first": "as least-cost, then where the rarest of its sources is",
    "gather": "as rare-first, then the server that holds most sources for its load; knows departures",
    "least-source": "where the server has least traffic with it",
    "least-types": "where the server has the fewest types with it (LeastQT)",
    "random": "any server that may take it (OnRand)",
    "round-robin": "in turn",
    "hash": "by a hash of its number",
}


def assign(problem: Problem, name: str, rng: Generator) -> Ints:
    """Return the server of each query, (n,), by an offline or online policy."""
    if name in ONLINE:
        return assign_online(problem, name, rng)
    if name not in OFFLINE:
        known = (*OFFLINE, *ONLINE)
        raise ProblemError(
            f"policy is {name!r}, but there is none of that name. {nearest(name, known)}Known: {', '.join(known)}."
        )
    return OFFLINE[name](problem, rng)

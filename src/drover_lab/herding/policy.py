"""The table of policies that assign queries to servers, and the function that applies one by name.

Rule 1: OFFLINE and ONLINE list all policies. Rule 2: offline policies see all queries before they assign one, and keep
the problem's limits. Online policies see one query at a time, and keep eq. (4) [Zong15].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from numpy.random import Generator

from drover.errors import ProblemError, nearest
from drover.herding.online.play import ONLINE
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Ints
from drover_lab.herding import offline
from drover_lab.herding.anneal import anneal, polish
from drover_lab.herding.greedy import least_added, least_server, least_server_rare
from drover_lab.herding.partition import partition
from drover_lab.herding.sequences import assign_online


class HerdingPolicy(Protocol):
    """Assigns all queries of a problem."""

    def __call__(self, problem: HerdingProblem, rng: Generator, /) -> Ints:
        """Return the server of each query, (n,)."""


OFFLINE: Final[Mapping[str, HerdingPolicy]] = {
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
    "random-types": "all queries of a random type to a random server (OffRand)",
    "mqp": "one server after the other, the largest types first",
    "ic": "the pair of type and server that adds least traffic; larger types first",
    "mms": "the pair that leaves the server with least traffic; larger types first",
    "mms-rare": "as mms; types with the rarest sources first",
    "polished": "as mms-rare, then a million moves and swaps: half a second for 100,000 queries",
    "single-source": "for queries with one source each: at most twice the least traffic",
    "annealed": "greedily, then a hundred million moves and swaps: the best results",
    "partition": "by the hypergraph partitioner Mt-KaHyPar, which is an extra",
    "least-cost": "the server with least added traffic, then the least loaded",
    "rare-first": "as least-cost; ties go to the server with the rarest of its sources",
    "gather": "as rare-first; further ties go to the server with most sources for its load; handles departures",
    "least-source": "the server with least traffic after it",
    "least-types": "the server with the fewest types after it (LeastQT)",
    "random": "a random open server (OnRand)",
    "round-robin": "the servers in turn",
    "hash": "by a hash of the query's number",
}


def assign(problem: HerdingProblem, name: str, rng: Generator) -> Ints:
    """Return the server of each query, (n,), by an offline or online policy."""
    if name in ONLINE:
        return assign_online(problem, name, rng)
    if name not in OFFLINE:
        known = (*OFFLINE, *ONLINE)
        raise ProblemError(
            f"policy is {name!r}, but there is no policy of that name. {nearest(name, known)}Known: {', '.join(known)}."
        )
    return OFFLINE[name](problem, rng)

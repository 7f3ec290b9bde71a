"""Fig. 6.8 to 6.11 [Xing06]: clusters of operators, where streams between nodes cost processor time or bandwidth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.random import default_rng

from drover.load.links import FRAME_SECONDS
from drover.load.profile import make_profile
from drover.placement.model import problem_of
from drover.placement.policy import propose
from drover.placement.problem import PlacementProblem
from drover.placement.resilient.cluster import PSIS, place_clustered
from drover.placement.score import feasible
from drover_lab.generate import TreeParameters, trees
from drover_lab.summary import over
from drover_lab.table import Claim, Experiment, Panel, ParameterGrid, Row
from drover_lab.xing06.clusters import (
    always_better,
    better_at_the_edge,
    better_with_more,
    both,
    matters_more,
    much_better_if_scarce,
    same_if_abundant,
)
from drover_lab.xing06.trees import ROD, SIZES, WORDS, points, with_rates

# busy seconds per tuple of every operator
STREAMS = 5
NODES = 10
COST = 1e-3
NODE_BYTES: Final = 100e6 / 8  # per second: 100 Mb/s
TOTAL_BYTES: Final = 1e9 / 8
COSTS: Final = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
BANDWIDTHS: Final = (0.2, 0.8, 1.0, 2.0, 10.0)
POLICIES: Final = (ROD, "clustered", "clustered-wide", "connected")
CLUSTERED: Final = {"clustered": tuple(psi for psi in PSIS if psi <= 1), "clustered-wide": PSIS}


@lru_cache(maxsize=16)
def bare(graph: int, operators: int, passing: float) -> PlacementProblem:
    """Return a random graph whose operators all cost the same; a share of them, `passing`, has selectivity 1."""
    shape = TreeParameters(streams=STREAMS, size=operators // STREAMS, cost=(1.0, 1.0), unit=COST, passing=passing)
    problem = problem_of(make_profile(trees(default_rng(graph), shape)), np.ones(NODES))
    return replace(problem, rates=np.empty(0))


def with_communication(problem: PlacementProblem, share: float) -> PlacementProblem:
    """Return the problem with a cost of links: per tuple, each end spends that share of an operator's cost."""
    carried = problem.links.communication / FRAME_SECONDS  # (g, d) tuples of the link per tuple of stream k
    nothing = np.zeros_like(carried)
    return replace(problem, links=replace(problem.links, communication=carried * COST * share, bandwidth=nothing))


def with_bandwidth(problem: PlacementProblem, share: float) -> PlacementProblem:
    """Return the problem with limited bandwidth.

    At `share` 1, one operator with an input and an output fills a node's bandwidth and its processor at the same rate.
    """
    carried = problem.links.communication / FRAME_SECONDS
    tuple_bytes = share * COST * NODE_BYTES / 2  # of an operator that takes all of a node: 1 / COST tuples per second
    links = replace(problem.links, communication=np.zeros_like(carried), bandwidth=carried * tuple_bytes)
    return replace(problem, links=links, bandwidth=np.full(NODES, NODE_BYTES), total_bandwidth=TOTAL_BYTES)


def measure(row: Row) -> Row:
    """Place a graph with costly links by a policy, and measure the plan including these costs."""
    graph = int(row["seed"])
    operators = int(row["operators"])
    share = float(row["cost"])
    limited = row["limit"] == "bandwidth"
    problem = bare(graph, operators, 1.0 if limited else 0.5)
    problem = with_bandwidth(problem, share) if limited else with_communication(problem, share)
    plain = propose(problem, ROD, default_rng(graph))
    policy = str(row["policy"])
    if policy == ROD:
        places = plain
    elif policy in CLUSTERED:
        places = place_clustered(problem, default_rng(graph), CLUSTERED[policy])
    else:
        # Connected balances the load at given rates. The other policies look at no rates.
        seen = with_rates(problem, (graph,)) if policy == "connected" else problem
        places = propose(seen, policy, default_rng(graph))
    found, without = (feasible(problem, each, points(STREAMS)) for each in (places, plain))
    cut = problem.links.source, problem.links.target
    return {"ratio": found, "to_rod": over(found, without), "cut": float((places[cut[0]] != places[cut[1]]).mean())}


ABOUT: Final = f"""
Random trees as in Fig. 6.3, but all operators cost the same; 10 nodes, ten graphs. {WORDS} `clustered` is ROD over
clusters. It takes the best of 18 clusterings and of none, by plane distance (eta 0.1, 0.3, 1; psi 0.3, 0.6, 1;
largest ratio or smallest weight first). With 25 operators on 10 nodes, every operator is more than a node's share of
its stream, so a psi of at most 1 forbids any cluster. The text does not say how large clusters may be.
`clustered-wide` therefore also tries a psi of 2, 4 and 8, as drover's own policy does. We judge the claims for each
of the two. `connected` gets random rates.
"""
COLUMNS: Final = {
    "ratio": "size of the feasible set including the cost of links, divided by that of the ideal set with free links",
    "to_rod": "the same, divided by that of ROD without clusters",
    "cut": "fraction of the links that lead from one node to another",
}
COMMUNICATION: Final = {
    "about": ABOUT
    + """
`cost` is what a tuple costs either end of a stream between nodes, divided by what an operator spends on a tuple. Half
of the selectivities are 1, the others uniform from 0.5 to 1. Streams from outside cost nothing.
""",
    "grids": (
        ParameterGrid({"operators": SIZES, "cost": COSTS, "policy": POLICIES}, {"limit": "communication"}, 10, 100),
        ParameterGrid(
            {"operators": SIZES, "cost": (0.0, 1.0), "policy": ("searched",)}, {"limit": "communication"}, 3, 100
        ),
    ),
    "quick": (
        ParameterGrid(
            {"operators": (25, 50, 100), "cost": (0.0, 0.5, 1.0), "policy": POLICIES},
            {"limit": "communication"},
            2,
            100,
        ),
    ),
}
BANDWIDTH: Final = {
    "about": ABOUT
    + """
Every node has 100 Mb/s, and the network 1 Gb/s. All selectivities are 1, and all tuples have the same size. An
operator with an input and an output takes a share of a node's bandwidth and a share of its processor. `cost` is the
first divided by the second. Streams from outside take no bandwidth here, so nodes have more to spare than in the
text.
""",
    "grids": (
        ParameterGrid({"operators": SIZES, "cost": BANDWIDTHS, "policy": POLICIES}, {"limit": "bandwidth"}, 10, 100),
        ParameterGrid(
            {"operators": SIZES, "cost": (0.2, 10.0), "policy": ("searched",)}, {"limit": "bandwidth"}, 3, 100
        ),
    ),
    "quick": (
        ParameterGrid(
            {"operators": (25, 50), "cost": (0.2, 1.0, 2.0), "policy": POLICIES}, {"limit": "bandwidth"}, 2, 100
        ),
    ),
}


def experiment(
    name: str, title: str, setting: Mapping[str, Any], claims: tuple[Claim, ...], panels: tuple[Panel, ...]
) -> Experiment:
    """Return one of the four experiments; `setting` has the fields that two of them share."""
    return Experiment(
        name=name,
        title=title,
        measure=measure,
        columns=COLUMNS,
        claims=claims,
        panels=panels,
        **setting,
    )


def panels(y: str, label: str) -> tuple[Panel, ...]:
    """Return one panel for each number of operators."""
    return tuple(
        Panel(x="cost", y=y, line="policy", title=f"{m} operators", label=label, where={"operators": m}, log="y")
        for m in SIZES
    )


EXPERIMENTS: Final = (
    experiment(
        "R-fig6.8",
        "Clusters against none, where streams cost processor time",
        COMMUNICATION,
        both(
            "matters-more", "Clustering becomes more important as the relative communication cost grows.", matters_more
        ),
        panels("to_rod", "feasible over ROD's"),
    ),
    experiment(
        "R-fig6.9",
        "Clusters against Connected, where streams cost processor time",
        COMMUNICATION,
        (
            *both(
                "always-better", "Clustered ROD is better than Connected, whatever communication costs.", always_better
            ),
            *both(
                "more-operators",
                "It does increasingly better with more operators per stream.",
                better_with_more,
                "It rises from 25 to 200 operators at every cost. From 50 to 100, it falls by a few percent where "
                "links cost little. That is less than the variation of `connected` from graph to graph.",
            ),
        ),
        panels("ratio", "feasible over ideal"),
    ),
    experiment(
        "R-fig6.10",
        "Clusters against none, under limited bandwidth",
        BANDWIDTH,
        (
            *both("abundant", "While bandwidth is abundant (0.2, 0.8), clustering changes nothing.", same_if_abundant),
            *both("edge", "At a ratio of 1, clustering can be better.", better_at_the_edge),
            *both(
                "scarce",
                "At 2 and 10, clustering is much better (we take much as 1.5 times).",
                much_better_if_scarce,
            ),
        ),
        panels("to_rod", "feasible over ROD's"),
    ),
    experiment(
        "R-fig6.11",
        "Clusters against Connected, under limited bandwidth",
        BANDWIDTH,
        both("always-better", "Clustered ROD is better than Connected, whichever resource is short.", always_better),
        panels("ratio", "feasible over ideal"),
    ),
)

"""Placement problems of the texts: random trees, and chains under a periodic load.

Rule 1: an instance depends on a seed and the text's parameters; equal seeds give equal instances on any machine.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import default_rng

from drover.load.arrays import Floats
from drover.load.profile import make_profile
from drover.placement.model import problem_of
from drover.placement.problem import PlacementProblem
from drover_lab.generate import ChainParameters, TreeParameters, chains, trees


def tree_problem(seed: int, *, nodes: int = 10, streams: int = 5, size: int = 20) -> PlacementProblem:
    """Return an instance of Fig. 6.1 [Xing06]: random trees with uneven costs, 10 nodes, 5 streams."""
    network = trees(default_rng(seed), TreeParameters(streams=streams, size=size))
    problem = problem_of(make_profile(network), np.ones(nodes))
    # As in the figure: no rates, because ROD uses none, and links without cost.
    return replace(problem, rates=np.empty(0), links=replace(problem.links, communication=0 * problem.links.bandwidth))


def periodic_rates(seed: int, mean: Floats, periods: int, *, even: bool = True, after: int = 0) -> Floats:
    """Return workload 1 of [Xing05], (d, periods) tuples per second: high for half of 10 s, then a quarter of that.

    `mean`, (d,), is the rate over 10 s. Offsets are spaced evenly (`even`) or drawn. Arrivals are Poisson. A period is
    one second, and the first one begins `after` seconds from the start.
    """
    d = len(mean)
    rng = default_rng(seed)
    offsets = rng.permutation(d) * 10 / d if even else rng.uniform(0, 10, d)
    times = after + np.arange(periods)[None, :, None] + np.arange(100) / 100
    level = np.where((times + offsets[:, None, None]) % 10 < 5, 1.6, 0.4).mean(axis=2)  # (d, periods)
    return np.asarray(default_rng((seed, after)).poisson(mean[:, None] * level), dtype=np.float64)


def chain_problem(
    seed: int, *, nodes: int = 20, periods: int = 10, load: float = 0.8, even: bool = True, after: int = 0
) -> PlacementProblem:
    """Return the default problem of [Xing05]: n chains of 10 operators on n nodes, at a given system load."""
    network = chains(default_rng(seed), ChainParameters(chains=nodes))
    problem = problem_of(make_profile(network), np.ones(nodes))
    mean = default_rng(seed).uniform(0.8, 1.2, nodes)
    mean *= load * nodes / (problem.coefficients @ mean).sum()
    rates = periodic_rates(seed, mean, periods, even=even, after=after)
    free = replace(problem.links, communication=0 * problem.links.bandwidth)
    return replace(problem, rates=mean, series=problem.coefficients @ rates, links=free)

"""Problems of the texts, small enough for tests."""

from __future__ import annotations

import numpy as np
from numpy.random import default_rng

from drover.load.arrays import Floats
from drover.network.generate import ChainParameters, TreeParameters, chains, trees
from drover.network.model import Network
from drover.network.operators import Synthetic
from drover.placement.problem import Links, Problem


def linear(network: Network) -> tuple[Floats, Links]:
    """L^o, (m, d), and the links of a network of synthetic operators."""
    index = {operator.name: j for j, operator in enumerate(network.operators)}
    streams = {source.name: np.eye(len(network.sources))[k] for k, source in enumerate(network.sources)}
    coefficients = np.zeros((len(index), len(streams)))
    ends = []
    for operator in network.order:
        assert isinstance(operator, Synthetic)
        coefficients[index[operator.name]] = operator.cost * streams[operator.input]
        streams[operator.name] = operator.selectivity * streams[operator.input]
        if operator.input in index:
            ends.append((index[operator.input], index[operator.name]))
    source, target = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    passed = np.array([streams[network.operators[j].name] for j in source]).reshape(len(ends), -1)
    return coefficients, Links(source, target, 0.0 * passed, passed)


def tree_problem(seed: int, *, nodes: int = 10, streams: int = 5, size: int = 20) -> Problem:
    """An instance of Fig. 6.1 [Xing06]: random trees with uneven costs, 10 nodes, 5 streams."""
    network = trees(default_rng(seed), TreeParameters(streams=streams, size=size))
    coefficients, links = linear(network)
    names = tuple(operator.name for operator in network.operators)
    return Problem(units=names, capacity=np.ones(nodes), coefficients=coefficients, links=links)


def periodic_rates(seed: int, mean: Floats, periods: int, *, even: bool = True, after: int = 0) -> Floats:
    """Workload 1 of [Xing05], (d, periods) tuples per second: high for half of 10 s, a quarter of that for the rest.

    `mean`, (d,), is the rate over 10 s; offsets are `even`ly spaced or drawn; arrivals are Poisson's; a period is a
    second, and the first one is `after` seconds from the start.
    """
    d, rng = len(mean), default_rng(seed)
    offsets = rng.permutation(d) * 10 / d if even else rng.uniform(0, 10, d)
    times = after + np.arange(periods)[None, :, None] + np.arange(100) / 100
    level = np.where((times + offsets[:, None, None]) % 10 < 5, 1.6, 0.4).mean(axis=2)  # (d, periods)
    return np.asarray(default_rng((seed, after)).poisson(mean[:, None] * level), dtype=np.float64)


def chain_problem(
    seed: int, *, nodes: int = 20, periods: int = 10, load: float = 0.8, even: bool = True, after: int = 0
) -> Problem:
    """The default problem of [Xing05]: n chains of 10 operators on n nodes, at a system load."""
    network = chains(default_rng(seed), ChainParameters(chains=nodes))
    coefficients, links = linear(network)
    mean = default_rng(seed).uniform(0.8, 1.2, nodes)
    mean *= load * nodes / (coefficients @ mean).sum()
    names = tuple(operator.name for operator in network.operators)
    return Problem(
        units=names,
        capacity=np.ones(nodes),
        coefficients=coefficients,
        rates=mean,
        series=coefficients @ periodic_rates(seed, mean, periods, even=even, after=after),
        links=links,
    )

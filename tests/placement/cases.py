"""Problems of the texts, small enough for tests."""

from __future__ import annotations

import numpy as np
from numpy.random import default_rng

from drover.load.arrays import Floats
from drover.network.generate import TreeParameters, trees
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

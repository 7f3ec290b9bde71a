from __future__ import annotations

import numpy as np
from numpy.random import default_rng

from drover.placement.baseline import place_largest_first
from drover.placement.correlation import kernels
from drover.placement.correlation import node_kernels as loops
from drover.placement.correlation.kernels import Method
from drover.placement.correlation.place import node_lists, unit_arrays
from drover.placement.score import score
from drover_lab.placement.instances import chain_problem


def test_row_minima_find_the_least_pair() -> None:
    problem = chain_problem(2, nodes=12)
    units = unit_arrays(problem, np.ones(problem.m, dtype=np.bool_), default_rng(0))
    nodes = node_lists(problem, units, place_largest_first(problem, default_rng(0)))
    method = Method(kernels.REDISTRIBUTE, kernels.CORRELATION, 0.2, False)
    before = score(problem, nodes.places).correlation
    assert loops.improve_all(units, nodes, method, 0.8) > 0
    assert score(problem, nodes.places).correlation > before

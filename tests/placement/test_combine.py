"""Policies made of other policies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import default_rng

from drover.placement.combine import place_combined, place_in_domains, restrict
from drover.placement.correlation.place import place_correlated
from drover.placement.faults import faults
from drover.placement.resilient.place import place_resilient
from drover.placement.score import feasible, score
from drover_lab.placement.instances import chain_problem


def test_sticky_units_are_placed_as_if_there_were_no_others() -> None:
    problem = replace(chain_problem(1), sticky=np.arange(200) % 5 == 0)
    places = place_combined(problem, default_rng(0))
    stuck = restrict(problem, problem.sticky)
    assert places[problem.sticky].tolist() == place_resilient(stuck, default_rng(0)).tolist()
    mixed = place_correlated(problem, default_rng(0))
    assert feasible(stuck, places[problem.sticky]) >= feasible(stuck, mixed[problem.sticky])
    assert score(problem, places).imbalance < 0.2


def test_placing_by_domains_is_nearly_as_good_as_placing_all_units() -> None:
    problem = chain_problem(2, nodes=40)
    whole = score(problem, place_correlated(problem, default_rng(0)))
    parted = place_in_domains(problem, default_rng(0), size=10)
    assert list(faults(problem, parted)) == []
    assert score(problem, parted).deviation < 1.8 * whole.deviation
    assert score(problem, parted).imbalance < 0.3


def test_a_part_of_a_problem_keeps_what_it_can() -> None:
    problem = replace(chain_problem(0, nodes=4), apart=((0, 1, 2), (5, 6)), pinned=np.where(np.arange(40) == 3, 2, -1))
    problem = replace(problem, readers=((0, 5, 9), (5, 9)))
    part = restrict(problem, np.arange(40) < 6, np.array([2, 3]))
    assert part.apart == ((0, 1, 2), (5,))
    assert part.readers == ((0, 5),)
    assert part.reachable()[3].tolist() == [True, False]
    assert (part.m, part.n, len(part.links.source)) == (6, 2, 5)

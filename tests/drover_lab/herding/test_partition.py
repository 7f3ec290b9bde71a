"""The partitioner is an extra: without it there is a way out, with it the assignment keeps the limits."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng

from drover.errors import ProblemError
from drover_lab.herding.faults import faults
from drover_lab.herding.generate import Workload, generate
from drover_lab.herding.policy import assign


class Partitioner(ModuleType):
    """Stands in for mtkahypar: takes what it takes, and puts every vertex into block 0 or its number's."""

    PresetType = SimpleNamespace(QUALITY="quality", DEFAULT="default")
    Objective = SimpleNamespace(KM1="km1")

    def __init__(self, blocks: int) -> None:
        super().__init__("mtkahypar")
        self.blocks, self.calls = blocks, list[tuple[Any, ...]]()

    def initialize(self, _threads: int) -> Partitioner:
        return self

    def set_seed(self, seed: int) -> None:
        self.calls.append(("seed", seed))

    def context_from_preset(self, preset: str) -> SimpleNamespace:
        return SimpleNamespace(set_partitioning_parameters=lambda *given: self.calls.append((preset, *given)))

    def create_hypergraph(self, *given: Any) -> SimpleNamespace:
        self.calls.append(given[1:])
        blocks = SimpleNamespace(block_id=lambda vertex: vertex % self.blocks)
        return SimpleNamespace(partition=lambda _context: blocks)


def test_without_it_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mtkahypar", None)
    problem = generate(Workload(queries=10, servers=2), default_rng(0))
    with pytest.raises(ProblemError, match=r"not installed. Install drover\[partition\], or choose annealed"):
        assign(problem, "partition", default_rng(0))


@pytest.mark.parametrize("blocks", [1, 4])
def test_whatever_it_says_the_limits_hold(monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
    standing_in = Partitioner(blocks)
    monkeypatch.setitem(sys.modules, "mtkahypar", standing_in)
    problem = generate(Workload(queries=300, servers=4), default_rng(0))
    assert list(faults(problem, assign(problem, "partition", default_rng(0)))) == []
    (_seed, (preset, k, slack, objective), (vertices, count, nets, weights, rates)) = standing_in.calls
    assert (preset, k, objective) == ("quality", 4, "km1")
    assert slack == pytest.approx(0.05, abs=0.01)
    assert sum(weights) == 300
    assert len(weights) == vertices
    assert all(len(set(net)) == len(net) > 1 for net in nets)
    assert (len(nets), set(rates)) == (count, {1})


def test_unequal_servers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mtkahypar", Partitioner(1))
    problem = replace(generate(Workload(queries=10, servers=2), default_rng(0)), capacity=np.array([1.0, 2.0]))
    with pytest.raises(ProblemError, match="takes equal ones"):
        assign(problem, "partition", default_rng(0))

"""Runs of spread joins in which all changes from batch to batch: shapes, weights, nodes and where instances are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numpy.random import Generator
from polars.testing import assert_frame_equal

from drover.diffusion.choose import Weights, weights_by_row
from drover.diffusion.epochs import MOST_LIVE
from drover.flow.instances import instances_of, oldest_by_join, reshape, retire_epochs, with_weights
from drover.flow.node import OperatorFacts
from drover.network.grid import Grid, Spread
from drover.network.model import Network
from drover.network.operators import Join
from drover.placement.plan import Plan, round_robin
from tests.flow.harness import Batch, Harness

GRIDS = (Grid(1, 1), Grid(3, 1), Grid(1, 4), Grid(2, 2), Grid(2, 3), Grid(1, 2), Grid(5, 1), Grid(3, 2))
MANY = (*GRIDS, Grid(4, 4), Grid(13, 1))  # the last two have more instances than there are nodes, or rows at times


def joins_of(network: Network) -> list[Join]:
    return [operator for operator in network.operators if isinstance(operator, Join)]


def unspread(network: Network) -> Network:
    """Return the network with whole joins."""
    operators = tuple(replace(one, spread=None) if isinstance(one, Join) else one for one in network.operators)
    return Network(network.name, network.sources, operators, network.outputs, network.tables)


def spread_all(network: Network, rng: Generator) -> Network:
    """Return the network with its joins spread in one way or another."""
    ways: tuple[Spread, ...] = ("auto", 2, 3, 4, 6, *GRIDS)
    operators = tuple(
        replace(one, spread=ways[int(rng.integers(len(ways)))]) if isinstance(one, Join) else one
        for one in network.operators
    )
    return Network(network.name, network.sources, operators, network.outputs, network.tables)


@dataclass(slots=True)
class Chaos:
    """Plans, each made of the one before."""

    network: Network
    rng: Generator
    plan: Plan
    changes: int = 0
    live: int = 1  # epochs of one join, at the most
    restless: bool = False  # whether every join changes its shape in every batch, as far as it may

    def step(self) -> Plan:
        """Return the plan of the next batch."""
        rng = self.rng
        if rng.random() < 0.3:
            self.plan = self.plan.scale(int(rng.integers(1, 7)))
        for join in joins_of(self.network):
            spread = instances_of(join, self.plan)
            if len(spread.epochs) < MOST_LIVE and (self.restless or rng.random() < 0.5):
                self._reshape(join)
            if join.name in self.plan.instances and rng.random() < 0.5:
                present = self.plan.instances[join.name].epochs[-1].grid
                self.plan = with_weights(self.plan, join.name, self._weights(present))
        units = [*self.plan.node_of]
        units += [f"{join}[{i + 1}]" for join, one in self.plan.instances.items() for i in range(len(one.others))]
        for unit in units:
            if rng.random() < 0.3:
                self.plan = self.plan.move(unit, int(rng.integers(self.plan.nodes)))
        return self.plan

    def _reshape(self, join: Join) -> None:
        known = MANY if self.restless else GRIDS
        grid = known[int(self.rng.integers(len(known)))]
        nodes = [int(node) for node in self.rng.integers(self.plan.nodes, size=int(self.rng.integers(0, 7)))]
        weights = self._weights(grid) if self.rng.random() < 0.5 else ((), ())
        self.plan = reshape(self.plan, join, grid, nodes, weights)
        self.changes += 1
        self.live = max(self.live, len(instances_of(join, self.plan).epochs))

    def _weights(self, grid: Grid) -> Weights:
        cells = self.rng.random(grid.cells)
        if self.restless:  # some cells are given nothing, or all of it
            cells *= self.rng.random(grid.cells) < 0.5
        return weights_by_row(cells, grid)

    def retire_epochs(self, facts: list[OperatorFacts]) -> None:
        """Drop the epochs of which instances kept no rows in the last batch."""
        spread = {join.name for join in joins_of(self.network)}
        oldest = [(one.sample.operator, one.oldest) for one in facts if one.sample.operator in spread]
        self.plan = retire_epochs(self.plan, self.network, oldest_by_join(oldest))


def chaos(network: Network, rng: Generator, *, restless: bool = False) -> Chaos:
    return Chaos(network, rng, round_robin(network, int(rng.integers(1, 7))), restless=restless)


def assert_as_whole(network: Network, batches: Sequence[Batch], run: Chaos) -> None:
    """Fail if a network whose joins change from batch to batch gives anything else than one with whole joins."""
    whole = unspread(network)
    harness = Harness(network)
    plain = Harness(whole)
    for batch in batches:
        seen = len(harness.facts)
        harness.run(batch, run.step())
        run.retire_epochs(harness.facts[seen:])
        plain.run(batch, round_robin(whole, 1))
    assert (harness.failures, plain.failures) == ([], [])
    for stream in network.outputs:
        assert_frame_equal(harness.output(stream), plain.output(stream), check_row_order=False)

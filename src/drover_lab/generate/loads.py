"""Networks of synthetic operators: known cost and selectivity, nothing else.

Rule 1: nothing here computes; costs are busy seconds per tuple. Rule 2: letters as everywhere: operator j of m,
input stream k of d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from numpy.random import Generator

from drover.network.build import Builder, Stream
from drover.network.model import Network
from drover_lab.generate.ranges import Range, demand, demand_range

COLUMNS: Final = {"ts": "timestamp", "value": "bigint"}
MOST_COST: Final = 60.0  # seconds per tuple that the model takes
MOST_SELECTIVITY: Final = 1000.0
SEEDS: Final = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainParameters:
    """Chains of equally long synthetic operators; defaults of [Xing05], section 5: n = 20 nodes, m = 200 operators."""

    chains: int = 20  # d, one input stream each
    length: int = 10  # operators per chain, so that m = chains * length
    cost: float = 1e-3  # busy seconds per tuple
    selectivity: Range = (0.8, 1.2)  # uniform

    def __post_init__(self) -> None:
        """Raise DroverError for a parameter out of range."""
        demand("chains", self.chains, 1)
        demand("length", self.length, 1)
        demand("cost", self.cost, 0, MOST_COST)
        demand_range("selectivity", self.selectivity, 0, MOST_SELECTIVITY)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeParameters:
    """One operator tree per input stream, all of one size; after section 6.1.1 of Xing's dissertation.

    The dissertation names no distributions; these are the ones that reproduce its figure 6.1.
    """

    streams: int = 5  # d
    size: int = 20  # operators per tree, so that m = streams * size
    children: tuple[int, int] = (1, 3)  # per operator, until the tree has its size
    cost: Range = (0.1, 1.0)  # uniform, in units of `unit`
    unit: float = 1e-3  # busy seconds per tuple that a cost of 1 means
    passing: float = 0.5  # share of the operators with selectivity 1
    selectivity: Range = (0.5, 1.0)  # of the others, uniform

    def __post_init__(self) -> None:
        """Raise DroverError for a parameter out of range."""
        demand("streams", self.streams, 1)
        demand("size", self.size, 1)
        demand_range("children", self.children, 1)
        demand("unit", self.unit, 0)
        demand_range("cost", self.cost, 0, MOST_COST / self.unit if self.unit else MOST_COST)
        demand("passing", self.passing, 0, 1)
        demand_range("selectivity", self.selectivity, 0, MOST_SELECTIVITY)


CHAINS: Final = ChainParameters()
TREES: Final = TreeParameters()
TWO_CHAINS: Final = ChainParameters(chains=2, length=2, selectivity=(1.0, 1.0))  # [Xing05], figure 1


def chains(rng: Generator, parameters: ChainParameters = CHAINS, *, name: str = "chains") -> Network:
    """Return d chains `s0 -> s0-0 -> s0-1 ...`, each read from a source of its own and given out at its end."""
    shape = (parameters.chains, parameters.length)
    selectivities = rng.uniform(*parameters.selectivity, size=shape)  # (d, length)
    seeds = rng.integers(SEEDS, size=shape)  # (d, length)
    builder = Builder(name)
    for k in range(parameters.chains):
        stream = builder.source(f"s{k}", COLUMNS, time="ts")
        for step in range(parameters.length):
            stream = stream.synthetic(
                f"s{k}-{step}",
                cost=parameters.cost,
                selectivity=float(selectivities[k, step]),
                seed=int(seeds[k, step]),
            )
        stream.output()
    return builder.build()


def two_chains(rng: Generator, parameters: ChainParameters = TWO_CHAINS, *, name: str = "two_chains") -> Network:
    """Return two chains of two identical operators, the example of [Xing05], figure 1 (connected against cut plan)."""
    return chains(rng, parameters, name=name)


def trees(rng: Generator, parameters: TreeParameters = TREES, *, name: str = "trees") -> Network:
    """Return one tree `s0-0`, `s0-1`, ... per source, rooted at the operator that reads it; leaves are given out."""
    shape = (parameters.streams, parameters.size)
    m = parameters.streams * parameters.size
    costs = parameters.unit * rng.uniform(*parameters.cost, size=shape)  # (d, size)
    selectivities = rng.uniform(*parameters.selectivity, size=m)  # (m,)
    # Exactly that share, not a coin per operator: the share is a parameter of the experiment, not one of its noises.
    selectivities[rng.permutation(m)[: round(parameters.passing * m)]] = 1.0
    seeds = rng.integers(SEEDS, size=shape)  # (d, size)
    builder = Builder(name)
    for k in range(parameters.streams):
        source = builder.source(f"s{k}", COLUMNS, time="ts")
        parents = _parents(rng, parameters)
        made: list[Stream] = []
        for step, parent in enumerate(parents):
            before = source if parent < 0 else made[parent]
            chosen = float(selectivities[k * parameters.size + step])
            operator = before.synthetic(
                f"s{k}-{step}", cost=float(costs[k, step]), selectivity=chosen, seed=int(seeds[k, step])
            )
            made.append(operator)
        for leaf in sorted(set(range(parameters.size)) - set(parents)):
            made[leaf].output()
    return builder.build()


def _parents(rng: Generator, parameters: TreeParameters) -> list[int]:
    """Return the parent of each operator of a tree, -1 for the root: level by level, each draws its children."""
    low, high = parameters.children
    parents = [-1]
    parent = 0
    while len(parents) < parameters.size:
        drawn = int(rng.integers(low, high + 1))
        parents += [parent] * min(drawn, parameters.size - len(parents))
        parent += 1
    return parents

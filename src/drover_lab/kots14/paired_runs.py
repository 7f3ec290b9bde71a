"""The experiment of [Kots14] with and without its protocol; all experiments on hierarchies use it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final

import numpy as np
from numpy.random import default_rng

from drover.hierarchy.thresholds import TreeThresholds
from drover.load.arrays import Flags
from drover_lab.summary import over
from drover_lab.table import Row, Value
from drover_lab.trees.links import LinkModel
from drover_lab.trees.outcome import TreeRun
from drover_lab.trees.run import TreeSettings, simulate_protocol, simulate_static
from drover_lab.trees.scenario import TreeScenarioParameters, draw_scenario

THRESHOLDS: Final = TreeThresholds(0.4, 0.6)  # [Kots14], table 5
BASE: Final[dict[str, Value]] = {
    "nodes": 15,
    "operators": 360,
    "capacity": 100.0,
    "size": 1.0,
    "chain": 2,
    "merging": 0.0,
    "loss": 0.0,
}
OPEN: Final = """
A binary tree of 15 nodes with 360 operators. From the third second on, a randomly drawn operator grows for 16 s, then
another, for 8 minutes. Every second it grows by a number drawn from Poisson(2). Then operators that have grown shrink
in the same way, for 8 minutes. Every 5 s a node looks at its memory. The marks are 40, 50 and 60 %. All levels are
recorded every 2 s.

The text leaves open the following, which we chose before any measurement.

- **Memory**: the text gives sizes in percent only. So a node has 100 units, an operator begins with one (24 % on
  average), and grows by units. This gives 88 % on average after 8 minutes, well above the upper mark: nobody could
  keep all nodes below it. `T-readings` varies it.
- **Queries**: chains of two operators, as in the text's own examples (an aggregate, then a filter). Each is on a
  random node, and reads a source that enters at a leaf below it.
- **Network**: 10 to 50 ms for a message, a time-out of half a second, three tries.
- **Phases**: nodes look at different times, drawn evenly within the 5 s.
- **Shrinking** ends at the size that an operator began with.
"""


@dataclass(frozen=True, slots=True, eq=False)
class PairedRuns:
    """The outcomes of one scenario, without and with the protocol."""

    without: TreeRun
    with_: TreeRun

    @property
    def fewer(self) -> Flags:
        """Whether fewer nodes are overloaded with the protocol, (h,)."""
        return np.asarray(self.with_.overloaded(THRESHOLDS.upper) < self.without.overloaded(THRESHOLDS.upper))

    @property
    def more(self) -> Flags:
        """Whether more nodes are overloaded with the protocol, (h,)."""
        return np.asarray(self.with_.overloaded(THRESHOLDS.upper) > self.without.overloaded(THRESHOLDS.upper))


@lru_cache(maxsize=1)
def run_pair(parameters: TreeScenarioParameters, loss: float, seed: int) -> PairedRuns:
    """Return both outcomes of one scenario; rows of one scenario are adjacent, so one is cached."""
    drawn = draw_scenario(default_rng((seed, 14)), parameters)
    settings = TreeSettings(thresholds=THRESHOLDS, links=LinkModel(loss=loss))
    return PairedRuns(simulate_static(drawn), simulate_protocol(drawn, default_rng((seed, 15)), settings))


def pair_of(row: Row) -> PairedRuns:
    """Return both outcomes for the parameters of a row."""
    parameters = TreeScenarioParameters(
        nodes=int(row["nodes"]),
        operators=int(row["operators"]),
        capacity=float(row["capacity"]),
        size=float(row["size"]),
        chain=int(row["chain"]),
        merging=float(row["merging"]),
    )
    return run_pair(parameters, float(row["loss"]), int(row["seed"]))


def less(pair: PairedRuns) -> float:
    """Return the fraction by which overloaded time falls, over all nodes."""
    before, after = (int(outcome.overloaded(THRESHOLDS.upper).sum()) for outcome in (pair.without, pair.with_))
    return 1 - over(after, before)


def fewer_when(pair: PairedRuns) -> float:
    """Return how often fewer nodes are overloaded, as a fraction of the time with overload without the protocol."""
    some = pair.without.overloaded(THRESHOLDS.upper) > 0
    return float(pair.fewer[some].mean()) if some.any() else float("nan")


def excess(pair: PairedRuns) -> float:
    """Return the fraction by which load above the upper threshold falls, over all nodes and times."""
    above = [float(np.maximum(outcome.levels - THRESHOLDS.upper, 0).sum()) for outcome in (pair.without, pair.with_)]
    return 1 - over(above[1], above[0])


def spell(outcome: TreeRun) -> float:
    """Return the mean duration of an overload in seconds; NaN if there is none."""
    lengths = [
        len(list(group))
        for node in (outcome.levels > THRESHOLDS.upper).T
        for overloaded, group in groupby(node.tolist())
        if overloaded
    ]
    step = float(outcome.times[1] - outcome.times[0])
    return step * float(np.mean(lengths)) if lengths else float("nan")

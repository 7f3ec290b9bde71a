"""The text's experiment, with and without its protocol: what all experiments on hierarchies are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final

import numpy as np
from numpy.random import default_rng

from drover.experiments.summary import over
from drover.experiments.table import Row, Value
from drover.hierarchy.thresholds import Thresholds
from drover.load.arrays import Flags
from drover.sim.trees.course import Course
from drover.sim.trees.run import Settings, play, stand_still
from drover.sim.trees.scene import SceneParameters, scene
from drover.sim.trees.wire import Wire

MARKS: Final = Thresholds(0.4, 0.6)  # [Kots14], table 5
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
A binary tree of 15 nodes with 360 operators. From the third second on, a drawn operator grows for 16 s, every second
by a number drawn from Poisson(2), then another, for 8 minutes; then operators that have grown shrink likewise, for 8
minutes. Every 5 s a node looks at its memory; the marks are 40, 50 and 60 %. All levels are noted every 2 s.

The text leaves open, and this is what was chosen before anything was measured. **Memory**: it speaks of sizes in
percent only, so a node has 100 units, an operator begins with one (24 % on average), and grows by units. That makes
88 % on average after 8 minutes, well above the upper mark: nobody could keep all nodes below it. `T-readings` varies
it. **Queries**: chains of two operators, as its own examples are (an aggregate, then a filter), on a node drawn
evenly, fed by a source that enters at a leaf below it. **Network**: 10 to 50 ms for a message, half a second of
patience, three tries. **Phases**: nodes look around at different times, drawn evenly within the 5 s. **Shrinking**
ends at the size an operator began with.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The same scene, with nobody doing anything and with the protocol."""

    without: Course
    with_: Course

    @property
    def fewer(self) -> Flags:
        """When fewer nodes are overloaded with the protocol, (h,)."""
        return np.asarray(self.with_.overloaded(MARKS.upper) < self.without.overloaded(MARKS.upper))

    @property
    def more(self) -> Flags:
        """When more nodes are, (h,)."""
        return np.asarray(self.with_.overloaded(MARKS.upper) > self.without.overloaded(MARKS.upper))


@lru_cache(maxsize=1)
def played(parameters: SceneParameters, loss: float, seed: int) -> Pair:
    """Return both courses of one scene."""
    drawn = scene(default_rng((seed, 14)), parameters)
    settings = Settings(thresholds=MARKS, wire=Wire(loss=loss))
    return Pair(stand_still(drawn), play(drawn, default_rng((seed, 15)), settings))


def pair_of(row: Row) -> Pair:
    """Return the courses of a row."""
    parameters = SceneParameters(
        nodes=int(row["nodes"]),
        operators=int(row["operators"]),
        capacity=float(row["capacity"]),
        size=float(row["size"]),
        chain=int(row["chain"]),
        merging=float(row["merging"]),
    )
    return played(parameters, float(row["loss"]), int(row["seed"]))


def less(pair: Pair) -> float:
    """Return by which share the time that nodes are overloaded falls, all nodes together."""
    before, after = (int(course.overloaded(MARKS.upper).sum()) for course in (pair.without, pair.with_))
    return 1 - over(after, before)


def fewer_when(pair: Pair) -> float:
    """Return for which share of the time fewer nodes are overloaded, of that in which some are without the protocol."""
    some = pair.without.overloaded(MARKS.upper) > 0
    return float(pair.fewer[some].mean()) if some.any() else float("nan")


def excess(pair: Pair) -> float:
    """Return by which share the load above the upper mark falls, all nodes and times together."""
    above = [float(np.maximum(course.levels - MARKS.upper, 0).sum()) for course in (pair.without, pair.with_)]
    return 1 - over(above[1], above[0])


def spell(course: Course) -> float:
    """Return how long a node stays overloaded once it is, in seconds, on average; NaN if none ever is."""
    lengths = [
        len(list(group))
        for node in (course.levels > MARKS.upper).T
        for overloaded, group in groupby(node.tolist())
        if overloaded
    ]
    step = float(course.times[1] - course.times[0])
    return step * float(np.mean(lengths)) if lengths else float("nan")

"""What rows of text D have in common: servers, streams, and the policies that spread joins.

Rule 1: rows of one seed have the same servers and the same arrivals, whatever the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

import numpy as np
from numpy.random import default_rng

from drover.diffusion.choose import cheapest, pays, reshaped, split_one
from drover.diffusion.cost import Demand
from drover.load.arrays import Floats, Ints, frozen
from drover.network.grid import Grid
from drover_lab.diffused.run import Full, JoinOutcome, Reshape, Setup, Split, arrivals, run
from drover_lab.diffused.world import JoinCluster
from drover_lab.table import Row, Value

WINDOW: Final = 10.0  # seconds, of every stream
PERIOD: Final = 50.0  # seconds after which throughput is sampled, and shapes may change
PAYBACK: Final = 300.0  # seconds in which a change of shape has to win back its copies
SETTING: Final = """
Servers have U[1000, 5000] MIPS and room for U[1000, 2000] tuples. A join operation takes 50 million instructions, and
receiving a tuple takes 10. Rates are U[5, 20] tuples per second. Gaps between tuples are uniform from 1/(2r) to 2/r,
so the mean rate is 0.8 r. Windows are 10 s. A single join needs the capacity of thirty servers. So servers are always
full and drop many tuples.

The text leaves open the following, which we chose. Joins on one server share its memory and are served in order of
arrival. Receiving comes first. The load of a server is the number of waiting tuples, divided by its speed. A full
server first discards tuples that no future tuple can meet, then drops new ones. *LLF* puts each join on a randomly
drawn server that has none, since all of these are equally loaded.

`ssp` splits the faster stream and copies the slower one, as the text's formula demands. `ssp-printed` follows the
text's sentence, which says the opposite. `grid` is drover's own: the r x c grid with the fewest copies, split by
speed. If each tuple went to the least loaded row *and* column, some cells would get many tuples of both streams and
others few.
"""


@dataclass(frozen=True, slots=True)
class ShapePolicy:
    """A policy: who decides on the first shape and on later ones; with `alone`, a join runs on one server."""

    first: str
    later: str = ""
    alone: bool = False


POLICIES: Final[Mapping[str, ShapePolicy]] = {
    "ssp": ShapePolicy("role"),
    "ssp-printed": ShapePolicy("printed"),
    "ssp-adaptive": ShapePolicy("role", "role"),
    "grid": ShapePolicy("grid"),
    "grid-adaptive": ShapePolicy("grid", "grid"),
    "llf": ShapePolicy("role", alone=True),
}


def shape(rule: str, cells: int, demand: Demand) -> Grid:
    """Return the grid that a rule wants."""
    if rule == "grid":
        return cheapest(cells, demand)
    one = split_one(cells, demand)
    return one if rule == "role" else Grid(one.columns, one.rows)


def reshape_by(rule: str) -> Reshape | None:
    """Return how shapes change: to any grid, or only by swapping the roles of the streams. None: never."""
    if rule == "grid":
        return lambda grid, demand: reshaped(grid, demand, PAYBACK)
    if rule == "role":

        def switch(grid: Grid, demand: Demand) -> Grid:
            best = split_one(grid.cells, demand)
            return best if best != grid and pays(grid, best, demand, PAYBACK) else grid

        return switch
    return None


@lru_cache(maxsize=2)
def streams_of(
    joins: int, nodes: int, seconds: float, section: float, seed: int
) -> tuple[JoinCluster, Floats, list[Floats], Ints]:
    """Return servers, rates (sections, 2 joins), arrival times, and the servers of each join in random order."""
    rng = default_rng((seed, 2005))
    cluster = JoinCluster(rng.uniform(1000.0, 5000.0, nodes), rng.integers(1000, 2001, nodes))
    rates = rng.uniform(5.0, 20.0, (max(round(seconds / section), 1), 2 * joins))
    order = np.array([rng.permutation(nodes) for _ in range(joins)])
    return cluster, frozen(rates), arrivals(rates, section, rng), frozen(order)


@lru_cache(maxsize=4)
def outcome(given: tuple[tuple[str, Value], ...]) -> JoinOutcome:
    """Return the run of a row; rows of one run are adjacent."""
    row = dict(given)
    joins = int(row["joins"])
    nodes = int(row["nodes"])
    seconds = float(row["seconds"])
    kind = POLICIES[str(row["policy"])]
    cluster, rates, streams, order = streams_of(joins, nodes, seconds, float(row["section"]), int(row["seed"]))
    cells = 1 if kind.alone else int(row["servers"])
    # First shapes follow from the rates of the first section, because later rates are not known then.
    demands = [Demand(rates[0, 2 * j], rates[0, 2 * j + 1], WINDOW, WINDOW) for j in range(joins)]
    setup = Setup(
        cluster,
        order[:1, :joins].T if kind.alone else order[:, :cells],
        tuple(shape(kind.first, cells, demand) for demand in demands),
        WINDOW,
        cast("Split", row["split"]),
        cast("Full", row["full"]),
        reshape_by(kind.later),
    )
    return run(setup, streams, seconds, PERIOD)


def outcome_of(row: Row, *without: str) -> JoinOutcome:
    """Return the run that a row is a part of; the parameters in `without` say which part."""
    return outcome(tuple(sorted((key, value) for key, value in row.items() if key not in without)))


def split_by(policy: str) -> str:
    """Return how a policy splits streams: least loaded first, as in the text, or by speed for grids."""
    return "weighted" if policy.startswith("grid") else "least-loaded"

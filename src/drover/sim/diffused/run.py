"""A run of diffused joins: who may change shapes, and what came out of it.

Rule 1: tuples are split and shapes chosen by `diffusion`, as on the real engine. Rule 2: chance is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from drover.diffusion.choose import weights_of
from drover.diffusion.cost import Demand
from drover.diffusion.epochs import MOST_LIVE, Epochs, begin, parts, retire
from drover.diffusion.split import Draws, turns, weighted
from drover.load.arrays import Floats, Ints
from drover.network.grid import Epoch, Grid
from drover.sim.diffused.kernels import play
from drover.sim.diffused.world import DROP, REPLACE, TIDY, Cluster, World, make_world, oldest_held, set_epochs

Split: TypeAlias = Literal["least-loaded", "round-robin", "weighted"]
Full: TypeAlias = Literal["tidy", "drop", "replace"]
Reshape: TypeAlias = Callable[[Grid, Demand], Grid]

RECEIVE: Final = 10.0  # million instructions, and the next: as in the text
OPERATION: Final = 50.0
FULL: Final[Mapping[Full, int]] = {"tidy": TIDY, "drop": DROP, "replace": REPLACE}


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """Joins on a cluster: cell c of join j is on `server[j, c]`, in the grid `grids[j]`."""

    cluster: Cluster
    server: Ints  # (m, cells)
    grids: tuple[Grid, ...]
    window: float = 10.0  # seconds, of either side
    split: Split = "least-loaded"
    full: Full = "tidy"
    reshape: Reshape | None = None  # what a join should be, given its rates in the last period


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What servers did."""

    operations: Ints  # (periods, n) pairs looked at
    received: Ints  # (n,) tuples
    dropped: Ints  # (n,)
    utilisation: Floats  # (n,) share of the capacity that went into operations
    changes: int  # of shape


def arrivals(rates: Floats, section: float, rng: Generator) -> list[Floats]:
    """Return the times, in seconds, of streams whose rate, (sections, streams), changes every `section` seconds.

    Gaps are uniform from 1/(2r) to 2/r, as in the text: so the mean rate is 0.8 r.
    """
    found: list[list[Floats]] = [[] for _ in rates[0]]
    for number, here in enumerate(rates):
        for k, rate in enumerate(here):
            gaps = rng.uniform(0.5 / rate, 2.0 / rate, int(section * rate * 2) + 2)
            times = np.cumsum(gaps) - gaps[0] * rng.random()
            found[k].append(number * section + times[times < section])
    return [np.concatenate(parts) for parts in found]


def run(setup: Setup, streams: Sequence[Floats], seconds: float, period: float = 50.0) -> Outcome:
    """Run for so many seconds; streams 2j and 2j + 1 are left and right of join j."""
    m, n = len(setup.grids), len(setup.cluster.speed)
    live: list[Epochs] = [(Epoch(0, grid),) for grid in setup.grids]
    world = make_world(setup.cluster, setup.server, np.full((m, 2), setup.window), live)
    costs, counted = np.array([RECEIVE, OPERATION]), np.zeros(2 * m, dtype=np.int64)
    done, ended = [np.zeros(n, dtype=np.int64)], [dict[int, float]() for _ in range(m)]
    for number in range(round(seconds / period)):
        start, end = number * period, (number + 1) * period
        rows = [times[np.searchsorted(times, start) : np.searchsorted(times, end)] for times in streams]
        draws = [_draws(setup, live[k // 2], k, len(rows[k]), int(counted[k])) for k in range(2 * m)]
        which = np.repeat(np.arange(2 * m), [len(each) for each in rows])
        times = np.concatenate(rows)
        order = np.argsort(times, kind="stable")
        play(
            world, times[order], which[order] // 2, which[order] % 2, np.concatenate(draws)[order],
            setup.split == "least-loaded", FULL[setup.full], costs, end,
        )  # fmt: skip
        counted += [len(each) for each in rows]
        done.append(world.servers.operations.copy())
        for j in range(m):
            demand = Demand(len(rows[2 * j]) / period, len(rows[2 * j + 1]) / period, setup.window, setup.window)
            before = live[j][-1].number
            live[j] = _changed(setup, world, live[j], j, demand)
            if live[j][-1].number != before:
                ended[j][before] = end
            set_epochs(world, j, live[j], ended[j])
    counts = np.array(done)
    operations = counts[1:] - counts[:-1]
    spent = operations.sum(axis=0) * OPERATION / (setup.cluster.speed * seconds)
    return Outcome(operations, world.servers.received.copy(), world.servers.dropped.copy(), spent, sum(map(len, ended)))


def _draws(setup: Setup, epochs: Epochs, k: int, count: int, start: int) -> Draws:
    """Return the draws of stream k: in turn, or by the speed of the servers in the present grid."""
    if setup.split != "weighted":
        return turns(count, start)
    grid, j, side = epochs[-1].grid, k // 2, k % 2
    weights = weights_of(setup.cluster.speed[setup.server[j, : grid.cells]], grid)[side]
    assert len(weights) == parts(grid, side)
    return weighted(count, weights, start)


def _changed(setup: Setup, world: World, live: Epochs, j: int, demand: Demand) -> Epochs:
    """Return the epochs of a join: without those that nothing is left of, with the next if its shape should change."""
    left = retire(live, oldest_held(world, j))
    if setup.reshape is None or len(left) == MOST_LIVE:
        return left
    return begin(left, setup.reshape(left[-1].grid, demand))

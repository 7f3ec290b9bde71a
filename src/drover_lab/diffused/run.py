"""The simulation of diffused joins, period by period.

Rule 1: `drover.diffusion` splits tuples and chooses shapes, as on the real engine. Rule 2: chance is an argument.
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
from drover.diffusion.split import Draws, cyclic_draws, weighted_draws
from drover.load.arrays import Floats, Ints
from drover.network.grid import Epoch, Grid
from drover_lab.diffused.kernels import deliver
from drover_lab.diffused.world import DROP, REPLACE, TIDY, JoinCluster, JoinWorld, make_world, oldest_held, set_epochs

Split: TypeAlias = Literal["least-loaded", "round-robin", "weighted"]
Full: TypeAlias = Literal["tidy", "drop", "replace"]
Reshape: TypeAlias = Callable[[Grid, Demand], Grid]

RECEIVE: Final = 10.0  # million instructions, as in the text; so is the next
OPERATION: Final = 50.0
FULL: Final[Mapping[Full, int]] = {"tidy": TIDY, "drop": DROP, "replace": REPLACE}


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """Joins on a cluster: cell c of join j is on `server[j, c]`, in the grid `grids[j]`."""

    cluster: JoinCluster
    server: Ints  # (m, cells)
    grids: tuple[Grid, ...]
    window: float = 10.0  # seconds, of either side
    split: Split = "least-loaded"
    full: Full = "tidy"
    reshape: Reshape | None = None  # the next shape of a join, given its rates in the last period


@dataclass(frozen=True, slots=True, eq=False)
class JoinOutcome:
    """The work of each server."""

    operations: Ints  # (periods, n) pairs compared
    received: Ints  # (n,) tuples
    dropped: Ints  # (n,)
    utilisation: Floats  # (n,) fraction of the capacity spent on operations
    changes: int  # of shape


def arrivals(rates: Floats, section: float, rng: Generator) -> list[Floats]:
    """Return arrival times, in seconds, of streams whose rate, (sections, streams), changes every `section` seconds.

    Gaps are uniform from 1/(2r) to 2/r, as in the text: so the mean rate is 0.8 r.
    """
    found: list[list[Floats]] = [[] for _ in rates[0]]
    for number, here in enumerate(rates):
        for k, rate in enumerate(here):
            gaps = rng.uniform(0.5 / rate, 2.0 / rate, int(section * rate * 2) + 2)
            times = np.cumsum(gaps) - gaps[0] * rng.random()
            found[k].append(number * section + times[times < section])
    return [np.concatenate(parts) for parts in found]


def run(setup: Setup, streams: Sequence[Floats], seconds: float, period: float = 50.0) -> JoinOutcome:
    """Simulate for `seconds`; streams 2j and 2j + 1 are the left and the right side of join j."""
    m = len(setup.grids)
    live: list[Epochs] = [(Epoch(0, grid),) for grid in setup.grids]
    world = make_world(setup.cluster, setup.server, np.full((m, 2), setup.window), live)
    counted = np.zeros(2 * m, dtype=np.int64)
    done = [world.servers.operations.copy()]
    ended = [dict[int, float]() for _ in range(m)]
    for number in range(round(seconds / period)):
        start = number * period
        end = (number + 1) * period
        rows = [times[np.searchsorted(times, start) : np.searchsorted(times, end)] for times in streams]
        counts = [len(each) for each in rows]
        draws = [_draws(setup, live[k // 2], k, counts[k], int(counted[k])) for k in range(2 * m)]
        _deliver_rows(setup, world, rows, draws, end)
        counted += counts
        done.append(world.servers.operations.copy())
        for j in range(m):
            demand = Demand(counts[2 * j] / period, counts[2 * j + 1] / period, setup.window, setup.window)
            before = live[j][-1].number
            live[j] = _next_epochs(setup, world, live[j], j, demand)
            if live[j][-1].number != before:
                ended[j][before] = end
            set_epochs(world, j, live[j], ended[j])
    totals = np.array(done)
    operations = totals[1:] - totals[:-1]
    spent = operations.sum(axis=0) * OPERATION / (setup.cluster.speed * seconds)
    return JoinOutcome(
        operations, world.servers.received.copy(), world.servers.dropped.copy(), spent, sum(map(len, ended))
    )


def _deliver_rows(setup: Setup, world: JoinWorld, rows: Sequence[Floats], draws: Sequence[Draws], end: float) -> None:
    """Deliver the tuples of all streams in order of time, and let servers work until `end`."""
    which = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    times = np.concatenate(rows)
    order = np.argsort(times, kind="stable")  # stable: tuples of the same time stay in the order of streams
    deliver(
        world,
        times[order],
        which[order] // 2,
        which[order] % 2,
        np.concatenate(draws)[order],
        setup.split == "least-loaded",
        FULL[setup.full],
        np.array([RECEIVE, OPERATION]),
        end,
    )


def _draws(setup: Setup, epochs: Epochs, k: int, count: int, start: int) -> Draws:
    """Return the draws of stream k: round robin, or weighted by the speed of the servers in the present grid."""
    if setup.split != "weighted":
        return cyclic_draws(count, start)
    grid = epochs[-1].grid
    j = k // 2
    side = k % 2
    weights = weights_of(setup.cluster.speed[setup.server[j, : grid.cells]], grid)[side]
    assert len(weights) == parts(grid, side)
    return weighted_draws(count, weights, start)


def _next_epochs(setup: Setup, world: JoinWorld, live: Epochs, j: int, demand: Demand) -> Epochs:
    """Return the live epochs of a join: without those that have no tuples left, with a new one if it is reshaped."""
    left = retire(live, oldest_held(world, j))
    if setup.reshape is None or len(left) == MOST_LIVE:
        return left
    return begin(left, setup.reshape(left[-1].grid, demand))

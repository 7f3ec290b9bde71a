"""The arrays that a simulation of diffused joins works on.

Index letters: server i of n, join j of m, instance q = j * cells + cell, side s (0 left, 1 right).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from drover.diffusion.epochs import MOST_LIVE, Epochs
from drover.errors import DroverError
from drover.load.arrays import Floats, Ints, frozen

Draws: TypeAlias = NDArray[np.uint32]
NOBODY: Final = -1
# What a full server does with a new tuple. TIDY: discard tuples that no future tuple can meet, then drop the new one if
# there is still no room. DROP: drop the new one. REPLACE: discard the oldest tuple, processed or not.
TIDY = 0
DROP = 1
REPLACE = 2


class Servers(NamedTuple):
    """The servers: capacity, present state and counters."""

    speed: Floats  # (n,) million instructions per second
    room: Ints  # (n,) tuples
    hosted: Ints  # (n, most) instances
    hosts: Ints  # (n,) how many of them
    busy: Floats  # (n,) time until which it is busy with the tuple it has started
    used: Ints  # (n,) tuples in memory
    waiting: Ints  # (n,) of them, not yet processed
    operations: Ints  # (n,) pairs compared
    received: Ints  # (n,) tuples, dropped ones included
    dropped: Ints  # (n,)


class Queues(NamedTuple):
    """The tuples of every instance and side, in rings from `head` to `tail`; those before `processed` are done."""

    time: Floats  # (instances, 2, ring)
    draw: Draws  # (instances, 2, ring)
    epoch: Ints  # (instances, 2, ring) 2 * number, and 1 more if no other epoch was live when it came
    head: Ints  # (instances, 2)
    processed: Ints  # (instances, 2)
    tail: Ints  # (instances, 2)


class Joins(NamedTuple):
    """The place and shape of each join."""

    server: Ints  # (m, cells) of each cell
    window: Floats  # (m, 2) seconds
    epochs: Ints  # (m, MOST_LIVE, 3) number, rows and columns
    live: Ints  # (m,) number of live epochs
    ends: Floats  # (m, MOST_LIVE) last time at which a new tuple can meet one of that epoch
    loads: Floats  # (cells,) scratch


class JoinWorld(NamedTuple):
    """All arrays of a simulation."""

    servers: Servers
    queues: Queues
    joins: Joins


@dataclass(frozen=True, slots=True, eq=False)
class JoinCluster:
    """Servers: million instructions per second, (n,), and tuples of memory, (n,)."""

    speed: Floats
    room: Ints

    def __post_init__(self) -> None:
        """Freeze the arrays, and raise DroverError for a server without speed or memory."""
        if self.speed.shape != self.room.shape or (self.speed <= 0).any() or (self.room < 1).any():
            raise DroverError(
                f"speed is {self.speed} and room {self.room}, but each server needs a speed above 0 and room for at "
                "least one tuple. Correct them, or leave the server out."
            )
        object.__setattr__(self, "speed", frozen(self.speed))
        object.__setattr__(self, "room", frozen(self.room))


def make_world(cluster: JoinCluster, server: Ints, window: Floats, epochs: list[Epochs]) -> JoinWorld:
    """Return a world without tuples: `server` is (m, cells), `window` (m, 2) seconds, `epochs` of each join."""
    n = len(cluster.speed)
    (m, cells) = server.shape
    hosted, hosts = _hosted(server, n)
    ring = 1 << int(cluster.room.max()).bit_length()  # no queue is longer than its server's memory

    def zeros() -> Ints:
        return np.zeros(n, dtype=np.int64)

    def marks() -> Ints:
        return np.zeros((m * cells, 2), dtype=np.int64)

    shape = (m * cells, 2, ring)
    servers = Servers(
        cluster.speed.copy(),
        cluster.room.copy(),
        hosted,
        hosts,
        np.zeros(n),
        zeros(),
        zeros(),
        zeros(),
        zeros(),
        zeros(),
    )
    queues = Queues(
        np.zeros(shape), np.zeros(shape, dtype=np.uint32), np.zeros(shape, dtype=np.int64), marks(), marks(), marks()
    )
    joins = Joins(
        server.copy(),
        window.copy(),
        np.zeros((m, MOST_LIVE, 3), dtype=np.int64),
        np.zeros(m, dtype=np.int64),
        np.zeros((m, MOST_LIVE)),
        np.zeros(cells),
    )
    world = JoinWorld(servers, queues, joins)
    for j, live in enumerate(epochs):
        set_epochs(world, j, live, {})
    return world


def _hosted(server: Ints, n: int) -> tuple[Ints, Ints]:
    """Return the instances on each server, (n, most), and how many there are, (n,)."""
    where = server.ravel()
    hosts = np.bincount(where[where >= 0], minlength=n)
    hosted = np.full((n, max(int(hosts.max()), 1)), NOBODY)
    filled = np.zeros(n, dtype=np.int64)
    for q, i in enumerate(where):
        if i >= 0:
            hosted[i, filled[i]] = q
            filled[i] += 1
    return hosted, hosts


def set_epochs(world: JoinWorld, j: int, live: Epochs, ended: Mapping[int, float]) -> None:
    """Set the live epochs of a join; `ended` has, by number, the end of each epoch before the last.

    Servers lag: tuples of an old epoch may wait for minutes. But a tuple that arrives more than a window after the end
    of that epoch meets none of them, so it need not be sent to that epoch's cells.
    """
    world.joins.live[j] = len(live)
    for e, epoch in enumerate(live):
        world.joins.epochs[j, e] = (epoch.number, *epoch.grid)
        world.joins.ends[j, e] = ended.get(epoch.number, np.inf) + world.joins.window[j].max()


def oldest_held(world: JoinWorld, j: int) -> int | None:
    """Return the oldest epoch of any tuple that a join still holds, or None; queues are in the order of epochs."""
    queues = world.queues
    cells = world.joins.server.shape[1]
    ring = queues.time.shape[2]
    found = [
        int(queues.epoch[q, s, queues.head[q, s] % ring]) // 2
        for q in range(j * cells, (j + 1) * cells)
        for s in range(2)
        if queues.head[q, s] < queues.tail[q, s]
    ]
    return min(found, default=None)

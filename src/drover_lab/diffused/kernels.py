"""Servers that receive, hold, drop and join tuples, compiled.

Rule 1: a server receives a tuple at once, which delays the tuple it works on. It processes tuples in order of time.
Rule 2: a tuple is compared with every processed tuple of the other side in the window. Each comparison is one
operation. Tuples that have left the window are discarded at that moment, not before.
Rule 3: a full server follows its setting: TIDY, DROP or REPLACE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from drover.load.arrays import Floats, Ints
from drover_lab.diffused.grid_kernels import goes_to, least, owner, part, place
from drover_lab.diffused.world import REPLACE, TIDY, Draws, JoinWorld

F = TypeVar("F", bound=Callable[..., object])
_UNCOUNTED: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
compiled: Callable[[F], F] = numba.njit(**_UNCOUNTED)


@part
def pairs_of(world: JoinWorld, q: int, side: int, slot: int, mask: int) -> int:
    """Discard what has left the other side's window; return how many of its tuples meet this one here."""
    queues = world.queues
    joins = world.joins
    cells = joins.server.shape[1]
    j = q // cells
    cell = q % cells
    other = 1 - side
    oldest = queues.time[q, side, slot] - joins.window[j, other]
    head = queues.head[q, other]
    processed = queues.processed[q, other]
    i = joins.server[j, cell]
    while head < processed and queues.time[q, other, head & mask] < oldest:
        head += 1
        world.servers.used[i] -= 1
    queues.head[q, other] = head
    mine = queues.epoch[q, side, slot]
    # A tuple that arrived while only one epoch was live belongs here, and so do all later ones of that epoch. Then
    # every pair is made here, and the loop over owners can be skipped.
    if head == processed or (mine % 2 == 1 and queues.epoch[q, other, head & mask] == mine):
        return int(processed - head)
    found = 0
    for at in range(head, processed):
        theirs = queues.epoch[q, other, at & mask]
        one = queues.draw[q, side, slot]
        two = queues.draw[q, other, at & mask]
        left, right = (one, two) if side == 0 else (two, one)
        found += owner(min(mine // 2, theirs // 2), left, right, joins.epochs[j], joins.live[j]) == cell
    return found


@part
def advance(world: JoinWorld, i: int, until: float, cost: float, mask: int) -> None:
    """Let server i process tuples until `until`."""
    servers = world.servers
    queues = world.queues
    while servers.waiting[i] > 0 and servers.busy[i] < until:
        first = np.inf
        found = -1
        at = 0
        for h in range(servers.hosts[i]):
            q = servers.hosted[i, h]
            for side in range(2):
                processed = queues.processed[q, side]
                if processed < queues.tail[q, side] and queues.time[q, side, processed & mask] < first:
                    first = queues.time[q, side, processed & mask]
                    found = q
                    at = side
        begin = max(servers.busy[i], first)
        if begin >= until:
            break
        pairs = pairs_of(world, found, at, queues.processed[found, at] & mask, mask)
        queues.processed[found, at] += 1
        servers.waiting[i] -= 1
        servers.operations[i] += pairs
        servers.busy[i] = begin + pairs * cost / servers.speed[i]


@part
def tidy(world: JoinWorld, i: int, now: float, mask: int) -> None:
    """Discard processed tuples that are too old for the other side's next tuple, or for one that arrives now.

    Without this, a server could stay full of one side for ever: no tuple of the other side gets in, so none expires.
    """
    servers = world.servers
    queues = world.queues
    joins = world.joins
    for h in range(servers.hosts[i]):
        q = servers.hosted[i, h]
        for side in range(2):
            processed = queues.processed[q, side]
            other = queues.processed[q, 1 - side]
            next_one = queues.time[q, 1 - side, other & mask] if other < queues.tail[q, 1 - side] else now
            oldest = next_one - joins.window[q // joins.server.shape[1], side]
            head = queues.head[q, side]
            while head < processed and queues.time[q, side, head & mask] < oldest:
                head += 1
                servers.used[i] -= 1
            queues.head[q, side] = head


@part
def forget_oldest(world: JoinWorld, i: int, mask: int) -> None:
    """Discard the oldest tuple of server i."""
    servers = world.servers
    queues = world.queues
    first = np.inf
    found = -1
    at = 0
    for h in range(servers.hosts[i]):
        q = servers.hosted[i, h]
        for side in range(2):
            head = queues.head[q, side]
            if head < queues.tail[q, side] and queues.time[q, side, head & mask] < first:
                first = queues.time[q, side, head & mask]
                found = q
                at = side
    if queues.processed[found, at] == queues.head[found, at]:
        queues.processed[found, at] += 1
        servers.waiting[i] -= 1
    queues.head[found, at] += 1
    servers.used[i] -= 1
    servers.dropped[i] += 1


@part
def make_room(world: JoinWorld, i: int, now: float, full: int, mask: int) -> bool:
    """Return whether server i has room for one more tuple, after discarding as its setting says."""
    servers = world.servers
    if servers.used[i] >= servers.room[i] and full == TIDY:
        tidy(world, i, now, mask)
    if servers.used[i] >= servers.room[i] and full == REPLACE:
        forget_oldest(world, i, mask)
    return bool(servers.used[i] < servers.room[i])


@part
def first_of(world: JoinWorld, j: int, time: float) -> int:
    """Return the index of the oldest live epoch whose tuples can meet one that arrives now."""
    first = 0
    while world.joins.ends[j, first] < time:
        first += 1
    return first


@part
def receive(world: JoinWorld, q: int, side: int, time: float, draw: int, cost: float, full: int, mask: int) -> None:
    """Deliver a tuple to an instance; its server may drop it."""
    servers = world.servers
    queues = world.queues
    joins = world.joins
    j = q // joins.server.shape[1]
    i = joins.server[j, q % joins.server.shape[1]]
    servers.received[i] += 1
    servers.busy[i] = max(servers.busy[i], time) + cost / servers.speed[i]
    if not make_room(world, i, time, full, mask):
        servers.dropped[i] += 1
        return
    slot = queues.tail[q, side] & mask
    last = joins.live[j] - 1
    queues.time[q, side, slot] = time
    queues.draw[q, side, slot] = np.uint32(draw)
    queues.epoch[q, side, slot] = 2 * joins.epochs[j, last, 0] + (first_of(world, j, time) == last)
    queues.tail[q, side] += 1
    servers.used[i] += 1
    servers.waiting[i] += 1


@part
def least_loaded(world: JoinWorld, j: int, side: int) -> int:
    """Return the row or column of the present grid with the least work: waiting tuples over speed."""
    servers = world.servers
    joins = world.joins
    rows = joins.epochs[j, joins.live[j] - 1, 1]
    columns = joins.epochs[j, joins.live[j] - 1, 2]
    parts = rows if side == 0 else columns
    joins.loads[:parts] = 0.0
    for cell in range(rows * columns):
        i = joins.server[j, cell]
        mine = cell // columns if side == 0 else cell % columns
        joins.loads[mine] += servers.waiting[i] / servers.speed[i]
    return least(joins.loads, parts)


@compiled
def deliver(
    world: JoinWorld,
    times: Floats,
    joins: Ints,
    sides: Ints,
    draws: Draws,
    choose: bool,
    full: int,
    costs: Floats,
    until: float,
) -> None:
    """Deliver tuples in order of time; `costs` are those of receiving a tuple and of an operation.

    With `choose`, a tuple goes to the least loaded part; without, its draw, (N,), chooses the part.
    """
    cells = world.joins.server.shape[1]
    mask = world.queues.time.shape[2] - 1
    for number in range(len(times)):
        time = times[number]
        j = joins[number]
        side = sides[number]
        draw = int(draws[number])
        for cell in range(cells):
            i = world.joins.server[j, cell]
            if i >= 0:
                advance(world, i, time, costs[1], mask)
        if choose:
            grid = world.joins.epochs[j, world.joins.live[j] - 1]
            draw = place(least_loaded(world, j, side), draw, grid[1 + side])
        epochs = world.joins.epochs[j]
        first = first_of(world, j, time)
        count = world.joins.live[j]
        for cell in range(cells):
            if world.joins.server[j, cell] >= 0 and goes_to(draw, side, epochs, first, count, cell):
                receive(world, j * cells + cell, side, time, draw, costs[0], full, mask)
    for i in range(len(world.servers.speed)):
        advance(world, i, until, costs[1], mask)

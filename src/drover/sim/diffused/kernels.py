"""Servers that receive, keep, drop and join, compiled.

Rule 1: a server receives at once, at the cost of what it works on; it processes tuples in the order of their time.
Rule 2: a tuple of one side looks at the processed tuples of the other side that are in their window: each is one
operation. Those that left the window are forgotten then, and not before.
Rule 3: a full server does as it is told: TIDY, DROP or REPLACE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from drover.diffusion.kernels import goes_to, least, owner, part, place
from drover.load.arrays import Floats, Ints
from drover.sim.diffused.world import REPLACE, TIDY, Draws, World

F = TypeVar("F", bound=Callable[..., object])
_UNCOUNTED: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
compiled: Callable[[F], F] = numba.njit(**_UNCOUNTED)


@part
def pairs_of(world: World, q: int, side: int, slot: int, mask: int) -> int:
    """Forget what has left the other side's window, and return how many tuples of it this one is paired with here."""
    queues, joins = world.queues, world.joins
    cells = joins.server.shape[1]
    j, cell, other = q // cells, q % cells, 1 - side
    oldest = queues.time[q, side, slot] - joins.window[j, other]
    head, turn = queues.head[q, other], queues.turn[q, other]
    i = joins.server[j, cell]
    while head < turn and queues.time[q, other, head & mask] < oldest:
        head += 1
        world.servers.used[i] -= 1
    queues.head[q, other] = head
    mine = queues.epoch[q, side, slot]
    # A tuple that came while there was one epoch is here because of it, and so are all that came after it.
    if head == turn or (mine % 2 == 1 and queues.epoch[q, other, head & mask] == mine):
        return int(turn - head)
    found = 0
    for at in range(head, turn):
        theirs = queues.epoch[q, other, at & mask]
        one, two = queues.draw[q, side, slot], queues.draw[q, other, at & mask]
        left, right = (one, two) if side == 0 else (two, one)
        found += owner(min(mine // 2, theirs // 2), left, right, joins.epochs[j], joins.live[j]) == cell
    return found


@part
def advance(world: World, i: int, until: float, cost: float, mask: int) -> None:
    """Let server i process tuples until then."""
    servers, queues = world.servers, world.queues
    while servers.waiting[i] > 0 and servers.busy[i] < until:
        first, found, at = np.inf, -1, 0
        for h in range(servers.hosts[i]):
            q = servers.hosted[i, h]
            for side in range(2):
                turn = queues.turn[q, side]
                if turn < queues.tail[q, side] and queues.time[q, side, turn & mask] < first:
                    first, found, at = queues.time[q, side, turn & mask], q, side
        begin = max(servers.busy[i], first)
        if begin >= until:
            break
        pairs = pairs_of(world, found, at, queues.turn[found, at] & mask, mask)
        queues.turn[found, at] += 1
        servers.waiting[i] -= 1
        servers.operations[i] += pairs
        servers.busy[i] = begin + pairs * cost / servers.speed[i]


@part
def tidy(world: World, i: int, now: float, mask: int) -> None:
    """Forget what was processed and lies before the window of the other side's next tuple, or of one that came now.

    Without this a server can be full of one side for good: nothing of the other side gets in, so nothing is forgotten.
    """
    servers, queues, joins = world.servers, world.queues, world.joins
    for h in range(servers.hosts[i]):
        q = servers.hosted[i, h]
        for side in range(2):
            turn, other = queues.turn[q, side], queues.turn[q, 1 - side]
            next_one = queues.time[q, 1 - side, other & mask] if other < queues.tail[q, 1 - side] else now
            oldest = next_one - joins.window[q // joins.server.shape[1], side]
            head = queues.head[q, side]
            while head < turn and queues.time[q, side, head & mask] < oldest:
                head += 1
                servers.used[i] -= 1
            queues.head[q, side] = head


@part
def forget_oldest(world: World, i: int, mask: int) -> None:
    """Make room for one tuple on server i."""
    servers, queues = world.servers, world.queues
    first, found, at = np.inf, -1, 0
    for h in range(servers.hosts[i]):
        q = servers.hosted[i, h]
        for side in range(2):
            head = queues.head[q, side]
            if head < queues.tail[q, side] and queues.time[q, side, head & mask] < first:
                first, found, at = queues.time[q, side, head & mask], q, side
    if queues.turn[found, at] == queues.head[found, at]:
        queues.turn[found, at] += 1
        servers.waiting[i] -= 1
    queues.head[found, at] += 1
    servers.used[i] -= 1
    servers.dropped[i] += 1


@part
def make_room(world: World, i: int, now: float, full: int, mask: int) -> bool:
    """Return whether server i, which may be full, can take one more."""
    servers = world.servers
    if servers.used[i] >= servers.room[i] and full == TIDY:
        tidy(world, i, now, mask)
    if servers.used[i] >= servers.room[i] and full == REPLACE:
        forget_oldest(world, i, mask)
    return bool(servers.used[i] < servers.room[i])


@part
def first_of(world: World, j: int, time: float) -> int:
    """Return the place of the oldest epoch that has tuples which one that comes now can meet."""
    first = 0
    while world.joins.ends[j, first] < time:
        first += 1
    return first


@part
def receive(world: World, q: int, side: int, time: float, draw: int, cost: float, full: int, mask: int) -> None:
    """Give a tuple to an instance, whose server may drop it."""
    servers, queues, joins = world.servers, world.queues, world.joins
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
def least_loaded(world: World, j: int, side: int) -> int:
    """Return the row or column of the present grid whose servers have the least to do: tuples that wait, over speed."""
    servers, joins = world.servers, world.joins
    rows, columns = joins.epochs[j, joins.live[j] - 1, 1], joins.epochs[j, joins.live[j] - 1, 2]
    parts = rows if side == 0 else columns
    joins.loads[:parts] = 0.0
    for cell in range(rows * columns):
        i = joins.server[j, cell]
        mine = cell // columns if side == 0 else cell % columns
        joins.loads[mine] += servers.waiting[i] / servers.speed[i]
    return least(joins.loads, parts)


@compiled
def play(
    world: World,
    times: Floats,
    joins: Ints,
    sides: Ints,
    draws: Draws,
    choose: bool,
    full: int,
    costs: Floats,
    until: float,
) -> None:
    """Let tuples come, in the order of time; `costs` are those of receiving and of an operation.

    With `choose`, a tuple goes to the least loaded part; else its draw, (N,), says to which.
    """
    cells, mask = world.joins.server.shape[1], world.queues.time.shape[2] - 1
    for number in range(len(times)):
        time, j, side, draw = times[number], joins[number], sides[number], int(draws[number])
        for cell in range(cells):
            i = world.joins.server[j, cell]
            if i >= 0:
                advance(world, i, time, costs[1], mask)
        if choose:
            grid = world.joins.epochs[j, world.joins.live[j] - 1]
            draw = place(least_loaded(world, j, side), draw, grid[1 + side])
        epochs, first, count = world.joins.epochs[j], first_of(world, j, time), world.joins.live[j]
        for cell in range(cells):
            if world.joins.server[j, cell] >= 0 and goes_to(draw, side, epochs, first, count, cell):
                receive(world, j * cells + cell, side, time, draw, costs[0], full, mask)
    for i in range(len(world.servers.speed)):
        advance(world, i, until, costs[1], mask)

"""Moves and failures, compiled.

Rule 1: tuples of an operator that is suspended wait in its own queue, in their order, and go on at its new node.
Rule 2: a service that has begun is finished, unless its node is lost.
"""

from __future__ import annotations

from drover.load.arrays import Flags
from drover.sim.calendar.kernels import forget, wake
from drover.sim.events.kernels import line_up, work
from drover.sim.queues.kernels import append, compiled, empty, part, prepend, release, shift
from drover.sim.world import FIFO, LOST, NOBODY, World


@part
def sift(world: World, i: int) -> None:
    """Take the tuples of suspended operators out of a node's queue."""
    lists, pool, n = world.lists, world.pool, len(world.nodes.slow)
    for _ in range(lists.length[i]):
        slot = shift(pool, lists, i)
        j = world.net.reader[pool.port[slot]]
        append(pool, lists, i if world.nodes.awake[j] else n + j, slot)


@part
def unlist(world: World, i: int) -> None:
    """Take suspended operators out of the turns of a node."""
    nodes = world.nodes
    j, before = nodes.ready[i], nodes.ready[i]
    nodes.ready[i] = NOBODY
    while j != NOBODY:
        following = nodes.later[j]
        if nodes.awake[j]:
            line_up(world, i, j)
        else:
            nodes.listed[j] = False
        j = following
    if nodes.ready[i] != before:
        nodes.turns[i] = 0


@compiled
def suspend(world: World, chosen: Flags, touched: Flags) -> None:
    """Suspend operators, (m,), which are on the nodes that are touched, (n,): what is queued for them waits."""
    for j in range(len(chosen)):
        if chosen[j]:
            world.nodes.awake[j] = False
    for i in range(len(touched)):
        if touched[i]:
            if world.net.schedule == FIFO:
                sift(world, i)
            else:
                unlist(world, i)


@compiled
def resume(world: World, j: int, now: float) -> None:
    """Let an operator go on where it is placed now, with all that has waited for it."""
    nodes, lists, pool = world.nodes, world.lists, world.pool
    i, chain = nodes.place[j], len(nodes.slow) + j
    nodes.awake[j] = True
    if lists.head[chain] == NOBODY:
        return
    if world.net.schedule == FIFO:
        while lists.head[chain] != NOBODY:
            append(pool, lists, i, shift(pool, lists, chain))
    else:
        line_up(world, i, j)
    if nodes.slot[i] == NOBODY:
        wake(world.calendar, i, work(world, i, now))


@compiled
def kill(world: World, i: int, replayed: bool, now: float) -> None:
    """Lose a node: its operators, suspended before, lose their tuples and windows, unless these are `replayed`."""
    nodes, lists, pool, net = world.nodes, world.lists, world.pool, world.net
    n, m = len(nodes.slow), len(nodes.place)
    slot = nodes.slot[i]
    if slot != NOBODY:
        world.books.worked[i] += now - nodes.credited[i]
        nodes.slot[i] = NOBODY
        forget(world.calendar, i)
        if replayed:
            prepend(pool, lists, n + net.reader[pool.port[slot]], slot)
        else:
            release(pool, slot)
            pool.cells[LOST] += 1
    for j in range(m):
        if nodes.place[j] == i and not replayed:
            pool.cells[LOST] += empty(pool, lists, n + j)
            if net.join[j] != NOBODY:
                for side in range(2):
                    empty(pool, lists, n + m + 2 * net.join[j] + side)


@compiled
def credit(world: World, now: float) -> None:
    """Write down the service that was given so far, so that a period has what belongs to it."""
    nodes = world.nodes
    for i in range(len(nodes.slow)):
        if nodes.slot[i] != NOBODY:
            world.books.worked[i] += now - nodes.credited[i]
            nodes.credited[i] = now

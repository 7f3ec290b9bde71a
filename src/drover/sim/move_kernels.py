"""Moves and failures, compiled.

Rule 1: tuples of a suspended operator wait in its own queue, in order, and continue on its new node.
Rule 2: a service that has started is finished, unless its node fails.
"""

from __future__ import annotations

from drover.load.arrays import Flags
from drover.sim.calendar_kernels import forget, wake
from drover.sim.event_kernels import line_up, work
from drover.sim.queue_kernels import append, compiled, empty, part, prepend, release, shift
from drover.sim.world import FIFO, LOST, NOBODY, SimulationArrays


@part
def sift(world: SimulationArrays, i: int) -> None:
    """Move the tuples of suspended operators from a node's queue to their own queues."""
    lists = world.lists
    pool = world.pool
    n = len(world.nodes.slow)
    for _ in range(lists.length[i]):
        slot = shift(pool, lists, i)
        j = world.net.reader[pool.port[slot]]
        append(pool, lists, i if world.nodes.awake[j] else n + j, slot)


@part
def unlist(world: SimulationArrays, i: int) -> None:
    """Remove suspended operators from the turns of a node."""
    nodes = world.nodes
    j = nodes.ready[i]
    before = nodes.ready[i]
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
def suspend(world: SimulationArrays, chosen: Flags, touched: Flags) -> None:
    """Suspend the chosen operators, (m,), which are on the touched nodes, (n,); their queued tuples wait."""
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
def resume(world: SimulationArrays, j: int, now: float) -> None:
    """Resume an operator on its present node, with all tuples that waited for it."""
    nodes = world.nodes
    lists = world.lists
    pool = world.pool
    i = nodes.place[j]
    chain = len(nodes.slow) + j
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
def kill(world: SimulationArrays, i: int, replayed: bool, now: float) -> None:
    """Fail a node: its suspended operators lose their tuples and windows, unless these are `replayed`."""
    nodes = world.nodes
    lists = world.lists
    pool = world.pool
    net = world.net
    n = len(nodes.slow)
    m = len(nodes.place)
    slot = nodes.slot[i]
    if slot != NOBODY:
        world.counts.worked[i] += now - nodes.credited[i]
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
def credit(world: SimulationArrays, now: float) -> None:
    """Count the part of each running service up to now, so that it belongs to the period that ends."""
    nodes = world.nodes
    for i in range(len(nodes.slow)):
        if nodes.slot[i] != NOBODY:
            world.counts.worked[i] += now - nodes.credited[i]
            nodes.credited[i] = now

"""The event loop, compiled.

Rule 1: events are totally ordered by time and leaf, and each operator has its own random generator, so a run is the
same everywhere. Rule 2: the loop stops before an event for which the pool might be too small, never within one.
"""

from __future__ import annotations

import math

import numpy as np

from drover.sim.calendar_kernels import plan, wake
from drover.sim.join_kernels import count_pairs, keep, meets, window
from drover.sim.queue_kernels import NATURAL, append, compiled, draw, part, release, shift, take
from drover.sim.world import (
    BUCKETS,
    DONE,
    FIFO,
    GROW,
    LOGGED,
    LOWEST,
    NOBODY,
    OCTAVE,
    SERVED,
    SPARE,
    SimulationArrays,
)


@part
def bucket(latency: float) -> int:
    """Return the histogram bucket of a latency: its power of two, and its position within."""
    if latency <= 0.0:
        return 0
    mantissa, power = math.frexp(latency)  # latency = mantissa 2^power, 1/2 <= mantissa < 1
    found = (power - LOWEST) * OCTAVE + int((mantissa - 0.5) * (2 * OCTAVE))
    return int(min(max(found, 0), BUCKETS - 1))


@part
def line_up(world: SimulationArrays, i: int, j: int) -> None:
    """Put operator j at the end of the turns of node i."""
    nodes = world.nodes
    nodes.listed[j] = True
    nodes.later[j] = NOBODY
    if nodes.ready[i] == NOBODY:
        nodes.ready[i] = j
    else:
        nodes.later[nodes.last[i]] = j
    nodes.last[i] = j


@part
def next_tuple(world: SimulationArrays, i: int) -> int:
    """Take the next tuple of node i out of its queue, or return -1."""
    if world.net.schedule == FIFO:
        return NOBODY if world.lists.head[i] == NOBODY else shift(world.pool, world.lists, i)
    nodes = world.nodes
    j = nodes.ready[i]
    if j == NOBODY:
        return NOBODY
    nodes.turns[i] += 1
    return shift(world.pool, world.lists, len(nodes.slow) + j)


@part
def end_turn(world: SimulationArrays, i: int, j: int) -> None:
    """Pass the turn to the next operator if this one has no tuples left or has used up its quantum."""
    nodes = world.nodes
    waiting = world.lists.length[len(nodes.slow) + j]
    if nodes.ready[i] == j and (waiting == 0 or nodes.turns[i] >= world.net.quantum):
        nodes.turns[i] = 0
        nodes.ready[i] = nodes.later[j]
        nodes.listed[j] = False
        if waiting:
            line_up(world, i, j)


@part
def work(world: SimulationArrays, i: int, now: float) -> float:
    """Start the next service of a node; return the time of its end, or infinity if no tuple waits."""
    nodes = world.nodes
    net = world.net
    slot = next_tuple(world, i)
    nodes.slot[i] = slot
    if slot == NOBODY:
        return np.inf
    slot &= NATURAL
    port = world.pool.port[slot] & NATURAL
    j = net.reader[port] & NATURAL
    took = net.cost[j]
    if net.spread[j] > 0.0:
        took *= 1.0 - net.spread[j] - net.spread[j] * math.log(1.0 - draw(nodes.seeds, j))
    if net.join[j] != NOBODY:
        nodes.pairs[i] = count_pairs(world, j, net.side[port], world.pool.birth[slot])
        took += nodes.pairs[i] * net.pair_cost[j]
    nodes.took[i] = took
    nodes.credited[i] = now
    return float(now + took * nodes.slow[i])


@part
def accept(world: SimulationArrays, slot: int, now: float) -> None:
    """Queue a tuple at its operator, on the operator's present node."""
    nodes = world.nodes
    n = len(nodes.slow)
    j = world.net.reader[world.pool.port[slot] & NATURAL] & NATURAL
    if not nodes.awake[j]:
        append(world.pool, world.lists, n + j, slot)
        return
    i = nodes.place[j] & NATURAL
    if world.net.schedule == FIFO:
        append(world.pool, world.lists, i, slot)
    else:
        if not nodes.listed[j]:
            line_up(world, i, j)
        append(world.pool, world.lists, n + j, slot)
    if nodes.slot[i] == NOBODY:
        wake(world.calendar, i, work(world, i, now))


@part
def send(world: SimulationArrays, slot: int, i: int, stream: int, now: float) -> None:
    """Send a tuple from node i to its operator: directly, or through a pipe if that is on another node."""
    pipes = world.pipes
    lists = world.lists
    target = world.nodes.place[world.net.reader[world.pool.port[slot]]] if len(pipes.delay) else i
    if target == i:
        accept(world, slot, now)
        return
    pipe = pipes.pipe[i, target]
    sent = max(now, pipes.free[pipe]) + world.net.width[stream] / pipes.bandwidth[pipe]
    pipes.free[pipe] = sent
    world.pool.due[slot] = sent + pipes.delay[pipe]
    chain = len(lists.head) - len(pipes.delay) + pipe
    if lists.head[chain] == NOBODY:
        wake(world.calendar, len(world.nodes.slow) + pipe, world.pool.due[slot])
    append(world.pool, lists, chain, slot)


@part
def give(world: SimulationArrays, i: int, stream: int, count: int, birth: float, worked: float, now: float) -> None:
    """Pass tuples of a stream to its readers, and to the counts if the stream is an output."""
    net = world.net
    counts = world.counts
    pool = world.pool
    counts.given[stream] += count
    output = net.output[stream]
    if output != NOBODY:
        latency = now - birth
        found = bucket(latency)
        counts.out[output] += count
        counts.latency[output] += count * latency
        counts.work[output] += count * worked
        counts.longest[output] = max(counts.longest[output], latency)
        counts.seen[found] += count
        counts.kept[output, found] += count
    for index in range(net.start[stream], net.start[stream + 1]):
        for _ in range(count):
            slot = take(pool)
            pool.birth[slot] = birth
            pool.work[slot] = worked
            pool.port[slot] = net.readers[index]
            send(world, slot, i, stream, now)


@part
def give_pairs(world: SimulationArrays, i: int, j: int, side: int, birth: float, worked: float, now: float) -> None:
    """Emit the results of a tuple and those it meets; a result is as old as the younger of the two.

    Every 1/selectivity-th pair passes, from a random start: floor(pairs x selectivity + u) in all, with u uniform
    in [0, 1).
    """
    stream = world.net.first[j]
    share = world.net.selectivity[stream]
    total = draw(world.nodes.seeds, j)
    passed = 0
    slot = world.lists.head[window(world, j, 1 - side)]
    while slot != NOBODY:
        following = world.pool.after[slot]
        other = world.pool.birth[slot]
        if meets(world, j, side, birth, other):
            total += share
            count = int(total) - passed
            passed += count
            if count > 0:
                give(world, i, stream, count, max(birth, other), worked, now)
        slot = following


@part
def give_shares(world: SimulationArrays, i: int, j: int, birth: float, worked: float, now: float) -> None:
    """Emit the results of a tuple: floor(selectivity) of them, and at random one more.

    One random number serves all outputs, so that a switch, whose selectivities add up to at most 1, emits a tuple to at
    most one of them.
    """
    net = world.net
    total = draw(world.nodes.seeds, j)
    passed = 0
    for stream in range(net.first[j], net.first[j + 1]):
        total += net.selectivity[stream]
        count = int(total) - passed
        passed += count
        if count > 0:
            give(world, i, stream, count, birth, worked, now)


@part
def complete(world: SimulationArrays, i: int, now: float) -> None:
    """End the service of node i: count it, emit its results, and start the next one."""
    nodes = world.nodes
    net = world.net
    pool = world.pool
    counts = world.counts
    slot = nodes.slot[i] & NATURAL
    port = pool.port[slot] & NATURAL
    birth = pool.birth[slot]
    j = net.reader[port] & NATURAL
    worked = pool.work[slot] + nodes.took[i] * nodes.slow[i]
    counts.taken[port] += 1
    counts.busy[j] += nodes.took[i]
    counts.worked[i] += now - nodes.credited[i]
    pool.cells[SERVED] += 1
    if pool.cells[LOGGED] < len(counts.log_time):
        line = pool.cells[LOGGED]
        counts.log_time[line] = now
        counts.log_birth[line] = birth
        counts.log_place[line, 0] = i
        counts.log_place[line, 1] = port
        pool.cells[LOGGED] += 1
    if net.join[j] == NOBODY:
        release(pool, slot)
        give_shares(world, i, j, birth, worked, now)
    else:
        give_pairs(world, i, j, net.side[port], birth, worked, now)
        keep(world, j, net.side[port], slot)
    if net.schedule != FIFO:
        end_turn(world, i, j)
    plan(world.calendar, i, work(world, i, now))


@part
def deliver(world: SimulationArrays, pipe: int, now: float) -> None:
    """Deliver the first tuple of a pipe."""
    lists = world.lists
    chain = len(lists.head) - len(world.pipes.delay) + pipe
    slot = shift(world.pool, lists, chain)
    head = lists.head[chain]
    plan(world.calendar, len(world.nodes.slow) + pipe, np.inf if head == NOBODY else world.pool.due[head])
    accept(world, slot, now)


@part
def arrive(world: SimulationArrays, k: int, now: float) -> None:
    """Take a tuple from a source; it reaches its readers without delay."""
    calendar = world.calendar
    pool = world.pool
    net = world.net
    world.counts.arrived[k] += 1
    calendar.next[k] += 1
    due = calendar.times[calendar.next[k]] if calendar.next[k] < calendar.stop[k] else np.inf
    plan(calendar, len(world.nodes.slow) + len(world.pipes.delay) + k, due)
    for index in range(net.start[k], net.start[k + 1]):
        slot = take(pool)
        pool.birth[slot] = now
        pool.work[slot] = 0.0
        pool.port[slot] = net.readers[index]
        accept(world, slot, now)


@part
def demand(world: SimulationArrays, i: int) -> int:
    """Return an upper bound on the slots that the end of a service takes."""
    net = world.net
    j = net.reader[world.pool.port[world.nodes.slot[i] & NATURAL] & NATURAL] & NATURAL
    if net.join[j] == NOBODY:
        return int(net.most[j])
    stream = net.first[j]
    passing = int(world.nodes.pairs[i] * net.selectivity[stream]) + 2
    return int(passing * (net.start[stream + 1] - net.start[stream]))


@compiled
def advance(world: SimulationArrays, until: float) -> int:
    """Process all events before a time; return DONE, or GROW if the pool has to grow first."""
    n = len(world.nodes.slow)
    pipes = len(world.pipes.delay)
    calendar = world.calendar
    start = world.net.start
    while True:
        now = calendar.key[1]
        leaf = calendar.leaf[1] & NATURAL
        if now >= until:
            return DONE
        spare = world.pool.cells[SPARE]
        if leaf < n:
            if spare < demand(world, leaf):
                return GROW
            complete(world, leaf, now)
        elif leaf < n + pipes:
            deliver(world, leaf - n, now)
        else:
            k = leaf - n - pipes
            if spare < start[k + 1] - start[k]:
                return GROW
            arrive(world, k, now)

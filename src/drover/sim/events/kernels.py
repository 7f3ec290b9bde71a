"""The event loop, compiled.

Rule 1: events have a total order, by time and leaf, and each draws from its operator's own chance: so a run is the same
everywhere. Rule 2: the loop stops before an event for which the pool might be too small, never within one.
"""

from __future__ import annotations

import math

import numpy as np

from drover.sim.calendar.kernels import plan, wake
from drover.sim.joins.kernels import count_pairs, keep, meets, window
from drover.sim.queues.kernels import append, compiled, draw, part, release, shift, take
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
    World,
)


@part
def bucket(latency: float) -> int:
    """Return the bucket of a latency: its power of two, and its place within."""
    if latency <= 0.0:
        return 0
    mantissa, power = math.frexp(latency)  # latency = mantissa 2^power, 1/2 <= mantissa < 1
    found = (power - LOWEST) * OCTAVE + int((mantissa - 0.5) * (2 * OCTAVE))
    return int(min(max(found, 0), BUCKETS - 1))


@part
def line_up(world: World, i: int, j: int) -> None:
    """Give operator j a turn on node i, after all others."""
    nodes = world.nodes
    nodes.listed[j] = True
    nodes.later[j] = NOBODY
    if nodes.ready[i] == NOBODY:
        nodes.ready[i] = j
    else:
        nodes.later[nodes.last[i]] = j
    nodes.last[i] = j


@part
def next_tuple(world: World, i: int) -> int:
    """Take the tuple that node i works on next, or return -1."""
    if world.net.schedule == FIFO:
        return NOBODY if world.lists.head[i] == NOBODY else shift(world.pool, world.lists, i)
    nodes = world.nodes
    j = nodes.ready[i]
    if j == NOBODY:
        return NOBODY
    nodes.turns[i] += 1
    return shift(world.pool, world.lists, len(nodes.slow) + j)


@part
def end_turn(world: World, i: int, j: int) -> None:
    """Let the next operator have its turn, if this one has nothing left or has had enough."""
    nodes = world.nodes
    waiting = world.lists.length[len(nodes.slow) + j]
    if nodes.ready[i] == j and (waiting == 0 or nodes.turns[i] >= world.net.quantum):
        nodes.turns[i] = 0
        nodes.ready[i] = nodes.later[j]
        nodes.listed[j] = False
        if waiting:
            line_up(world, i, j)


@part
def work(world: World, i: int, now: float) -> float:
    """Let a node begin with its next tuple; return when it will be done, or infinity if there is nothing to do."""
    nodes, net = world.nodes, world.net
    slot = next_tuple(world, i)
    nodes.slot[i] = slot
    if slot == NOBODY:
        return np.inf
    port = world.pool.port[slot]
    j = net.reader[port]
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
def accept(world: World, slot: int, now: float) -> None:
    """Queue a tuple at its operator, wherever that is at present."""
    nodes = world.nodes
    n = len(nodes.slow)
    j = world.net.reader[world.pool.port[slot]]
    if not nodes.awake[j]:
        append(world.pool, world.lists, n + j, slot)
        return
    i = nodes.place[j]
    if world.net.schedule == FIFO:
        append(world.pool, world.lists, i, slot)
    else:
        if not nodes.listed[j]:
            line_up(world, i, j)
        append(world.pool, world.lists, n + j, slot)
    if nodes.slot[i] == NOBODY:
        wake(world.calendar, i, work(world, i, now))


@part
def send(world: World, slot: int, i: int, stream: int, now: float) -> None:
    """Send a tuple from node i to its operator: at once, or through a pipe if that is elsewhere."""
    pipes, lists, nodes = world.pipes, world.lists, world.nodes
    target = nodes.place[world.net.reader[world.pool.port[slot]]]
    if len(pipes.delay) == 0 or target == i:
        accept(world, slot, now)
        return
    pipe = pipes.pipe[i, target]
    sent = max(now, pipes.free[pipe]) + world.net.width[stream] / pipes.bandwidth[pipe]
    pipes.free[pipe] = sent
    world.pool.due[slot] = sent + pipes.delay[pipe]
    chain = len(lists.head) - len(pipes.delay) + pipe
    if lists.head[chain] == NOBODY:
        wake(world.calendar, len(nodes.slow) + pipe, world.pool.due[slot])
    append(world.pool, lists, chain, slot)


@part
def give(world: World, i: int, stream: int, count: int, birth: float, worked: float, now: float) -> None:
    """Give tuples of a stream to its readers, and to the books if it leaves the network."""
    net, books, pool = world.net, world.books, world.pool
    books.given[stream] += count
    output = net.output[stream]
    if output != NOBODY:
        latency = now - birth
        found = bucket(latency)
        books.out[output] += count
        books.latency[output] += count * latency
        books.work[output] += count * worked
        books.longest[output] = max(books.longest[output], latency)
        books.seen[found] += count
        books.kept[output, found] += count
    for index in range(net.start[stream], net.start[stream + 1]):
        for _ in range(count):
            slot = take(pool)
            pool.birth[slot] = birth
            pool.work[slot] = worked
            pool.port[slot] = net.readers[index]
            send(world, slot, i, stream, now)


@part
def give_pairs(world: World, i: int, j: int, side: int, birth: float, worked: float, now: float) -> None:
    """Give out what a tuple and those it meets make; a result is as old as the younger of the two.

    Of the pairs every 1/selectivity-th passes, from a place that is drawn: as many as floor(pairs x selectivity +
    what is drawn).
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
def give_shares(world: World, i: int, j: int, birth: float, worked: float, now: float) -> None:
    """Give out what a tuple becomes: floor(selectivity) tuples, and one more by what is drawn.

    One number is drawn for all outputs: of a switch, whose shares add up to 1 at most, a tuple leaves by one of them.
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
def complete(world: World, i: int, now: float) -> None:
    """End the service of node i: write it down, give out what came of it, begin with the next tuple."""
    nodes, net, pool, books = world.nodes, world.net, world.pool, world.books
    slot = nodes.slot[i]
    port, birth = pool.port[slot], pool.birth[slot]
    j = net.reader[port]
    worked = pool.work[slot] + nodes.took[i] * nodes.slow[i]
    books.taken[port] += 1
    books.busy[j] += nodes.took[i]
    books.worked[i] += now - nodes.credited[i]
    pool.cells[SERVED] += 1
    if pool.cells[LOGGED] < len(books.log_time):
        line = pool.cells[LOGGED]
        books.log_time[line], books.log_birth[line] = now, birth
        books.log_place[line, 0], books.log_place[line, 1] = i, port
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
def deliver(world: World, pipe: int, now: float) -> None:
    """Take the first tuple out of a pipe."""
    lists = world.lists
    chain = len(lists.head) - len(world.pipes.delay) + pipe
    slot = shift(world.pool, lists, chain)
    head = lists.head[chain]
    plan(world.calendar, len(world.nodes.slow) + pipe, np.inf if head == NOBODY else world.pool.due[head])
    accept(world, slot, now)


@part
def arrive(world: World, k: int, now: float) -> None:
    """Take a tuple from a source; it is at once where its readers are."""
    calendar, pool, net = world.calendar, world.pool, world.net
    world.books.arrived[k] += 1
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
def demand(world: World, i: int) -> int:
    """Return how many slots the end of a service may take."""
    net = world.net
    j = net.reader[world.pool.port[world.nodes.slot[i]]]
    if net.join[j] == NOBODY:
        return int(net.most[j])
    stream = net.first[j]
    passing = int(world.nodes.pairs[i] * net.selectivity[stream]) + 2
    return int(passing * (net.start[stream + 1] - net.start[stream]))


@compiled
def advance(world: World, until: float) -> int:
    """Let everything happen that happens before a time; return DONE, or GROW if the pool has to grow first."""
    n, pipes = len(world.nodes.slow), len(world.pipes.delay)
    calendar, start = world.calendar, world.net.start
    while True:
        now, leaf = calendar.key[1], calendar.leaf[1]
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

"""The fluid core, compiled: rates in small steps.

Rule 1: a node's queue x, in tuples, falls by what a queue in balance would give at that length: x' = inflow - mu G(x),
G(x) being the utilisation rho at which an M/G/1 queue is x long on average. So one rule gives the waiting of chance
below saturation and the growth of queues above it: the pointwise stationary fluid-flow approximation.
Rule 2: steps are implicit, so that they may be longer than a service.
Rule 3: what an operator gives out is taken in a step later.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from drover.load.arrays import Flags, Floats, Ints
from drover.sim.events.kernels import bucket
from drover.sim.queues.kernels import compiled, part
from drover.sim.world import NOBODY, Books, Net

RESOLVED = 1e-12  # relative: Newton's steps below this are rounding
STEPS = 60  # of Newton at most


class Flow(NamedTuple):
    """A network as a fluid; ports of operator j are ports[j] : ports[j + 1]."""

    net: Net
    ports: Ints  # (m + 1,)
    read: Ints  # (p,) stream that a port reads
    maker: Ints  # (e,) operator that makes a stream, or -1
    slow: Floats  # (n,) seconds per busy second
    delay: Floats  # (n, n) seconds between nodes
    place: Ints  # (m,)
    awake: Flags  # (m,)
    queue: Floats  # (m,) tuples
    age: Floats  # (m,) seconds since birth of those in the queue, when they came, mean
    worked: Floats  # (m,) seconds of work on those in the queue, mean
    cost: Floats  # (m,) busy seconds per tuple at present
    share: Floats  # (m,) results per tuple and selectivity at present: 1, or pairs per tuple of a join
    coming: Floats  # (p,) tuples on their way to a port, taken in the next step
    mix: Floats  # (p,) share of a port in what came to its operator last
    stream_age: Floats  # (e,) seconds since birth of what a stream carries
    stream_work: Floats  # (e,) seconds of work on it
    waiting: Floats  # (n,) seconds before service, mean
    passing: Floats  # (n,) share of each queue that is served in this step
    sums: Floats  # (3, n) see `add_up`
    totals: Floats  # (2,) tuples lost, invocations


@part
def settle(before: float, most: float, spread: float) -> float:
    """Return the queue x with x + most G(x) = before: Newton from the left, which never oversteps, as G is concave.

    From x = rho + rho^2 (1 + spread) / (2 (1 - rho)), `spread` being the variance of services over their mean squared,
    G(x) = 2 x / (1 + x + sqrt(x^2 + 2 spread x + 1)).
    """
    x = max(0.0, before - most)
    for _ in range(STEPS):
        root = math.sqrt(x * x + 2.0 * spread * x + 1.0)
        below = x + 1.0 + root
        slope = 1.0 + most * 2.0 * (below - x * (1.0 + (x + spread) / root)) / (below * below)
        step = (before - x - most * 2.0 * x / below) / slope
        x += step
        if abs(step) <= RESOLVED * (1.0 + x):
            break
    return min(max(x, 0.0), before)


@part
def take_in(flow: Flow, j: int, step: float) -> None:
    """Add what is coming to the queue of operator j, and work out what a tuple costs it."""
    net = flow.net
    total, age, worked, right = 0.0, 0.0, 0.0, 0.0
    for port in range(flow.ports[j], flow.ports[j + 1]):
        amount, stream = flow.coming[port], flow.read[port]
        maker = flow.maker[stream]
        hop = 0.0 if maker == NOBODY else flow.delay[flow.place[maker], flow.place[j]]
        total += amount
        age += amount * (flow.stream_age[stream] + hop)
        worked += amount * flow.stream_work[stream]
        right += amount * net.side[port]
    if total > 0.0:
        for port in range(flow.ports[j], flow.ports[j + 1]):
            flow.mix[port] = flow.coming[port] / total
            flow.coming[port] = 0.0
        queue = flow.queue[j]
        flow.age[j] = (queue * flow.age[j] + age) / (queue + total)
        flow.worked[j] = (queue * flow.worked[j] + worked) / (queue + total)
        flow.queue[j] = queue + total
        if net.join[j] != NOBODY:
            flow.share[j] = (net.left[j] + net.right[j]) * (total - right) * right / (step * total)
            flow.cost[j] = net.cost[j] + net.pair_cost[j] * flow.share[j]


@part
def add_up(flow: Flow) -> None:
    """Add up, by node, the tuples that wait, the time they take, and its square."""
    flow.sums[:] = 0.0
    for j in range(len(flow.place)):
        if flow.awake[j]:
            i, queue = flow.place[j], flow.queue[j]
            cost = flow.cost[j] * flow.slow[i]
            flow.sums[0, i] += queue
            flow.sums[1, i] += queue * cost
            flow.sums[2, i] += queue * cost * cost * (1.0 + flow.net.spread[j] ** 2)


@part
def serve(flow: Flow, books: Books, i: int, step: float) -> None:
    """Work out how much of its queues node i serves in a step, and how long tuples wait there."""
    total = flow.sums[0, i]
    flow.passing[i], flow.waiting[i] = 1.0, 0.0
    if total <= 0.0 or flow.sums[1, i] <= 0.0:
        return
    mean = flow.sums[1, i] / total
    spread = max(0.0, flow.sums[2, i] / total / (mean * mean) - 1.0)
    left = settle(total, step / mean, spread)
    served = total - left
    flow.passing[i] = served / total
    flow.waiting[i] = max(0.0, left * step / served - mean) if served > 0.0 else 0.0
    books.worked[i] += served * mean


@part
def give_out(flow: Flow, books: Books, j: int) -> None:
    """Give out what operator j has served, to readers and outputs."""
    net, i = flow.net, flow.place[j]
    served = flow.queue[j] * flow.passing[i]
    if not flow.awake[j] or served <= 0.0:
        return
    cost = flow.cost[j] * flow.slow[i]
    age, worked = flow.age[j] + flow.waiting[i] + cost, flow.worked[j] + cost
    flow.queue[j] -= served
    flow.totals[1] += served
    books.busy[j] += served * flow.cost[j]
    for port in range(flow.ports[j], flow.ports[j + 1]):
        books.taken[port] += served * flow.mix[port]
    for stream in range(net.first[j], net.first[j + 1]):
        amount = served * flow.share[j] * net.selectivity[stream]
        flow.stream_age[stream], flow.stream_work[stream] = age, worked
        books.given[stream] += amount
        output = net.output[stream]
        if output != NOBODY and amount > 0.0:
            books.out[output] += amount
            books.latency[output] += amount * age
            books.work[output] += amount * worked
            books.longest[output] = max(books.longest[output], age)
            books.seen[bucket(age)] += amount
            books.kept[output, bucket(age)] += amount
        for index in range(net.start[stream], net.start[stream + 1]):
            flow.coming[net.readers[index]] += amount


@compiled
def advance(flow: Flow, books: Books, arrivals: Floats, step: float) -> None:
    """Take steps with these arrivals, (d, steps) tuples."""
    for t in range(arrivals.shape[1]):
        for k in range(arrivals.shape[0]):
            books.arrived[k] += arrivals[k, t]
            for index in range(flow.net.start[k], flow.net.start[k + 1]):
                flow.coming[flow.net.readers[index]] += arrivals[k, t]
        for j in range(len(flow.place)):
            take_in(flow, j, step)
        add_up(flow)
        for i in range(len(flow.slow)):
            serve(flow, books, i, step)
        for j in range(len(flow.place)):
            give_out(flow, books, j)

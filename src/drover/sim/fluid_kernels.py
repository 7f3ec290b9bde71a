"""The fluid core, compiled: rates in small steps.

Rule 1: a node's queue of x tuples changes by x' = inflow - mu G(x), where G(x) is the utilisation rho at which an M/G/1
queue has a mean length of x. This is the pointwise stationary fluid-flow approximation: one rule covers random waiting
below saturation and growing queues above it.
Rule 2: steps are implicit, so they may be longer than a service.
Rule 3: the output of an operator reaches its readers one step later.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from drover.load.arrays import Flags, Floats, Ints
from drover.sim.event_kernels import bucket
from drover.sim.queue_kernels import compiled, part
from drover.sim.world import NOBODY, Net, SimulationCounts

RESOLVED = 1e-12  # relative: Newton steps below this are rounding errors
STEPS = 60  # most Newton steps
FAINT = 1e-100  # seconds: a shorter service counts as no time


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
    age: Floats  # (m,) mean age, in seconds, at which tuples of the queue arrived in it
    worked: Floats  # (m,) mean seconds of processing of tuples in the queue
    cost: Floats  # (m,) busy seconds per tuple at present
    share: Floats  # (m,) results per tuple and selectivity at present: 1, or pairs per tuple of a join
    coming: Floats  # (p,) tuples that reach a port in the next step
    mix: Floats  # (p,) fraction of the operator's last input that came by this port
    stream_age: Floats  # (e,) age of a stream's tuples in seconds
    stream_work: Floats  # (e,) seconds of processing of a stream's tuples
    waiting: Floats  # (n,) seconds before service, mean
    passing: Floats  # (n,) fraction of each queue that is served in this step
    sums: Floats  # (3, n) see `add_up`
    totals: Floats  # (2,) tuples lost, invocations


@part
def solve_backlog(before: float, most: float, spread: float) -> float:
    """Return the queue x with x + most G(x) = before, by Newton steps from the left; they never overshoot a concave G.

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
    """Add the input of operator j to its queue, and update its cost per tuple."""
    net = flow.net
    total = 0.0
    age = 0.0
    worked = 0.0
    right = 0.0
    for port in range(flow.ports[j], flow.ports[j + 1]):
        amount = flow.coming[port]
        stream = flow.read[port]
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
    """Sum by node the waiting tuples, their service times and the squares of these."""
    flow.sums[:] = 0.0
    for j in range(len(flow.place)):
        if flow.awake[j]:
            i = flow.place[j]
            queue = flow.queue[j]
            cost = flow.cost[j] * flow.slow[i]
            flow.sums[0, i] += queue
            flow.sums[1, i] += queue * cost
            flow.sums[2, i] += queue * cost * cost * (1.0 + flow.net.spread[j] ** 2)


@part
def serve(flow: Flow, counts: SimulationCounts, i: int, step: float) -> None:
    """Compute the fraction of its queues that node i serves in a step, and the mean wait."""
    total = flow.sums[0, i]
    flow.passing[i] = 1.0
    flow.waiting[i] = 0.0
    # Behind a suspended operator, queues decay to 1e-200 tuples, while one side of a join waits at no cost. The square
    # of such a mean underflows to 0, and dividing by it would give NaN.
    if total <= 0.0 or flow.sums[1, i] <= FAINT * total:
        return
    mean = flow.sums[1, i] / total
    spread = max(0.0, flow.sums[2, i] / total / (mean * mean) - 1.0)
    left = solve_backlog(total, step / mean, spread)
    served = total - left
    flow.passing[i] = served / total
    flow.waiting[i] = max(0.0, left * step / served - mean) if served > 0.0 else 0.0
    counts.worked[i] += served * mean


@part
def give_out(flow: Flow, counts: SimulationCounts, j: int) -> None:
    """Pass the output of operator j to its readers and to the counts."""
    net = flow.net
    i = flow.place[j]
    served = flow.queue[j] * flow.passing[i]
    if not flow.awake[j] or served <= 0.0:
        return
    cost = flow.cost[j] * flow.slow[i]
    age = flow.age[j] + flow.waiting[i] + cost
    worked = flow.worked[j] + cost
    flow.queue[j] -= served
    flow.totals[1] += served
    counts.busy[j] += served * flow.cost[j]
    for port in range(flow.ports[j], flow.ports[j + 1]):
        counts.taken[port] += served * flow.mix[port]
    for stream in range(net.first[j], net.first[j + 1]):
        amount = served * flow.share[j] * net.selectivity[stream]
        flow.stream_age[stream] = age
        flow.stream_work[stream] = worked
        counts.given[stream] += amount
        output = net.output[stream]
        if output != NOBODY and amount > 0.0:
            counts.out[output] += amount
            counts.latency[output] += amount * age
            counts.work[output] += amount * worked
            counts.longest[output] = max(counts.longest[output], age)
            counts.seen[bucket(age)] += amount
            counts.kept[output, bucket(age)] += amount
        for index in range(net.start[stream], net.start[stream + 1]):
            flow.coming[net.readers[index]] += amount


@compiled
def advance(flow: Flow, counts: SimulationCounts, arrivals: Floats, step: float) -> None:
    """Process steps with these arrivals, (d, steps) tuples."""
    for t in range(arrivals.shape[1]):
        for k in range(arrivals.shape[0]):
            counts.arrived[k] += arrivals[k, t]
            for index in range(flow.net.start[k], flow.net.start[k + 1]):
                flow.coming[flow.net.readers[index]] += arrivals[k, t]
        for j in range(len(flow.place)):
            take_in(flow, j, step)
        add_up(flow)
        for i in range(len(flow.slow)):
            serve(flow, counts, i, step)
        for j in range(len(flow.place)):
            give_out(flow, counts, j)

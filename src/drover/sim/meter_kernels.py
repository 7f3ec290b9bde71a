"""Ideal loads period by period, compiled; the plain twin is `load.series.measured_series`."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from drover.load.arrays import Floats, Ints
from drover.sim.world import NOBODY

compiled = numba.njit(cache=True, error_model="numpy")


class StreamGraph(NamedTuple):
    """The readers of streams; ports of operator j are ports[j] : ports[j + 1], its streams first[j] : first[j + 1]."""

    order: Ints  # (m,) operators in topological order
    ports: Ints  # (m + 1,)
    read: Ints  # (p,) stream
    join: Ints  # (m,) number of a join, or -1
    first: Ints  # (m + 1,)


class Seen(NamedTuple):
    """The counts of h periods."""

    seconds: Floats  # (h,)
    arrived: Floats  # (h, d) tuples
    taken: Floats  # (h, p) tuples
    given: Floats  # (h, e) tuples
    busy: Floats  # (h, m) busy seconds


@compiled
def rows_in(network: StreamGraph, j: int, gain: float, by_stream: Floats, by_port: Floats, ports: bool) -> float:
    """Return the rows per second that an operator's cost and selectivity refer to, by stream or by port."""
    first = network.ports[j]
    last = network.ports[j + 1]
    if network.join[j] == NOBODY:
        total = 0.0
        for port in range(first, last):
            total += by_port[port] if ports else by_stream[network.read[port]]
        return total
    right = first if network.read[first] == network.read[first + 1] else first + 1
    if ports:
        return float(gain * by_port[first] * by_port[right])
    return float(gain * by_stream[network.read[first]] * by_stream[network.read[right]])


@compiled
def ideal_loads(network: StreamGraph, seen: Seen, cost: Floats, share: Floats, gain: Floats, loads: Floats) -> None:
    """Fill in the loads, (m, h); cost, (m,), share, (e,), and gain, (m,), replace what was not measured."""
    rate = np.zeros(len(share))
    for t in range(len(seen.seconds)):
        length = seen.seconds[t]
        taken = seen.taken[t] / length
        rate[: seen.arrived.shape[1]] = seen.arrived[t] / length
        for j in network.order:
            ideal = rows_in(network, j, gain[j], rate, taken, False)
            met = rows_in(network, j, gain[j], rate, taken, True)
            busy = seen.busy[t, j] / length
            loads[j, t] = busy * ideal / met if met > 0.0 else cost[j] * ideal + busy
            for stream in range(network.first[j], network.first[j + 1]):
                passing = seen.given[t, stream] / length / met if met > 0.0 else share[stream]
                rate[stream] = passing * ideal

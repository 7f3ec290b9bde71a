"""The arrays of the event core: the network, its tuples, its nodes and its counts.

Rule 1: all data is flat arrays in named tuples, which kernels take as they are. Rule 2: `Net` does not change during a
run; the rest is changed by kernels alone. Letters: node i of n, operator j of m, source k of d, stream of e (sources
first), port of p (the side of an operator that reads one stream), output of y.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from drover.load.arrays import Flags, Floats, Ints

Seeds: TypeAlias = NDArray[np.uint64]

FIFO: Final = 0  # one queue per node
TURNS: Final = 1  # one queue per operator, served round robin
NOBODY: Final = -1
DONE: Final = 0  # no event is left before the given time
GROW: Final = 1  # the pool is too small for the next event

# Entries of `Pool.cells`.
FREE: Final = 0  # first free slot
SPARE: Final = 1  # number of free slots
LOST: Final = 2  # tuples lost with failed nodes
LOGGED: Final = 3  # invocations logged
SERVED: Final = 4  # invocations since the start

OCTAVE: Final = 64  # buckets of a histogram per factor of two: a bucket is at most 1/64 wider than its lower edge
LOWEST: Final = -30  # power of two, about a nanosecond; shorter latencies share a bucket
OCTAVES: Final = 64
BUCKETS: Final = OCTAVE * OCTAVES


class Net(NamedTuple):
    """A network; streams of operator j are first[j] : first[j + 1], readers of stream s are ports start[s] : ..."""

    cost: Floats  # (m,) busy seconds per tuple in
    spread: Floats  # (m,) fraction of the cost that is drawn from an exponential distribution
    first: Ints  # (m + 1,)
    selectivity: Floats  # (e,) tuples out per tuple in, or per pair; 1 for sources
    start: Ints  # (e + 1,)
    readers: Ints  # (p,) port
    reader: Ints  # (p,) operator of a port
    side: Ints  # (p,) 0, or 1 for the right side of a join
    join: Ints  # (m,) number of a join, or -1
    pair_cost: Floats  # (m,) busy seconds per pair
    left: Floats  # (m,) seconds that a left tuple waits for later right ones
    right: Floats  # (m,) the other way round
    output: Ints  # (e,) number of the stream as an output, or -1
    width: Floats  # (e,) bytes per tuple
    most: Ints  # (m,) most tuples that one tuple can become, except in joins
    schedule: int
    quantum: int  # tuples that one operator may process in its turn


class Pool(NamedTuple):
    """All tuples; free slots form a chain."""

    birth: Floats  # (slots,) seconds: when the tuple, or the youngest it was made of, left its source
    work: Floats  # (slots,) seconds of processing so far
    due: Floats  # (slots,) seconds: arrival time, if it is in transit
    port: Ints  # (slots,) its destination
    after: Ints  # (slots,) next in its chain, or -1
    cells: Ints  # (5,) FREE, SPARE, LOST, LOGGED, SERVED


class Lists(NamedTuple):
    """Chains of tuples: one per node, one per operator, two per join, one per pipe."""

    head: Ints
    tail: Ints
    length: Ints


class NodeArrays(NamedTuple):
    """The state of nodes and the place of operators."""

    slow: Floats  # (n,) seconds per busy second: 1 / capacity
    slot: Ints  # (n,) tuple in service, or -1
    took: Floats  # (n,) busy seconds of that service
    pairs: Ints  # (n,) pairs that the tuple makes, if it is in a join
    credited: Floats  # (n,) seconds: time up to which the service is counted
    turns: Ints  # (n,) tuples in this turn
    ready: Ints  # (n,) first operator in turn, or -1
    last: Ints  # (n,) last one
    place: Ints  # (m,) node of an operator
    awake: Flags  # (m,) False while it is suspended
    listed: Flags  # (m,) whether it waits for its turn
    later: Ints  # (m,) operator whose turn is next, or -1
    newest: Floats  # (joins, 2) seconds: latest birth seen on each side
    seeds: Seeds  # (m,) state of each operator's random generator


class Pipes(NamedTuple):
    """The links between nodes; without pipes, tuples arrive at once."""

    pipe: Ints  # (n, n) pipe from one node to another
    delay: Floats  # (pipes,) seconds
    bandwidth: Floats  # (pipes,) bytes per second
    free: Floats  # (pipes,) seconds: time at which the pipe is free again


class Calendar(NamedTuple):
    """A tournament tree over nodes, pipes and sources: the earliest event wins; of equal times, the lowest leaf."""

    key: Floats  # (2 size,) seconds; 1 is the root, leaf l is size + l
    leaf: Ints  # (2 size,)
    times: Floats  # arrivals of this stretch, source by source
    next: Ints  # (d,) next arrival in `times`
    stop: Ints  # (d,) end of the arrivals of a source


class SimulationCounts(NamedTuple):
    """Counts since the last period ended; whole numbers in the event core, fractions in the fluid one."""

    arrived: Floats  # (d,)
    taken: Floats  # (p,) tuples in, by port
    given: Floats  # (e,) tuples out, by stream
    busy: Floats  # (m,) busy seconds
    worked: Floats  # (n,) seconds of service
    out: Floats  # (y,) tuples at an output
    latency: Floats  # (y,) seconds, sum
    work: Floats  # (y,) seconds, sum
    longest: Floats  # (y,) seconds
    seen: Floats  # (BUCKETS,) latencies of all outputs
    kept: Floats  # (y, BUCKETS) latencies by output, cleared at the end of the warm-up only
    log_time: Floats  # (log,) seconds: end of an invocation
    log_place: Ints  # (log, 2) node and port
    log_birth: Floats  # (log,)


class SimulationArrays(NamedTuple):
    """All arrays of a simulation."""

    net: Net
    pool: Pool
    lists: Lists
    nodes: NodeArrays
    pipes: Pipes
    calendar: Calendar
    counts: SimulationCounts

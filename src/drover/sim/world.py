"""What the event core works on: arrays of a network, its tuples, its nodes and its books.

Rule 1: everything here is flat arrays in named tuples, so that kernels take them as they are. Rule 2: `Net` does not
change during a run; all else does, and kernels alone change it. Letters: node i of n, operator j of m, source k of d,
stream of e (sources first), port of p (an operator's side that reads one stream), output of y.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from drover.load.arrays import Flags, Floats, Ints

Seeds: TypeAlias = NDArray[np.uint64]

FIFO: Final = 0  # one queue per node
TURNS: Final = 1  # one queue per operator, served in turn
NOBODY: Final = -1
DONE: Final = 0  # nothing happens any more before the time that was asked for
GROW: Final = 1  # the pool is too small for the next event

# Entries of `Pool.cells`.
FREE: Final = 0  # first free slot
SPARE: Final = 1  # number of free slots
LOST: Final = 2  # tuples lost with nodes
LOGGED: Final = 3  # invocations logged
SERVED: Final = 4  # invocations since the start

OCTAVE: Final = 64  # buckets of a histogram per factor of two: a bucket is at most 1/64 wider than its lower edge
LOWEST: Final = -30  # power of two below which all latencies, about a nanosecond, are one bucket
OCTAVES: Final = 64
BUCKETS: Final = OCTAVE * OCTAVES


class Net(NamedTuple):
    """A network; streams of operator j are first[j] : first[j + 1], readers of stream s are ports start[s] : ..."""

    cost: Floats  # (m,) busy seconds per tuple in
    spread: Floats  # (m,) share of the cost that is drawn from an exponential distribution
    first: Ints  # (m + 1,)
    selectivity: Floats  # (e,) tuples out per tuple in, or per pair; 1 for sources
    start: Ints  # (e + 1,)
    readers: Ints  # (p,) port
    reader: Ints  # (p,) operator of a port
    side: Ints  # (p,) 0, or 1 for the right side of a join
    join: Ints  # (m,) number of a join, or -1
    pair_cost: Floats  # (m,) busy seconds per pair
    left: Floats  # (m,) seconds that a left tuple waits for right ones after it
    right: Floats  # (m,) the other way round
    output: Ints  # (e,) output that a stream is, or -1
    width: Floats  # (e,) bytes per tuple
    most: Ints  # (m,) most copies that one tuple can make, joins left out
    schedule: int
    quantum: int  # tuples that one operator may process before the next one's turn


class Pool(NamedTuple):
    """All tuples there are; a slot that is free is in the chain of free ones."""

    birth: Floats  # (slots,) seconds: when the tuple, or the youngest it was made of, came from its source
    work: Floats  # (slots,) seconds that it was worked on so far
    due: Floats  # (slots,) seconds: when it arrives, if it is on its way
    port: Ints  # (slots,) where it is going
    after: Ints  # (slots,) next in its chain, or -1
    cells: Ints  # (5,) FREE, SPARE, LOST, LOGGED, SERVED


class Lists(NamedTuple):
    """Chains of tuples: n of nodes, m of operators, two per join, one per pipe."""

    head: Ints
    tail: Ints
    length: Ints


class Nodes(NamedTuple):
    """What nodes do, and where operators are."""

    slow: Floats  # (n,) seconds per busy second: 1 / capacity
    slot: Ints  # (n,) the tuple that is worked on, or -1
    took: Floats  # (n,) busy seconds that it takes
    pairs: Ints  # (n,) pairs that it makes, if it is in a join
    credited: Floats  # (n,) seconds: up to when its service is in the books
    turns: Ints  # (n,) tuples in this turn
    ready: Ints  # (n,) first operator in turn, or -1
    last: Ints  # (n,) last one
    place: Ints  # (m,) node of an operator
    awake: Flags  # (m,) whether it runs
    listed: Flags  # (m,) whether it is in turn
    later: Ints  # (m,) the one whose turn is next
    newest: Floats  # (joins, 2) seconds: latest birth seen on each side
    seeds: Seeds  # (m,) state of chance


class Pipes(NamedTuple):
    """The network between nodes; without any, tuples are there at once."""

    pipe: Ints  # (n, n) pipe from one node to another
    delay: Floats  # (pipes,) seconds
    bandwidth: Floats  # (pipes,) bytes per second
    free: Floats  # (pipes,) seconds: when the last tuple has been sent


class Calendar(NamedTuple):
    """A tournament: leaves are n nodes, pipes, d sources; the earliest wins, of equals the first."""

    key: Floats  # (2 size,) seconds; 1 is the root, leaf l is size + l
    leaf: Ints  # (2 size,)
    times: Floats  # arrivals of this stretch, source by source
    next: Ints  # (d,) next arrival in `times`
    stop: Ints  # (d,) end of the arrivals of a source


class Books(NamedTuple):
    """What happened since the books were opened; counts are whole numbers, unless tuples are a fluid."""

    arrived: Floats  # (d,)
    taken: Floats  # (p,) tuples in, by port
    given: Floats  # (e,) tuples out, by stream
    busy: Floats  # (m,) busy seconds
    worked: Floats  # (n,) seconds in which a node worked
    out: Floats  # (y,) tuples at an output
    latency: Floats  # (y,) seconds, sum
    work: Floats  # (y,) seconds, sum
    longest: Floats  # (y,) seconds
    seen: Floats  # (BUCKETS,) latencies of all outputs
    kept: Floats  # (y, BUCKETS) latencies by output; opened at the end of the warm-up only
    log_time: Floats  # (log,) seconds: end of an invocation
    log_place: Ints  # (log, 2) node and port
    log_birth: Floats  # (log,)


class World(NamedTuple):
    """All of it."""

    net: Net
    pool: Pool
    lists: Lists
    nodes: Nodes
    pipes: Pipes
    calendar: Calendar
    books: Books

"""The event core as an object: a world that can be fed, let run, and changed between events.

Rule 1: this is the one place that makes and grows the arrays kernels work on. Rule 2: it decides nothing: whoever runs
it says when a unit stops, where it goes on, and which node is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.random import SeedSequence

from drover.load.arrays import Flags, Floats, Ints
from drover.sim.cluster import Cluster
from drover.sim.events import kernels as events
from drover.sim.model import QUANTUM, Model, net_of
from drover.sim.moves import kernels as moves
from drover.sim.world import (
    BUCKETS,
    DONE,
    FREE,
    LOST,
    NOBODY,
    SERVED,
    SPARE,
    Books,
    Calendar,
    Lists,
    Nodes,
    Pipes,
    Pool,
    Seeds,
    World,
)

SLOTS: Final = 1024  # of a pool at the start
CHANCE: Final = 1  # the part of a seed that operators draw from; sources have others


class Engine:
    """A network that runs on nodes; `log` is how many invocations are written down one by one, for tests.

    A pool begins with so many slots and grows as it must.
    """

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        model: Model,
        cluster: Cluster,
        places: Ints,
        *,
        seed: int = 0,
        schedule: str = "fifo",
        quantum: int = QUANTUM,
        slots: int = SLOTS,
        log: int = 0,
    ) -> None:
        net = net_of(model, schedule, quantum)
        pipes = _pipes(cluster)
        joins = int((net.join != NOBODY).sum())
        chains = cluster.most + model.m + 2 * joins + len(pipes.delay)
        self.model = model
        self.world = World(
            net,
            _pool(slots),
            Lists(np.full(chains, NOBODY), np.full(chains, NOBODY), np.zeros(chains, dtype=np.int64)),
            _nodes(cluster, places, joins, _seeds(seed, model.m)),
            pipes,
            _calendar(cluster.most + len(pipes.delay), len(model.sources)),
            new_books(model, cluster.most, log),
        )

    def feed(self, arrivals: Sequence[Floats]) -> None:
        """Take the next arrivals of every source, in order of time; those taken before must have happened."""
        stop = np.cumsum([len(times) for times in arrivals])
        calendar = self.world.calendar._replace(
            times=np.concatenate([*arrivals, np.empty(0)]), next=np.append(0, stop)[:-1].copy(), stop=stop
        )
        self.world = self.world._replace(calendar=calendar)
        size = len(calendar.key) // 2
        sources = len(self.world.nodes.slow) + len(self.world.pipes.delay) + size
        calendar.key[sources : sources + len(arrivals)] = [each[0] if len(each) else np.inf for each in arrivals]
        _play(calendar)

    def advance(self, until: float) -> None:
        """Let everything happen that happens before a time."""
        while events.advance(self.world, until) != DONE:
            self.world = self.world._replace(pool=_grown(self.world.pool))

    def suspend(self, chosen: Flags, places: Ints) -> None:
        """Suspend operators, (m,), and place all as said, (m,); tuples for those suspended wait."""
        touched = np.bincount(self.world.nodes.place[chosen], minlength=len(self.world.nodes.slow)) > 0
        moves.suspend(self.world, chosen, touched)
        self.world.nodes.place[:] = places

    def resume(self, operator: int, now: float) -> None:
        """Let an operator go on at its place."""
        moves.resume(self.world, operator, now)

    def kill(self, node: int, now: float, *, replay: bool) -> None:
        """Lose a node, whose operators are suspended and still placed there."""
        moves.kill(self.world, node, replay, now)

    def free_at(self, operators: Ints, now: float) -> float:
        """Return when the last of these operators has finished the tuple it is working on."""
        nodes, net = self.world.nodes, self.world.net
        busy = np.flatnonzero(nodes.slot != NOBODY)
        running = net.reader[self.world.pool.port[nodes.slot[busy]]]
        key = self.world.calendar.key[len(self.world.calendar.key) // 2 + busy]
        return float(max(key[np.isin(running, operators)], default=now))

    def state(self) -> Floats:
        """Return, (m,), the bytes of each operator's state at present: its own, and the tuples in a join's windows."""
        model, lists = self.model, self.world.lists
        found = model.state.copy()
        for port in np.flatnonzero(self.world.net.join[model.reader] != NOBODY):
            j = model.reader[port]
            chain = len(self.world.nodes.slow) + model.m + 2 * self.world.net.join[j] + model.side[port]
            found[j] += lists.length[chain] * model.width[model.read[port]]
        return found

    def queued(self) -> Floats:
        """Return, (n,), the tuples that wait at each node or are worked on, those for suspended units included."""
        nodes, n = self.world.nodes, len(self.world.nodes.slow)
        waiting = np.bincount(nodes.place, self.world.lists.length[n : n + len(nodes.place)], n)
        return np.asarray(self.world.lists.length[:n] + waiting + (nodes.slot != NOBODY), dtype=np.float64)

    def travelling(self) -> int:
        """Return how many tuples are between nodes."""
        pipes = len(self.world.pipes.delay)
        return int(self.world.lists.length[len(self.world.lists.length) - pipes :].sum())

    @property
    def lost(self) -> float:
        """Tuples lost with nodes so far."""
        return float(self.world.pool.cells[LOST])

    @property
    def served(self) -> float:
        """Invocations of operators so far."""
        return float(self.world.pool.cells[SERVED])

    @property
    def kept(self) -> Floats:
        """(y, BUCKETS) latencies since they were last forgotten."""
        return self.world.books.kept

    @property
    def place(self) -> Ints:
        """(m,) where operators are, or go on."""
        return self.world.nodes.place

    def close_books(self, now: float) -> Books:
        """Return what happened since the last time, as copies, and open new books; `kept` goes on."""
        moves.credit(self.world, now)
        return take_out(self.world.books)


COUNTED: Final = ("arrived", "taken", "given", "busy", "worked", "out", "latency", "work", "longest", "seen")


def take_out(books: Books) -> Books:
    """Return a copy of what is in the books, and empty them."""
    copies = books._replace(**{name: getattr(books, name).copy() for name in COUNTED})
    for name in COUNTED:
        getattr(books, name)[:] = 0
    return copies


def _pool(slots: int) -> Pool:
    after = np.append(np.arange(1, slots), NOBODY)
    cells = np.zeros(5, dtype=np.int64)
    cells[SPARE] = slots
    return Pool(np.zeros(slots), np.zeros(slots), np.zeros(slots), np.zeros(slots, dtype=np.int64), after, cells)


def _grown(pool: Pool) -> Pool:
    """Return a pool twice as large with the same tuples."""
    slots = len(pool.birth)
    grown = _pool(2 * slots)
    for old, new in zip(pool, grown, strict=True):
        if len(old) == slots:
            new[:slots] = old
    grown.after[-1] = pool.cells[FREE]
    grown.cells[:] = pool.cells
    grown.cells[FREE] = slots
    grown.cells[SPARE] += slots
    return grown


def _seeds(seed: int, m: int) -> Seeds:
    return np.asarray(SeedSequence((seed, CHANCE)).generate_state(m, np.uint64), dtype=np.uint64)


def _nodes(cluster: Cluster, places: Ints, joins: int, seeds: Seeds) -> Nodes:
    n, m = cluster.most, len(places)
    return Nodes(
        slow=1 / cluster.capacities,
        slot=np.full(n, NOBODY),
        took=np.zeros(n),
        pairs=np.zeros(n, dtype=np.int64),
        credited=np.zeros(n),
        turns=np.zeros(n, dtype=np.int64),
        ready=np.full(n, NOBODY),
        last=np.full(n, NOBODY),
        place=np.array(places, dtype=np.int64),
        awake=np.ones(m, dtype=np.bool_),
        listed=np.zeros(m, dtype=np.bool_),
        later=np.full(m, NOBODY),
        newest=np.full((joins, 2), -np.inf),
        seeds=seeds,
    )


def _pipes(cluster: Cluster) -> Pipes:
    """Return a pipe per link; links that are never full and equally long share one, since nobody overtakes there."""
    if cluster.is_free:
        return Pipes(np.zeros((0, 0), dtype=np.int64), np.empty(0), np.empty(0), np.empty(0))
    delay, bandwidth = np.ravel(cluster.delay), np.ravel(cluster.bandwidth)
    own = np.where(np.isinf(bandwidth), -1.0, np.arange(len(delay)))
    _, chosen, pipe = np.unique(np.stack([own, delay], axis=1), axis=0, return_index=True, return_inverse=True)
    shape = (cluster.most, cluster.most)
    return Pipes(pipe.reshape(shape).astype(np.int64), delay[chosen], bandwidth[chosen], np.zeros(len(chosen)))


def _calendar(before: int, sources: int) -> Calendar:
    size = 1 << max(before + sources - 1, 1).bit_length()
    leaf = np.concatenate([np.zeros(size, dtype=np.int64), np.arange(size)])
    none = np.zeros(sources, dtype=np.int64)
    calendar = Calendar(np.full(2 * size, np.inf), leaf, np.empty(0), none, none.copy())
    _play(calendar)
    return calendar


def _play(calendar: Calendar) -> None:
    """Play the whole tournament."""
    for at in range(len(calendar.key) // 2 - 1, 0, -1):
        better = 2 * at if calendar.key[2 * at] <= calendar.key[2 * at + 1] else 2 * at + 1
        calendar.key[at], calendar.leaf[at] = calendar.key[better], calendar.leaf[better]


def new_books(model: Model, n: int, log: int = 0) -> Books:
    """Return books with nothing in them, for n nodes; `log` is how many invocations they take one by one."""
    y = len(model.outputs)
    return Books(
        arrived=np.zeros(len(model.sources)),
        taken=np.zeros(len(model.reader)),
        given=np.zeros(len(model.streams)),
        busy=np.zeros(model.m),
        worked=np.zeros(n),
        out=np.zeros(y),
        latency=np.zeros(y),
        work=np.zeros(y),
        longest=np.zeros(y),
        seen=np.zeros(BUCKETS),
        kept=np.zeros((y, BUCKETS)),
        log_time=np.zeros(log),
        log_place=np.zeros((log, 2), dtype=np.int64),
        log_birth=np.zeros(log),
    )

"""The event core: it owns the arrays that the kernels work on.

Rule 1: arrays are created and grown here and nowhere else. Rule 2: it decides nothing. Its caller says when a unit
stops, where it resumes, and which node fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.random import SeedSequence

from drover.load.arrays import Flags, Floats, Ints
from drover.sim import event_kernels as events
from drover.sim import move_kernels as moves
from drover.sim.cluster import SimulatedCluster
from drover.sim.model import QUANTUM, Model, net_of
from drover.sim.world import (
    BUCKETS,
    DONE,
    FREE,
    LOST,
    NOBODY,
    SERVED,
    SPARE,
    Calendar,
    Lists,
    NodeArrays,
    Pipes,
    Pool,
    Seeds,
    SimulationArrays,
    SimulationCounts,
)

SLOTS: Final = 1024  # initial size of the pool
CHANCE: Final = 1  # part of the seed from which operators draw; sources have others


class Engine:
    """A network that runs on nodes, event by event.

    `slots` is the initial size of the pool, which grows when needed. `log` is the number of invocations
    that are recorded one by one, for tests.
    """

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        model: Model,
        cluster: SimulatedCluster,
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
        self.world = SimulationArrays(
            net,
            _pool(slots),
            Lists(np.full(chains, NOBODY), np.full(chains, NOBODY), np.zeros(chains, dtype=np.int64)),
            _nodes(cluster, places, joins, _seeds(seed, model.m)),
            pipes,
            _calendar(cluster.most + len(pipes.delay), len(model.sources)),
            no_counts(model, cluster.most, log),
        )

    def feed(self, arrivals: Sequence[Floats]) -> None:
        """Add the next arrivals of every source, in order of time; the previous ones must be processed."""
        stop = np.cumsum([len(times) for times in arrivals])
        calendar = self.world.calendar._replace(
            times=np.concatenate([*arrivals, np.empty(0)]), next=np.append(0, stop)[:-1].copy(), stop=stop
        )
        self.world = self.world._replace(calendar=calendar)
        size = len(calendar.key) // 2
        sources = len(self.world.nodes.slow) + len(self.world.pipes.delay) + size
        calendar.key[sources : sources + len(arrivals)] = [each[0] if len(each) else np.inf for each in arrivals]
        _build_tournament(calendar)

    def advance(self, until: float) -> None:
        """Process all events before a time."""
        while events.advance(self.world, until) != DONE:
            self.world = self.world._replace(pool=_grown(self.world.pool))

    def suspend(self, chosen: Flags, places: Ints) -> None:
        """Suspend the chosen operators, (m,), and set the node of every operator, (m,); their tuples wait."""
        touched = np.bincount(self.world.nodes.place[chosen], minlength=len(self.world.nodes.slow)) > 0
        moves.suspend(self.world, chosen, touched)
        self.world.nodes.place[:] = places

    def resume(self, operator: int, now: float) -> None:
        """Resume an operator on its node."""
        moves.resume(self.world, operator, now)

    def kill(self, node: int, now: float, *, replay: bool) -> None:
        """Fail a node; its operators must be suspended and still be placed there."""
        moves.kill(self.world, node, replay, now)

    def free_at(self, operators: Ints, now: float) -> float:
        """Return when the last of these operators finishes its present tuple."""
        nodes = self.world.nodes
        net = self.world.net
        busy = np.flatnonzero(nodes.slot != NOBODY)
        running = net.reader[self.world.pool.port[nodes.slot[busy]]]
        key = self.world.calendar.key[len(self.world.calendar.key) // 2 + busy]
        return float(max(key[np.isin(running, operators)], default=now))

    def state(self) -> Floats:
        """Return, (m,), the bytes of each operator's state: its own, and the tuples in a join's windows."""
        model = self.model
        lists = self.world.lists
        found = model.state.copy()
        for port in np.flatnonzero(self.world.net.join[model.reader] != NOBODY):
            j = model.reader[port]
            chain = len(self.world.nodes.slow) + model.m + 2 * self.world.net.join[j] + model.side[port]
            found[j] += lists.length[chain] * model.width[model.read[port]]
        return found

    def queued(self) -> Floats:
        """Return, (n,), the tuples that wait or are processed at each node, those of suspended units included."""
        nodes = self.world.nodes
        n = len(self.world.nodes.slow)
        waiting = np.bincount(nodes.place, self.world.lists.length[n : n + len(nodes.place)], n)
        return np.asarray(self.world.lists.length[:n] + waiting + (nodes.slot != NOBODY), dtype=np.float64)

    def travelling(self) -> int:
        """Return the number of tuples in transit between nodes."""
        pipes = len(self.world.pipes.delay)
        return int(self.world.lists.length[len(self.world.lists.length) - pipes :].sum())

    @property
    def lost(self) -> float:
        """Tuples lost with failed nodes so far."""
        return float(self.world.pool.cells[LOST])

    @property
    def served(self) -> float:
        """Invocations of operators so far."""
        return float(self.world.pool.cells[SERVED])

    @property
    def kept(self) -> Floats:
        """(y, BUCKETS) latencies by output, since the array was last cleared."""
        return self.world.counts.kept

    @property
    def place(self) -> Ints:
        """(m,) node of each operator; of a suspended one, the node it resumes on."""
        return self.world.nodes.place

    def take_counts(self, now: float) -> SimulationCounts:
        """Return copies of the counts since the last call, and start new ones; `kept` continues."""
        moves.credit(self.world, now)
        return drain_counts(self.world.counts)


COUNTED: Final = ("arrived", "taken", "given", "busy", "worked", "out", "latency", "work", "longest", "seen")


def drain_counts(counts: SimulationCounts) -> SimulationCounts:
    """Return a copy of the counts, and reset them."""
    copies = counts._replace(**{name: getattr(counts, name).copy() for name in COUNTED})
    for name in COUNTED:
        getattr(counts, name)[:] = 0
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


def _nodes(cluster: SimulatedCluster, places: Ints, joins: int, seeds: Seeds) -> NodeArrays:
    n = cluster.most
    m = len(places)
    return NodeArrays(
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


def _pipes(cluster: SimulatedCluster) -> Pipes:
    """Return a pipe per link. Links of equal delay and unlimited bandwidth share one, as no tuple overtakes there."""
    if cluster.is_free:
        return Pipes(np.zeros((0, 0), dtype=np.int64), np.empty(0), np.empty(0), np.empty(0))
    delay = np.ravel(cluster.delay)
    bandwidth = np.ravel(cluster.bandwidth)
    own = np.where(np.isinf(bandwidth), -1.0, np.arange(len(delay)))
    _, chosen, pipe = np.unique(np.stack([own, delay], axis=1), axis=0, return_index=True, return_inverse=True)
    shape = (cluster.most, cluster.most)
    return Pipes(pipe.reshape(shape).astype(np.int64), delay[chosen], bandwidth[chosen], np.zeros(len(chosen)))


def _calendar(before: int, sources: int) -> Calendar:
    size = 1 << max(before + sources - 1, 1).bit_length()
    leaf = np.concatenate([np.zeros(size, dtype=np.int64), np.arange(size)])
    none = np.zeros(sources, dtype=np.int64)
    calendar = Calendar(np.full(2 * size, np.inf), leaf, np.empty(0), none, none.copy())
    _build_tournament(calendar)
    return calendar


def _build_tournament(calendar: Calendar) -> None:
    """Fill in the winner of every inner node, from the leaves up."""
    for at in range(len(calendar.key) // 2 - 1, 0, -1):
        better = 2 * at if calendar.key[2 * at] <= calendar.key[2 * at + 1] else 2 * at + 1
        calendar.key[at], calendar.leaf[at] = calendar.key[better], calendar.leaf[better]


def no_counts(model: Model, n: int, log: int = 0) -> SimulationCounts:
    """Return counts of zero for n nodes; `log` is the number of invocations recorded one by one."""
    y = len(model.outputs)
    return SimulationCounts(
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

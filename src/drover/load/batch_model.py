"""One model of a batch: how long it takes, phase by phase, fitted to the last batches.

    seconds = fixed + hops + reading(rows, bytes) + nodes(work) + sinks(rows, bytes) + commit(bytes of state)

where the work of a hop is that of its slowest node, or the CPU time of all nodes over the cores, if that is more. What
runs in pieces overlaps from hop to hop.

Rule 1: no clock and no Spark: a model is a function of measured batches. Rule 2: phases are fitted apart, because each
is measured by itself. Rule 3: a prediction says how sure it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from drover.load.arrays import Floats
from drover.load.robust_fit import Assumption, LinearFit, fit_robust

KEPT: Final = 60  # batches that a model looks at
ERRORS: Final = 1.645  # standard errors on both sides, which hold 90 % of the cases
# Seconds of a hop by itself, as measured on two cores: a shuffle, or a put to a node that stays.
HOP: Final = {"shuffle": 0.09, "resident": 0.005}
ANY_HOP: Final = 0.05


def _assumed(*pairs: tuple[float, float]) -> Assumption:
    return Assumption(np.array([value for value, _ in pairs]), np.array([deviation for _, deviation in pairs]))


# Value and deviation of each coefficient. Costs per row are assumed small: where a steady rate does not tell them from
# a fixed cost, the fixed cost gets what is left. Routing is measured inside its tasks, so there rows get it.
ROUTING: Final = _assumed((0.0, 0.005), (0.0, 1e-4), (0.0, 1e-7))  # fixed, per row, per byte
SINKS: Final = _assumed((0.0, 1.0), (0.0, 1e-5), (0.0, 1e-7))  # fixed, per row, per byte
COMMIT: Final = _assumed((0.0, 1.0), (0.0, 1e-7))  # fixed, per byte
CUT: Final = _assumed((1e-3, 2e-3), (3e-4, 5e-4), (2e-9, 1e-8))  # busy seconds per place, per transfer, per byte


def _nodes_assumed(engine: str) -> Assumption:
    """Return what is assumed of the time in nodes: fixed, per hop, per second of work, per row that Spark reads."""
    hop = HOP.get(engine, ANY_HOP)
    return _assumed((0.3, 0.5), (hop, hop), (1.0, 0.2), (0.0, 1e-5))


class NodeTime(NamedTuple):
    """The time of nodes in a batch: each, (hops, n), of every node in every hop."""

    busy: Floats  # seconds
    waited: Floats | float = 0.0  # of these, without a core

    @property
    def computing(self) -> Floats:
        """The seconds that used a core."""
        return np.asarray(self.busy - self.waited)


def hop_seconds(time: NodeTime, cores: float) -> float:
    """Return the least seconds of all hops, one after the other.

    A hop ends with its slowest node. Nodes that share cores cannot be faster than all that they compute over the cores.
    """
    if not time.busy.size:
        return 0.0
    return float(np.maximum(time.busy.max(axis=1), time.computing.sum(axis=1) / cores).sum())


def work_seconds(whole: NodeTime, streamed: NodeTime, cores: float, pieces: int) -> float:
    """Return the least seconds of all hops, if a part of their work, `streamed`, is done in pieces.

    In P pieces, nodes wait for each other at the ends of hops only 1/P of the time. Nobody is faster than the node with
    most work, or than all that nodes compute over the cores.
    """
    if pieces < 2 or not whole.busy.size:
        return hop_seconds(whole, cores)
    idle = hop_seconds(streamed, cores) - _side_by_side(streamed, cores)
    return max(hop_seconds(whole, cores) - idle * (1 - 1 / pieces), _side_by_side(whole, cores))


def _side_by_side(time: NodeTime, cores: float) -> float:
    """Return the seconds of nodes that never wait for each other."""
    return float(max(time.busy.sum(axis=0).max(), time.computing.sum() / cores))


@dataclass(frozen=True, slots=True)
class BatchWork:
    """What a batch has to do."""

    rows: float = 0.0  # read
    routed_bytes: float = 0.0  # from the router to nodes
    hops: float = 1.0
    work: float = 0.0  # seconds of all hops, from `work_seconds`
    result_rows: float = 0.0
    result_bytes: float = 0.0
    state_bytes: float = 0.0  # written

    def times(self, factor: float) -> BatchWork:
        """Return the work of so many times as many rows, in as many hops."""
        return BatchWork(
            self.rows * factor,
            self.routed_bytes * factor,
            self.hops,
            self.work * factor,
            self.result_rows * factor,
            self.result_bytes * factor,
            self.state_bytes * factor,
        )


@dataclass(frozen=True, slots=True)
class BatchMeasure:
    """What a batch had to do, what it did it with, and how long its phases took."""

    work: BatchWork
    compute: float  # seconds, from the start until all rows are computed
    routing: float  # seconds of the slowest router task, within `compute`
    sinks: float  # seconds
    commit: float  # seconds
    nodes: int = 1
    slots: int = 0  # tasks that Spark can run at once; 0: unknown
    cores: int = 0  # that these slots have; 0: unknown
    trigger: float = 0.0  # seconds from the start of a batch to the start of the next; 0: without a pause
    engine: str = ""
    places: float = 0.0  # tasks of nodes that had work
    transfers: float = 0.0  # streams that came to a place, or left it
    moved_bytes: float = 0.0  # of these streams; what one place sends to another counts at both
    overhead: float = 0.0  # busy seconds of nodes outside of operators: frames and state
    busy: float = 0.0  # busy seconds of all nodes; 0: unknown
    waited: float = 0.0  # of these, without a core

    @property
    def whole(self) -> float:
        """Seconds from the start of the batch to its commit."""
        return self.compute + self.sinks + self.commit


@dataclass(frozen=True, slots=True)
class Phases:
    """Where the seconds of a batch go."""

    fixed: float  # whatever the rows are, with the hops
    reading: float
    nodes: float
    sinks: float
    commit: float

    @property
    def whole(self) -> float:
        """All seconds."""
        return self.fixed + self.reading + self.nodes + self.sinks + self.commit

    @property
    def others(self) -> float:
        """The seconds that grow with the rows, outside of nodes."""
        return self.reading + self.sinks + self.commit

    @property
    def longest(self) -> str:
        """The name of the longest phase."""
        named = {name: getattr(self, name) for name in ("nodes", "reading", "sinks", "commit", "fixed")}
        return max(named, key=lambda name: named[name])


@dataclass(frozen=True, slots=True)
class PredictedSeconds:
    """An estimate, and the interval that holds it in nine cases of ten."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2g} s ({self.low:.2g} to {self.high:.2g})"


@dataclass(frozen=True, slots=True, eq=False)
class BatchModel:
    """The model of the batches of one run on its present engine and cores."""

    routing: LinearFit
    nodes: LinearFit
    sinks: LinearFit
    commit: LinearFit
    batches: int  # that it was fitted to
    error: float  # median of |predicted - measured| over measured, on these batches
    cut: LinearFit | None = None  # busy seconds of nodes outside of operators: per place, per transfer, per byte

    def phases(self, work: BatchWork) -> Phases:
        """Return where the seconds of a batch go."""
        routing, nodes, sinks, commit = (
            features * fit.coefficients for features, fit in zip(_features(work), self._fits, strict=True)
        )
        return Phases(
            fixed=float(routing[0] + nodes[0] + nodes[1] + sinks[0] + commit[0]),
            reading=float(routing[1:].sum() + nodes[3]),
            nodes=float(nodes[2]),
            sinks=float(sinks[1:].sum()),
            commit=float(commit[1:].sum()),
        )

    def seconds(self, work: BatchWork) -> PredictedSeconds:
        """Return how long a batch takes on average; a single batch scatters more."""
        mean = self.phases(work).whole
        spread = sum(fit.variance(features) for features, fit in zip(_features(work), self._fits, strict=True))
        error = ERRORS * math.sqrt(spread)
        return PredictedSeconds(mean, max(mean - error, 0.0), mean + error)

    def cut_price(self, places: float, transfers: float, size: float) -> float:
        """Return the busy seconds that places spend outside of operators: packing, unpacking and their own start."""
        price = CUT.value if self.cut is None else self.cut.coefficients
        return float(price @ [places, transfers, size])

    @property
    def _fits(self) -> tuple[LinearFit, ...]:
        return (self.routing, self.nodes, self.sinks, self.commit)


def _features(work: BatchWork) -> tuple[Floats, ...]:
    """Return the features of each phase, in the order of `BatchModel._fits`."""
    return (
        np.array([1.0, work.rows, work.routed_bytes]),
        np.array([1.0, work.hops, work.work, work.rows]),
        np.array([1.0, work.result_rows, work.result_bytes]),
        np.array([1.0, work.state_bytes]),
    )


def comparable(measures: Sequence[BatchMeasure]) -> tuple[BatchMeasure, ...]:
    """Return the last batches that ran on the same engine and cores as the newest one."""
    if not measures:
        return ()
    newest = measures[-1]
    alike = (one for one in measures if (one.engine, one.cores) == (newest.engine, newest.cores))
    return tuple(alike)[-KEPT:]


@lru_cache(maxsize=16)
def fit_batches(measures: tuple[BatchMeasure, ...]) -> BatchModel | None:
    """Return the model of batches, the newest last; None without any. After a single one, most of it is assumed."""
    seen = comparable(measures)
    if not seen:
        return None
    tables = [np.array(rows) for rows in zip(*(_features(one.work) for one in seen), strict=True)]
    times = np.array([(one.routing, one.compute - one.routing, one.sinks, one.commit) for one in seen])
    assumed = (ROUTING, _nodes_assumed(seen[-1].engine), SINKS, COMMIT)
    routing, nodes, sinks, commit = (fit_robust(table, times[:, at], assumed[at]) for at, table in enumerate(tables))
    outside = np.array([(one.places, one.transfers, one.moved_bytes) for one in seen])
    cut = fit_robust(outside, np.array([one.overhead for one in seen]), CUT)
    model = BatchModel(routing, nodes, sinks, commit, batches=len(seen), error=0.0, cut=cut)
    wrong = [abs(model.phases(one.work).whole - one.whole) / max(one.whole, 1e-6) for one in seen]
    return replace(model, error=float(np.median(wrong)))


def thinned(measures: Sequence[BatchMeasure], most: int) -> tuple[BatchMeasure, ...]:
    """Return at most so many batches, evenly spaced, with the last one."""
    if len(measures) <= most:
        return tuple(measures)
    return tuple(measures[len(measures) - 1 - at * len(measures) // most] for at in reversed(range(most)))


def measure_to_json(one: BatchMeasure) -> list[Any]:  # Any: numbers and a word
    """Return a measured batch as a list: hundreds of them are written in every period."""
    work, *rest = astuple(one)
    return [round(value, 6) if isinstance(value, float) else value for value in (*work, *rest)]


def measure_of(body: Sequence[Any]) -> BatchMeasure:  # Any: as above
    """Return a measured batch from its list."""
    nodes, slots, cores = map(int, body[11:14])
    compute, routing, sinks, commit = map(float, body[7:11])
    places, transfers, size, overhead, *rest = map(float, body[16:])
    busy, waited = rest or (0.0, 0.0)  # absent in files of older runs
    return BatchMeasure(
        BatchWork(*map(float, body[:7])),
        compute,
        routing,
        sinks,
        commit,
        nodes,
        slots,
        cores,
        float(body[14]),
        str(body[15]),
        places,
        transfers,
        size,
        overhead,
        busy,
        waited,
    )

"""What a worker process does for a node in one hop: load state, run the operators, write the changes.

Rule 1: any process may run a place, and may run it twice. A worker uses cached state only as far as it equals the state
that the batch starts from, and what it writes counts only once the driver commits it.
Rule 2: no Spark here: frames go in, frames and one report come out.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

import polars as pl

from drover.flow.breadcrumbs import breadcrumbs
from drover.flow.families.assignment import FamilyAssignment, MemberCounts, ParkedMember
from drover.flow.families.family_cache import FamilyCache
from drover.flow.families.interest import Interest
from drover.flow.families.runner import FamilyRunner
from drover.flow.frames import DRIVER, FRAME_BYTES, Frame, FrameKind, FramePort, pack, stream_port
from drover.flow.instances import JoinInstance
from drover.flow.node import (
    NOTHING_STREAMED,
    Failure,
    NodeOutput,
    OperatorFacts,
    StreamedPart,
    Task,
    run_piece,
    run_place,
)
from drover.flow.operators import (
    CompileContext,
    Runner,
    Spend,
    UnitState,
    Wait,
    Watermarks,
    late_streams,
    make_runner,
    no_wait,
)
from drover.flow.parking import HeldInput, Parking
from drover.flow.recall import Saved, load_state, recall
from drover.flow.schedule import HopNode, Schedule
from drover.flow.spill import SPILL_BYTES
from drover.flow.state.layout import STATE, state_name
from drover.flow.state.segments import Delta, Key, Segment, newest_of, write_deltas
from drover.flow.state.storage import join, open_root
from drover.flow.state.versions import PartState, Version, advance, should_compact
from drover.flow.tables import Address
from drover.network.durations import Micros
from drover.network.model import Network
from drover.network.operators import Operator

# A worker forgets a state that no task has used for so many batches: the operator runs elsewhere by then. The cached
# copy is useless as soon as the operator moves, but finding that out means comparing everything, and a few batches of
# unused memory cost nothing.
IDLE: Final = 8
HOPS_APART: Final = 10_000  # more than there are nodes: hop * HOPS_APART + node is an origin of its own


@dataclass(frozen=True, slots=True)
class PackedNetwork:
    """A pickled network with the addresses of its tables; workers recognise it by its fingerprint."""

    fingerprint: str
    pickled: bytes = field(repr=False)


def pack_network(network: Network, tables: Mapping[str, Address]) -> PackedNetwork:
    """Return a network in the form that travels to workers; `tables` has the address of each table."""
    pickled = pickle.dumps((network, dict(tables)))
    return PackedNetwork(hashlib.sha256(pickled).hexdigest(), pickled)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What all places of a batch have in common."""

    batch: int
    network: PackedNetwork
    schedule: Schedule
    watermarks: Mapping[str, Watermarks]  # by operator
    saved: Mapping[str, Saved]  # by operator: the state that the batch starts from
    root: str  # of the checkpoint, a path or URI
    parking: Parking = field(default_factory=Parking)  # operators that do not run, and those that run again
    rewritten: frozenset[Key] = frozenset()  # parts of state to write in full, even if they have hardly changed
    families: FamilyAssignment | None = None  # the submitted queries, by family
    keeps_late: bool = False  # whether the run has a sink for late rows
    frame_bytes: int = FRAME_BYTES  # of frames from router to node and from node to node


class TaskId(NamedTuple):
    """The task of a scheduler that ran a place, by its numbers there."""

    stage: int
    number: int  # no other attempt of any task has it


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What a place reports to the driver."""

    place: HopNode
    operators: tuple[OperatorFacts, ...]
    failures: tuple[Failure, ...]
    segments: tuple[Segment, ...]
    bounds: Mapping[tuple[str, str], Micros]
    busy: float = 0.0  # CPU seconds of the whole task (frames, state and operators), and what operators waited
    seconds: float = 0.0  # wall-clock seconds of the whole task
    loaded: int = 0  # bytes of state that were not cached and had to be read
    tallies: tuple[MemberCounts, ...] = ()  # of families
    parked: tuple[ParkedMember, ...] = ()  # queries that failed
    held: tuple[HeldInput, ...] = ()  # by parked operators
    task: TaskId | None = None  # None outside of a scheduler


@dataclass(slots=True)
class CachedState:
    """A live state, the saved state that it equals, and the count of batches at its last use."""

    saved: Saved
    live: UnitState
    used: int


Borrow = Callable[[str, str, Saved], tuple[Saved, UnitState] | None]  # root, operator, wanted


class WorkerCache:
    """What a worker process keeps between batches: compiled operators and live state."""

    def __init__(
        self, cpu: Callable[[], float], spend: Spend, clock: Callable[[], float] = lambda: 0.0, wait: Wait = no_wait
    ) -> None:
        self.cpu = cpu
        self.clock = clock  # seconds since 1970
        self.spend = spend
        self.wait = wait
        self.networks: dict[str, tuple[Network, CompileContext]] = {}
        self.runners: dict[tuple[str, str], tuple[Operator, Runner]] = {}
        self.states: dict[tuple[str, str], CachedState] = {}
        self.batches = 0  # batches in which this worker had work, in any run
        self.loaded = 0  # bytes of state read so far
        self.borrow: Borrow = lambda _root, _operator, _wanted: None  # asks the worker that ran an operator before
        self.families = FamilyCache(spend)
        self._batch: tuple[str, int] | None = None
        self._frozen = -1  # size of the cache when it was last frozen

    def freeze(self) -> None:
        """Hide the cache from the garbage collector, if it has grown.

        Spark's worker collects garbage after every task, and the next task waits for it. With all modules imported, a
        collection takes 25 ms.
        """
        size = len(self.networks) + len(self.runners) + self.families.compiled
        if size != self._frozen:
            self._frozen = size
            gc.unfreeze()
            gc.collect()
            gc.freeze()

    def begin(self, assignment: Assignment) -> None:
        """Count a batch the first time it appears, and forget what no batch has used lately."""
        if self._batch == (assignment.root, assignment.batch):
            return
        self._batch = (assignment.root, assignment.batch)
        self.batches += 1
        for key in [key for key, cached in self.states.items() if self.batches - cached.used > IDLE]:
            del self.states[key]
        self.families.begin(self.batches, IDLE)

    def compile_context(self, packed: PackedNetwork) -> tuple[Network, CompileContext]:
        """Return the network, unpickled at most once, and the context to compile its operators in."""
        if packed.fingerprint not in self.networks:
            network, tables = pickle.loads(packed.pickled)
            self.networks[packed.fingerprint] = (
                network,
                CompileContext(network, self.spend, late_streams(network), tables, self.wait),
            )
        return self.networks[packed.fingerprint]

    def runner(self, packed: PackedNetwork, operator: Operator) -> Runner:
        """Return the compiled operator, compiled once; an instance of a join again when the join's shape changes."""
        key = (packed.fingerprint, operator.name)
        known = self.runners.get(key)
        if known is None or (isinstance(operator, JoinInstance) and known[0] != operator):
            known = self.runners[key] = (operator, make_runner(operator, self.compile_context(packed)[1]))
        return known[1]

    def state(self, assignment: Assignment, operator: str) -> UnitState:
        """Return the live state that the batch starts from; see `recall`."""
        saved = assignment.saved.get(operator, {})
        # Removed until `_keep` puts it back: a task that fails must not leave a half-changed state in the cache.
        cached = self.states.pop((assignment.root, operator), None)
        if (cached is None or cached.saved != saved) and (lent := self.borrow(assignment.root, operator, saved)):
            cached = CachedState(*lent, self.batches)
        if cached is not None and cached.saved == saved:
            live = cached.live
        else:
            known, here = ({}, UnitState()) if cached is None else (cached.saved, cached.live)
            live, size = recall(assignment.root, operator, saved, known, here)
            self.loaded += size
        live.begin()
        return live

    def interest(self, assignment: Assignment) -> Interest | None:
        """Return which rows families need; None without families."""
        if assignment.families is None:
            return None
        self.begin(assignment)  # a worker that only routes must forget, too
        return self.families.interest(assignment.root, assignment.families)


def deltas_of(
    operator: str, state: UnitState, saved: Saved, rewritten: frozenset[Key] = frozenset()
) -> Iterator[Delta]:
    """Yield what a batch changed in the state of one operator, or all live rows where they replace many deltas."""
    for part, rows in state.appended.items():
        live = state.parts[part]
        before = saved.get(part, PartState())
        whole = (operator, part) in rewritten or should_compact(
            before, int(rows.estimated_size()), int(live.estimated_size())
        )
        table = (live if whole else rows).to_arrow()
        yield Delta(operator, part, table, replace=whole, newest=newest_of(table, rows.columns[0]))
    for part, rows in state.replaced.items():
        yield Delta(operator, part, rows.to_arrow(), replace=True)
    # Parts that did not change in this batch, but keep too many old files alive.
    for part, before in saved.items():
        if (operator, part) in rewritten and part in state.parts and part not in {*state.appended, *state.replaced}:
            table = state.parts[part].to_arrow()
            ages = any(segment.newest is not None for segment in before.segments)
            newest = newest_of(table, table.column_names[0]) if ages else None
            yield Delta(operator, part, table, replace=True, newest=newest)


def saved_after(batch: int, operator: str, saved: Saved, segments: Iterable[Segment], state: UnitState) -> Saved:
    """Return the saved state of one operator once its segments are committed."""
    mine = [segment for segment in segments if segment.unit == operator]
    bounds = {(operator, part): bound for part, bound in state.bounds.items()}
    return advance(Version(batch - 1, {operator: saved}), batch, mine, bounds).units.get(operator, {})


def run_worker(
    assignment: Assignment,
    place: HopNode,
    frames: Iterable[Frame],
    attempt: str,
    cache: WorkerCache,
    streamed: StreamedPart = NOTHING_STREAMED,
) -> tuple[Iterator[Frame], NodeReport]:
    """Run one place; return its report and the frames for later hops and the driver, which are made while iterated.

    What is `streamed` has run before, by `run_worker_piece`.
    """
    cache.begin(assignment)
    loaded = cache.loaded  # the cache counts over all batches
    families = FamilyRunner(
        cache.families,
        assignment.root,
        place.node,
        lambda unit: cache.state(assignment, unit),
        lambda unit: load_state(assignment.root, unit, assignment.saved.get(unit, {})),
        cache.cpu,
    )
    with breadcrumbs(assignment.root, assignment.batch, place, attempt, cache.clock) as mark:
        families.mark = mark
        outcome, states = _run_operators(assignment, place, frames, cache, families, streamed)
    states |= families.states
    segments = _save(assignment, place, states, attempt, families.rewritten)
    bounds = _keep(assignment, states, segments, cache)
    report = NodeReport(
        place,
        tuple(outcome.operators),
        tuple(outcome.failures),
        segments,
        bounds,
        loaded=cache.loaded - loaded,
        tallies=tuple(families.tallies),
        parked=tuple(families.parked),
        held=tuple(outcome.held),
    )
    results = {stream_port(stream): rows for stream, rows in outcome.results.items()}
    results |= {FramePort(FrameKind.QUERY_RESULTS, table): rows for table, rows in families.results().items()}
    if outcome.late:
        results[FramePort(FrameKind.LATE_ROWS)] = pl.concat(outcome.late)
    return chain(outcome.frames, _to_driver(place, results)), report


def run_worker_piece(
    assignment: Assignment,
    place: HopNode,
    operators: Iterable[Operator],
    rows: Mapping[FramePort, pl.DataFrame],
    attempt: str,
    cache: WorkerCache,
) -> tuple[NodeOutput, dict[FramePort, pl.DataFrame]]:
    """Run streamed operators of one place on a piece of their rows; return what leaves, and the rows of all streams."""
    cache.begin(assignment)
    task = _task_of(assignment, place, cache)
    with breadcrumbs(assignment.root, assignment.batch, place, attempt, cache.clock) as mark:
        return run_piece(task, operators, rows, partial(cache.runner, assignment.network), cache.cpu, mark)


def _task_of(assignment: Assignment, place: HopNode, cache: WorkerCache) -> Task:
    return Task(
        cache.compile_context(assignment.network)[0],
        assignment.schedule,
        place,
        assignment.watermarks,
        assignment.parking,
        cache.interest(assignment),
        assignment.batch,
        assignment.keeps_late,
        assignment.frame_bytes,
    )


def _run_operators(
    assignment: Assignment,
    place: HopNode,
    frames: Iterable[Frame],
    cache: WorkerCache,
    families: FamilyRunner,
    streamed: StreamedPart,
) -> tuple[NodeOutput, dict[str, UnitState]]:
    """Run the operators and families of a place; return what they emit, and the state of each operator."""
    states: dict[str, UnitState] = {}
    holding = assignment.parking.stateful

    def state_of(operator: Operator) -> UnitState:
        # What an operator holds while it is parked is state, even if the operator has no other.
        stateful = operator.holds_state or operator.name in holding
        states[operator.name] = cache.state(assignment, operator.name) if stateful else UnitState()
        return states[operator.name]

    def run_families(streams: Mapping[str, pl.DataFrame]) -> None:
        if assignment.families is not None:
            families.run(assignment.families, assignment.schedule.herds.get(place, ()), streams)

    task = replace(_task_of(assignment, place, cache), streamed=streamed)
    runners = partial(cache.runner, assignment.network)
    return run_place(task, frames, runners, state_of, cache.cpu, run_families, families.mark), states


def _keep(
    assignment: Assignment, states: Mapping[str, UnitState], segments: tuple[Segment, ...], cache: WorkerCache
) -> dict[Key, Micros]:
    """Cache live states for the next batch; return the bounds that have risen."""
    bounds: dict[Key, Micros] = {}
    for operator, state in states.items():
        before = assignment.saved.get(operator, {})
        for part, bound in state.bounds.items():
            if bound != before.get(part, PartState()).bound:
                bounds[operator, part] = bound
        if state.parts or state.bounds:
            # As if the batch were committed. If it is not, the next batch starts from another saved state, and
            # `WorkerCache.state` notices the difference.
            after = saved_after(assignment.batch, operator, before, segments, state)
            cache.states[assignment.root, operator] = CachedState(after, state, cache.batches)
    return bounds


def _save(
    assignment: Assignment, place: HopNode, states: Mapping[str, UnitState], attempt: str, rewritten: set[Key]
) -> tuple[Segment, ...]:
    deltas = [
        delta
        for operator, state in states.items()
        for delta in deltas_of(operator, state, assignment.saved.get(operator, {}), assignment.rewritten | rewritten)
    ]
    # Most places change no state, and a file takes time even if it is empty.
    if not deltas:
        return ()
    fs, path = open_root(assignment.root)
    return write_deltas(fs, join(path, STATE), state_name(assignment.batch, place.node, attempt), deltas)


def _to_driver(place: HopNode, results: Mapping[FramePort, pl.DataFrame]) -> Iterator[Frame]:
    # A family may run in two hops of one node, if it also reads streams made there. So the hop is part of the origin.
    origin = place.hop * HOPS_APART + place.node
    for port, rows in results.items():
        yield from pack(rows, port, [HopNode(DRIVER, place.node)], origin, SPILL_BYTES)

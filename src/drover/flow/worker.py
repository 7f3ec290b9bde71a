"""What a worker process does for a node in one hop: load state, run the operators, write what changed.

Rule 1: a worker may be any process and may run a place twice: what it keeps in memory is used only as far as it is of
the state that the batch starts from, and what it writes counts only if the driver commits it.
Rule 2: no Spark here; frames go in, frames and one report come out.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import polars as pl

from drover.flow.families.herded import Herded, Parked, Tally
from drover.flow.families.interest import Interest
from drover.flow.families.keeper import Keeper
from drover.flow.families.place import HerdRun
from drover.flow.frames import DRIVER, Frame, pack
from drover.flow.instances import JoinInstance
from drover.flow.node import Failure, Sample, Task, run_place
from drover.flow.operators import Clock, Runner, UnitState, Workshop, late_streams, make_runner
from drover.flow.recall import Saved, load_state, recall
from drover.flow.schedule import Place, Schedule
from drover.flow.spill import SPILL_BYTES
from drover.flow.state.layout import STATE, state_name
from drover.flow.state.segments import Delta, Key, Segment, newest_of, write_deltas
from drover.flow.state.storage import join, open_root
from drover.flow.state.versions import PartState, Version, advance, should_compact
from drover.flow.tables import Address
from drover.network.durations import Micros
from drover.network.model import Network
from drover.network.operators import Operator

# An operator that runs here is asked for in every batch; after so many batches without it, it runs elsewhere. What has
# changed there is useless here at once, but telling costs a comparison of everything, and a few batches cost nothing.
IDLE: Final = 8
HOPS_APART: Final = 10_000  # more than there are nodes


@dataclass(frozen=True, slots=True)
class Packed:
    """A network and the addresses of its tables on their way to workers, which know them again by their fingerprint."""

    fingerprint: str
    pickled: bytes = field(repr=False)


def pack_network(network: Network, tables: Mapping[str, Address]) -> Packed:
    """Return a network as it travels to workers; `tables` says where its tables live."""
    pickled = pickle.dumps((network, dict(tables)))
    return Packed(hashlib.sha256(pickled).hexdigest(), pickled)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What all places of a batch have in common."""

    batch: int
    network: Packed
    schedule: Schedule
    clocks: Mapping[str, Clock]
    saved: Mapping[str, Saved]  # by operator: the state that the batch starts from
    root: str  # of the checkpoint, a path or URI
    parked: frozenset[str] = frozenset()
    rewritten: frozenset[Key] = frozenset()  # parts of state to write as a whole, though little or nothing changed
    herded: Herded | None = None  # the queries that were submitted, by family


@dataclass(frozen=True, slots=True)
class Report:
    """What a place tells the driver."""

    place: Place
    samples: tuple[Sample, ...]
    failures: tuple[Failure, ...]
    segments: tuple[Segment, ...]
    bounds: Mapping[tuple[str, str], Micros]
    busy: float = 0.0  # CPU seconds of the whole task: frames, state and operators
    seconds: float = 0.0  # the same by the clock on the wall
    loaded: int = 0  # bytes of state that were not in memory and had to be read
    tallies: tuple[Tally, ...] = ()  # of families
    parked: tuple[Parked, ...] = ()  # members that failed


@dataclass(slots=True)
class Kept:
    """A state in memory, the saved state it is the live form of, and when it was last used."""

    saved: Saved
    live: UnitState
    turn: int


class Memory:
    """What a worker process keeps between batches: compiled operators and live state."""

    def __init__(self, cpu: Callable[[], float], spend: Callable[[float], None]) -> None:
        self.cpu = cpu
        self.spend = spend
        self.networks: dict[str, tuple[Network, Workshop]] = {}
        self.runners: dict[tuple[str, str], tuple[Operator, Runner]] = {}
        self.states: dict[tuple[str, str], Kept] = {}
        self.turn = 0  # batches in which this worker had work, of whatever run
        self.loaded = 0  # bytes of state read so far
        self.keeper = Keeper(spend)
        self._batch: tuple[str, int] | None = None
        self._settled = -1

    def settle(self) -> None:
        """Take what is here for good out of the garbage collector's sight, if there is more of it than the last time.

        Spark's worker collects garbage after every task. With all modules imported that takes 25 ms, and the next task
        waits for it.
        """
        size = len(self.networks) + len(self.runners) + self.keeper.compiled
        if size != self._settled:
            self._settled = size
            gc.unfreeze()
            gc.collect()
            gc.freeze()

    def begin(self, assignment: Assignment) -> None:
        """Take note of a batch; with a new one, forget what has not been used for a while."""
        if self._batch == (assignment.root, assignment.batch):
            return
        self._batch = (assignment.root, assignment.batch)
        self.turn += 1
        self.keeper.turn = self.turn
        for key in [key for key, kept in self.states.items() if self.turn - kept.turn > IDLE]:
            del self.states[key]
        self.keeper.forget(self.turn - IDLE)

    def shop(self, packed: Packed) -> tuple[Network, Workshop]:
        """Return the network, unpacked at most once."""
        if packed.fingerprint not in self.networks:
            network, tables = pickle.loads(packed.pickled)
            self.networks[packed.fingerprint] = (network, Workshop(network, self.spend, late_streams(network), tables))
        return self.networks[packed.fingerprint]

    def runner(self, packed: Packed, operator: Operator) -> Runner:
        """Return the compiled operator, compiled once; an instance of a join again when the join's shape changes."""
        key = (packed.fingerprint, operator.name)
        kept = self.runners.get(key)
        if kept is None or (isinstance(operator, JoinInstance) and kept[0] != operator):
            kept = self.runners[key] = (operator, make_runner(operator, self.shop(packed)[1]))
        return kept[1]

    def state(self, assignment: Assignment, operator: str) -> UnitState:
        """Return the live state that the batch starts from; see `recall`."""
        saved = assignment.saved.get(operator, {})
        kept = self.states.pop((assignment.root, operator), None)
        if kept is not None and kept.saved == saved:
            live = kept.live
        else:
            known, here = ({}, UnitState()) if kept is None else (kept.saved, kept.live)
            live, size = recall(assignment.root, operator, saved, known, here)
            self.loaded += size
        live.begin()
        return live

    def interest(self, assignment: Assignment) -> Interest | None:
        """Return which rows are of use to families; None if there are none."""
        if assignment.herded is None:
            return None
        self.begin(assignment)  # a worker that only routes forgets, too
        return self.keeper.interest(assignment.root, assignment.herded)


def deltas_of(
    operator: str, state: UnitState, saved: Saved, rewritten: frozenset[Key] = frozenset()
) -> Iterator[Delta]:
    """Yield what a batch did to the state of one operator; now and then all live rows, in place of many deltas."""
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
    assignment: Assignment, place: Place, frames: Iterable[Frame], attempt: str, memory: Memory
) -> tuple[Iterator[Frame], Report]:
    """Run one place: return the frames for later hops and the driver, made while they are taken, and the report."""
    network, _ = memory.shop(assignment.network)
    memory.begin(assignment)
    loaded = memory.loaded
    states: dict[str, UnitState] = {}

    def state_of(operator: Operator) -> UnitState:
        states[operator.name] = memory.state(assignment, operator.name) if operator.holds_state else UnitState()
        return states[operator.name]

    def run_families(streams: Mapping[str, pl.DataFrame]) -> None:
        if assignment.herded is not None:
            herd.run(assignment.herded, assignment.schedule.herds.get(place, ()), streams)

    herd = HerdRun(
        memory.keeper,
        assignment.root,
        place.node,
        lambda unit: memory.state(assignment, unit),
        lambda unit: load_state(assignment.root, unit, assignment.saved.get(unit, {})),
        memory.cpu,
    )
    task = Task(network, assignment.schedule, place, assignment.clocks, assignment.parked, memory.interest(assignment))
    outcome = run_place(
        task, frames, lambda one: memory.runner(assignment.network, one), state_of, memory.cpu, run_families
    )
    states |= herd.states
    segments = _save(assignment, place, states, attempt, herd.rewritten)
    bounds = _keep(assignment, states, segments, memory)
    report = Report(
        place,
        tuple(outcome.samples),
        tuple(outcome.failures),
        segments,
        bounds,
        loaded=memory.loaded - loaded,
        tallies=tuple(herd.tallies),
        parked=tuple(herd.parked),
    )
    return chain(outcome.frames, _results(place, {**outcome.results, **herd.results()})), report


def _keep(
    assignment: Assignment, states: Mapping[str, UnitState], segments: tuple[Segment, ...], memory: Memory
) -> dict[Key, Micros]:
    """Keep live states for the next batch, and return the bounds that have risen."""
    bounds: dict[Key, Micros] = {}
    for operator, state in states.items():
        before = assignment.saved.get(operator, {})
        for part, bound in state.bounds.items():
            if bound != before.get(part, PartState()).bound:
                bounds[operator, part] = bound
        if state.parts or state.bounds:
            after = saved_after(assignment.batch, operator, before, segments, state)
            memory.states[assignment.root, operator] = Kept(after, state, memory.turn)
    return bounds


def _save(
    assignment: Assignment, place: Place, states: Mapping[str, UnitState], attempt: str, rewritten: set[Key]
) -> tuple[Segment, ...]:
    deltas = [
        delta
        for operator, state in states.items()
        for delta in deltas_of(operator, state, assignment.saved.get(operator, {}), assignment.rewritten | rewritten)
    ]
    if not deltas:
        return ()
    fs, path = open_root(assignment.root)
    return write_deltas(fs, join(path, STATE), state_name(assignment.batch, place.node, attempt), deltas)


def _results(place: Place, results: Mapping[str, pl.DataFrame]) -> Iterator[Frame]:
    # A family may run in two hops of one node, if it has read streams that are made there: the hop tells them apart.
    for stream, rows in results.items():
        yield from pack(rows, stream, [Place(DRIVER, place.node)], place.hop * HOPS_APART + place.node, SPILL_BYTES)

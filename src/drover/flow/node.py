"""A node's work in one hop: its operators, in topological order, on the frames that have come.

Rule 1: edges within a place are passed in memory; everything else leaves as frames.
Rule 2: an operator that fails by its own fault (`is_own_fault`) takes nothing in and gives nothing out; the others go
on, and the failure is reported. Whatever else fails, fails the batch, which is repeated: nobody is parked because a
database was down or a disk full.
Rule 3: time is an argument: `cpu` tells how many seconds the process has been busy so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from drover.flow.deal import DRAW, own_rows, ship
from drover.flow.families.interest import Interest
from drover.flow.frames import Edge, Frame, edges, pack, unpack
from drover.flow.instances import JoinInstance, whole_name
from drover.flow.operators import Clock, Runner, UnitState, oldest_epoch
from drover.flow.schedule import Place, Schedule
from drover.network.model import Network
from drover.network.operators import Operator, UserDefined
from drover.network.types import polars_type


@dataclass(frozen=True, slots=True)
class Sample:
    """What one operator did in one batch."""

    operator: str
    node: int
    hop: int
    rows_in: int
    rows_out: int
    busy: float  # CPU seconds
    state_bytes: int
    edges: tuple[Edge, ...]  # what it sent to other places
    instance: int = 0  # of a join that is spread
    oldest: int | None = None  # of an instance: the least epoch of any row that it keeps


@dataclass(frozen=True, slots=True)
class Failure:
    """An operator that could not do its work, and why."""

    operator: str
    reason: str


@dataclass(slots=True)
class Outcome:
    """What a place gives in one batch: frames for later hops, rows that leave the network, samples and failures."""

    frames: list[Frame] = field(default_factory=list)
    results: dict[str, pl.DataFrame] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Task:
    """One place of one batch: everything a node needs to know besides frames and state."""

    network: Network
    schedule: Schedule
    place: Place
    clocks: Mapping[str, Clock]  # by operator
    parked: frozenset[str] = frozenset()  # operators that failed in an earlier batch and are not run again
    interest: Interest | None = None  # of families, if there are any


def run_place(
    task: Task,
    frames: Iterable[Frame],
    runners: Callable[[Operator], Runner],
    states: Callable[[Operator], UnitState],
    cpu: Callable[[], float],
    families: Callable[[Mapping[str, pl.DataFrame]], None] | None = None,
) -> Outcome:
    """Run the operators of a place on its frames; `families` are run on the streams that are there then."""
    outcome = Outcome()
    arrived = []
    for frame in frames:
        if frame.hop == task.place.hop:
            arrived.append(frame)
        else:
            outcome.frames.append(frame)  # on its way to a later hop of this node
    streams = unpack(arrived)
    for operator in task.schedule.runs.get(task.place, ()):
        if whole_name(operator) in task.parked:
            made = _nothing(task, operator)
        else:
            made = _run_one(task, operator, streams, runners, states, cpu, outcome)
        streams |= made
    if families is not None:
        families(streams)
    return outcome


def is_own_fault(operator: Operator, error: Exception) -> bool:
    """Return whether the operator would fail again on the same rows, wherever it runs, and must not stop the others.

    A user's function may raise anything. An expression never fails on a row; should one that drover got wrong, Polars
    says so, and repeating the batch would not help. A table's operators have no expressions: their trouble is the
    database's.
    """
    if isinstance(operator, UserDefined):
        return True
    return operator.table is None and isinstance(error, pl.exceptions.PolarsError)


def _run_one(
    task: Task,
    operator: Operator,
    streams: Mapping[str, pl.DataFrame],
    runners: Callable[[Operator], Runner],
    states: Callable[[Operator], UnitState],
    cpu: Callable[[], float],
    outcome: Outcome,
) -> dict[str, pl.DataFrame]:
    """Run one operator, note what it did, and return its streams."""
    inputs = {name: streams[name] if name in streams else _empty_input(task, name) for name in operator.inputs}
    started = cpu()
    if isinstance(operator, JoinInstance):
        inputs = own_rows(operator, inputs)
    state = states(operator)
    try:
        made = runners(operator).run(inputs, state, task.clocks[whole_name(operator)])
    except Exception as error:
        if not is_own_fault(operator, error):
            raise
        outcome.failures.append(Failure(whole_name(operator), f"{type(error).__name__}: {error}"))
        state.restore()
        made = _nothing(task, operator)
    shipped, local = _ship(task, operator, made, outcome)
    outcome.samples.append(
        Sample(
            whole_name(operator),
            task.place.node,
            task.place.hop,
            sum(frame.height for frame in inputs.values()),
            sum(frame.height for frame in made.values()),
            cpu() - started,
            state.bytes(),
            edges(shipped),
            operator.number if isinstance(operator, JoinInstance) else 0,
            oldest_epoch(state) if isinstance(operator, JoinInstance) else None,
        )
    )
    return made | local


def _ship(
    task: Task, operator: Operator, made: Mapping[str, pl.DataFrame], outcome: Outcome
) -> tuple[list[Frame], dict[str, pl.DataFrame]]:
    """Add the frames and results that an operator's rows become; return the frames, and what is dealt to this place."""
    shipped: list[Frame] = []
    local: dict[str, pl.DataFrame] = {}
    # The serial numbers of one origin must differ per port only: of all others the node is origin enough.
    origin = operator.number if isinstance(operator, JoinInstance) else task.place.node
    for stream, rows in made.items():
        if not rows.height:
            continue
        if stream in task.network.outputs:
            before = outcome.results.get(stream)  # of another instance
            outcome.results[stream] = rows if before is None else pl.concat([before, rows])
        frames, dealt = ship(task.schedule, stream, rows, origin, task.place)
        shipped += frames
        shipped += ship_to_families(rows, stream, task.schedule, task.interest, origin)
        local |= dealt
    outcome.frames += shipped
    return shipped, local


def _empty_input(task: Task, name: str) -> pl.DataFrame:
    """Return no rows of a stream, or of what is dealt of it to an instance."""
    stream, dealt, _ = name.partition(":")
    empty = _empty(task.network, stream)
    return empty.with_columns(pl.lit(0, dtype=pl.UInt32).alias(DRAW)) if dealt else empty


def ship_to_families(
    rows: pl.DataFrame, stream: str, schedule: Schedule, interest: Interest | None, origin: int
) -> Iterator[Frame]:
    """Yield the frames of a stream for places where only families read it: what is of use to them."""
    if interest is not None:
        for place in schedule.wanted.get(stream, ()):
            mine = interest.of(stream, place.node, rows)
            if mine.height:
                yield from pack(mine, stream, [place], origin)


def _empty(network: Network, stream: str) -> pl.DataFrame:
    return pl.DataFrame(schema={name: polars_type(kind) for name, kind in network.streams[stream].types.items()})


def _nothing(task: Task, operator: Operator) -> dict[str, pl.DataFrame]:
    return {stream: _empty(task.network, stream) for stream in operator.outputs}

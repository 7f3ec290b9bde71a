"""A node's work in one hop: its operators, in topological order, on the frames that have arrived.

Rule 1: rows stay in memory between operators of one place. All other rows leave as frames.
Rule 2: an operator that fails by its own fault (`is_own_fault`) reads nothing and emits nothing. The other operators
continue, and the driver learns of the failure. Any other error fails the batch, and Spark runs it again. So a database
that is down or a full disk parks no operator.
Rule 3: a parked operator emits nothing. If `parking` says so, it holds its input in its state.
Rule 4: time is an argument: `cpu` returns the CPU seconds that the process has used so far. What aggregates do together
is divided among them (`shared_panes`). An operator that waits is busy, too: it occupies its node.
Rule 5: the streamed operators of a pipelined batch have run before, piece by piece. The others find all of their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import polars as pl

from drover.flow.breadcrumbs import Mark
from drover.flow.distribute import DRAW, own_rows, ship
from drover.flow.families.interest import Interest
from drover.flow.frames import FRAME_BYTES, Edge, Frame, FrameKind, FramePort, edges, pack, stream_port, unpack
from drover.flow.held import HELD, MissingColumnsError, hold_inputs, work_off
from drover.flow.instances import JoinInstance, whole_name
from drover.flow.late_rows import StateFacts, late_rows, state_facts
from drover.flow.operators import EXPRESSION_ERRORS, Runner, UnitState, Watermarks, oldest_epoch
from drover.flow.operators.calls import FunctionFailedError, describe
from drover.flow.parking import HeldInput, Parking
from drover.flow.schedule import HopNode, Schedule
from drover.flow.shared_panes import SharedPanes, share_panes
from drover.load.sample import Sample
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.types import polars_type


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """What one operator, or one instance of a spread join, did in one batch, and where."""

    sample: Sample
    place: HopNode
    edges: tuple[Edge, ...] = ()  # what it sent to other places
    instance: int = 0  # number of the instance of a spread join
    oldest: int | None = None  # of an instance: the least epoch of any row that it holds
    state: StateFacts | None = None  # None for an operator without state
    pieces: int = 1  # in which it got its rows


@dataclass(frozen=True, slots=True)
class Failure:
    """An operator that failed by its own fault, and the reason."""

    operator: str
    reason: str


@dataclass(slots=True)
class NodeOutput:
    """What a place emits in one batch: frames for later hops, rows of outputs, facts and failures."""

    frames: list[Frame] = field(default_factory=list)
    results: dict[str, pl.DataFrame] = field(default_factory=dict)
    operators: list[OperatorFacts] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    held: list[HeldInput] = field(default_factory=list)
    late: list[pl.DataFrame] = field(default_factory=list)  # rows that came too late, if the run has a sink for them


@dataclass(frozen=True, slots=True)
class StreamedPart:
    """What the streamed operators of a place have done before the others run, in pieces of the batch."""

    rows: Mapping[FramePort, pl.DataFrame] = field(default_factory=dict)  # complete, where anything else needs them
    facts: Mapping[str, OperatorFacts] = field(default_factory=dict)  # by operator
    frames: tuple[Frame, ...] = ()  # that came with pieces, for the others
    busy: float = 0.0  # CPU seconds of all pieces
    seconds: float = 0.0  # wall-clock seconds of all pieces


NOTHING_STREAMED: Final = StreamedPart()


@dataclass(frozen=True, slots=True)
class Task:
    """One place of one batch: everything that a node needs besides frames and state."""

    network: Network
    schedule: Schedule
    place: HopNode
    watermarks: Mapping[str, Watermarks]  # by operator
    parking: Parking = field(default_factory=Parking)
    interest: Interest | None = None  # the rows that families need; None without families
    batch: int = 0
    keeps_late: bool = False  # whether the run has a sink for late rows
    frame_bytes: int = FRAME_BYTES  # of the frames that leave
    streamed: StreamedPart = NOTHING_STREAMED


def run_place(
    task: Task,
    frames: Iterable[Frame],
    runners: Callable[[Operator], Runner],
    states: Callable[[Operator], UnitState],
    cpu: Callable[[], float],
    families: Callable[[Mapping[str, pl.DataFrame]], None] | None = None,
    mark: Mark = lambda _kind, _name: None,
) -> NodeOutput:
    """Run the operators of a place on its frames, then `families` on all streams of the place.

    `mark` is told what runs next.
    """
    streamed = task.streamed
    outcome = NodeOutput()
    arrived = []
    for frame in chain(streamed.frames, frames):
        if frame.hop == task.place.hop:
            arrived.append(frame)
        else:
            outcome.frames.append(frame)  # for a later hop of this node, or for the driver
    rows = {**unpack(arrived), **streamed.rows}
    operators = task.schedule.runs.get(task.place, ())
    # One that works off what it holds runs on other rows first.
    absent = task.parking.names | task.parking.working_off
    shared = share_panes((one for one in operators if whole_name(one) not in absent), runners, cpu)
    for operator in operators:
        if operator.name in streamed.facts:
            outcome.operators.append(streamed.facts[operator.name])
            _add_results(task.network, operator, streamed.rows, outcome)
        elif whole_name(operator) in task.parking.parked:
            _hold_one(task, operator, rows, states, outcome)
            rows |= {stream_port(stream): made for stream, made in _nothing(task, operator).items()}
        else:
            mark("operator", whole_name(operator))
            rows |= _run_one(task, operator, rows, shared, states, outcome)
    if families is not None:
        families({port.stream: found for port, found in rows.items() if port.kind is FrameKind.ROWS})
    return outcome


def run_piece(
    task: Task,
    operators: Iterable[Operator],
    rows: Mapping[FramePort, pl.DataFrame],
    runners: Callable[[Operator], Runner],
    cpu: Callable[[], float],
    mark: Mark,
) -> tuple[NodeOutput, dict[FramePort, pl.DataFrame]]:
    """Run streamed operators of a place on a piece of the rows; return what leaves, and the rows of all streams.

    It ends with the first operator that fails.
    """
    outcome = NodeOutput()
    found = dict(rows)
    alone = share_panes((), runners, cpu)
    for operator in operators:
        mark("operator", operator.name)
        found |= _run_one(task, operator, found, alone, lambda _: UnitState(), outcome)
        if outcome.failures:
            break
    return outcome, found


def _add_results(
    network: Network, operator: Operator, rows: Mapping[FramePort, pl.DataFrame], outcome: NodeOutput
) -> None:
    """Add the complete rows of a streamed operator to the results."""
    for stream in operator.outputs:
        if stream in network.outputs and (found := rows[stream_port(stream)]).height:
            outcome.results[stream] = found


def _hold_one(
    task: Task,
    operator: Operator,
    rows: Mapping[FramePort, pl.DataFrame],
    states: Callable[[Operator], UnitState],
    outcome: NodeOutput,
) -> None:
    """Keep the input of a parked operator in its state, if it holds its input; drop what it need not hold any more."""
    if operator.name in task.parking.discarded:
        states(operator).evict(HELD, task.batch)
    if operator.name in task.parking.holding:
        inputs = _inputs(task.network, operator, rows)
        held = hold_inputs(states(operator), task.batch, inputs, task.watermarks[operator.name])
        outcome.held.append(HeldInput(operator.name, *held))


def is_own_fault(operator: Operator, error: BaseException) -> bool:
    """Return whether the operator would fail again on the same rows, on any node, so that only it must stop.

    A user's function may raise anything. An expression never fails on a row; if drover compiled one wrongly, Polars
    raises an error, and running the batch again would not help. Operators on tables have no expressions: when they
    fail, the database is the cause. Rows that an operator holds may lack a column.
    """
    if operator.calls_user_code or isinstance(error, MissingColumnsError):
        return True
    return operator.table is None and isinstance(error, EXPRESSION_ERRORS)


def _run_one(
    task: Task,
    operator: Operator,
    rows: Mapping[FramePort, pl.DataFrame],
    shared: SharedPanes,
    states: Callable[[Operator], UnitState],
    outcome: NodeOutput,
) -> dict[FramePort, pl.DataFrame]:
    """Run one operator, note what it did, and return the rows that it leaves at this place."""
    inputs = _inputs(task.network, operator, rows)
    # All that follows is the operator's own work: an instance picks its rows, and rows that leave are encoded.
    started = shared.cpu()
    if isinstance(operator, JoinInstance):
        inputs = own_rows(operator, inputs)
    state = states(operator)
    try:
        runner = shared.runner(operator)
        if operator.name in task.parking.working_off:
            needed = task.schedule.resumed.get(operator.name, {})
            runner = work_off(operator, runner, task.batch, needed)
        made = runner.run(inputs, state, task.watermarks[whole_name(operator)])
    except (Exception, *EXPRESSION_ERRORS) as error:
        if not is_own_fault(operator, error):
            raise
        outcome.failures.append(Failure(whole_name(operator), _reason(error)))
        # The runner may have changed the state before it raised.
        state.restore()
        made = _nothing(task, operator)
    shipped, local = _ship(task, operator, made, outcome)
    sample = Sample(
        whole_name(operator),
        _counted(operator, inputs),
        {stream: found.height for stream, found in made.items()},
        shared.cpu() - started + shared.owed(whole_name(operator)) + state.waited,
        state.bytes(),
        state.waited,
    )
    number, oldest = (operator.number, oldest_epoch(state)) if isinstance(operator, JoinInstance) else (0, None)
    kept = state_facts(state) if operator.holds_state else None
    outcome.operators.append(OperatorFacts(sample, task.place, edges(shipped), number, oldest, kept))
    if task.keeps_late and state.late:
        clock = task.watermarks[whole_name(operator)]
        outcome.late.append(late_rows(task.network, whole_name(operator), state, clock))
    return {stream_port(stream): found for stream, found in made.items()} | local


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, FunctionFailedError) else describe(error)


def _inputs(network: Network, operator: Operator, rows: Mapping[FramePort, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the rows that an operator reads, by input; an input without rows is an empty frame."""
    if not isinstance(operator, JoinInstance):
        return {name: _rows_at(stream_port(name), network, rows) for name in operator.inputs}
    return {port.reader: _rows_at(port, network, rows) for port in operator.ports}


def _rows_at(port: FramePort, network: Network, rows: Mapping[FramePort, pl.DataFrame]) -> pl.DataFrame:
    if port in rows:
        return rows[port]
    empty = _empty(network, port.stream)
    if port.kind is FrameKind.JOIN_ROWS:
        return empty.with_columns(pl.lit(0, dtype=pl.UInt32).alias(DRAW))
    return empty


def _counted(operator: Operator, inputs: Mapping[str, pl.DataFrame]) -> dict[str, float]:
    """Return how many rows of each stream an operator has read."""
    if not isinstance(operator, JoinInstance):
        return {stream: found.height for stream, found in inputs.items()}
    counts: dict[str, float] = {}
    for port in operator.ports:  # two ports may carry the same stream
        counts[port.stream] = counts.get(port.stream, 0) + inputs[port.reader].height
    return counts


def _ship(
    task: Task, operator: Operator, made: Mapping[str, pl.DataFrame], outcome: NodeOutput
) -> tuple[list[Frame], dict[FramePort, pl.DataFrame]]:
    """Add an operator's rows to the frames and results; return these frames, and the rows for instances at this place.

    Instances of one join share ports, so each needs an origin of its own. For other operators, the node is enough.
    """
    shipped: list[Frame] = []
    local: dict[FramePort, pl.DataFrame] = {}
    origin = operator.number if isinstance(operator, JoinInstance) else task.place.node
    for stream, rows in made.items():
        if not rows.height:
            continue
        if stream in task.network.outputs:
            before = outcome.results.get(stream)  # of another instance
            outcome.results[stream] = rows if before is None else pl.concat([before, rows])
        frames, dealt = ship(task.schedule, stream, rows, origin, task.place, task.frame_bytes)
        shipped += frames
        shipped += ship_to_families(rows, stream, task.schedule, task.interest, origin)
        local |= dealt
    outcome.frames += shipped
    return shipped, local


def ship_to_families(
    rows: pl.DataFrame, stream: str, schedule: Schedule, interest: Interest | None, origin: int
) -> Iterator[Frame]:
    """Yield frames for the places where only families read the stream, with just what they need of it."""
    if interest is not None:
        port = stream_port(stream)
        for place in schedule.wanted.get(stream, ()):
            mine = interest.of(stream, place.node, rows, schedule.columns.get((port, place)))
            if mine.height:
                yield from pack(mine, port, [place], origin)


def _empty(network: Network, stream: str) -> pl.DataFrame:
    return pl.DataFrame(schema={name: polars_type(kind) for name, kind in network.streams[stream].types.items()})


def _nothing(task: Task, operator: Operator) -> dict[str, pl.DataFrame]:
    return {stream: _empty(task.network, stream) for stream in operator.outputs}

"""Pruning: which columns of a stream travel to a place, and which columns of a source are read at all.

Rule 1: a place gets the columns that its operators, its families, and the readers of what these make, need. It gets no
others.
Rule 2: an operator that drops late rows for a sink, or holds its input, gets all columns that the run reads.
Rule 3: everything here follows from the batch: its plan, its queries and its parking. So all tasks of a batch, and
every replay of it, prune alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from drover.flow.distribute import DRAW
from drover.flow.frames import FramePort, stream_port
from drover.flow.instances import JoinInstance, port_of
from drover.flow.parking import Parking
from drover.flow.schedule import HopNode, Schedule
from drover.network.column_needs import ColumnNeeds, Columns, needed_columns
from drover.network.model import Network, late_streams
from drover.network.operators import Join
from drover.network.schema import Schema

FamilyColumns = Mapping[str, Mapping[str, Columns]]  # by family and stream


@dataclass(slots=True)
class ColumnPruner:
    """Prunes the schedules of one run; what it found out is kept from batch to batch."""

    network: Network
    keeps_late: bool = False  # whether the run has a sink for late rows
    _needs: dict[tuple[frozenset[tuple[str, Columns]], frozenset[str]], ColumnNeeds] = field(default_factory=dict)
    _last: tuple[Schedule, ColumnNeeds, frozenset[str], Schedule] | None = None

    def prune(self, schedule: Schedule, parking: Parking, families: FamilyColumns) -> Schedule:
        """Return the schedule of a batch with the columns that travel; `families` has those that queries need."""
        queries = _read_by_queries(schedule, families)
        needs = self._needed(queries, parking.holding)
        last = self._last
        if last is None or last[0] is not schedule or last[1] is not needs or last[2] != parking.working_off:
            whole = _travelling_whole(self.network, schedule, needs, families)
            columns = {**whole, **_travelling_dealt(self.network, schedule, needs)}
            resumed = {name: _inputs(self.network, needs, name) for name in sorted(parking.working_off)}
            last = (schedule, needs, parking.working_off, replace(schedule, columns=columns, resumed=resumed))
            self._last = last
        return last[3]

    def source_columns(self) -> dict[str, tuple[str, ...]]:
        """Return the columns of each source that a run needs if no queries read its streams."""
        needs = self._needed({}, frozenset())
        return {
            source.name: in_order(source.schema, {source.time, *needs.streams[source.name]})
            for source in self.network.sources
        }

    def _needed(self, queries: Mapping[str, Columns], holding: frozenset[str]) -> ColumnNeeds:
        key = (frozenset(queries.items()), holding)
        if key not in self._needs:
            self._needs.clear()  # one is enough: queries and parked operators change rarely
            whole = holding | (self._drops_late() if self.keeps_late else frozenset())
            self._needs[key] = needed_columns(self.network, queries, whole)
        return self._needs[key]

    def _drops_late(self) -> frozenset[str]:
        """Return the operators that may drop late rows."""
        late = late_streams(self.network)
        stateful = (operator for operator in self.network.operators if operator.holds_state)
        return frozenset(operator.name for operator in stateful if late.intersection(operator.inputs))


def in_order(schema: Schema, columns: Iterable[str | None]) -> tuple[str, ...]:
    """Return these columns in the order of a schema."""
    chosen = frozenset(columns)
    return tuple(name for name in schema.names if name in chosen)


def _read_by_queries(schedule: Schedule, families: FamilyColumns) -> dict[str, Columns]:
    """Return the columns of each stream that any family of the batch needs."""
    found: dict[str, Columns] = {}
    for family in dict.fromkeys(name for names in schedule.herds.values() for name in names):
        for stream, columns in families[family].items():
            found[stream] = found.get(stream, frozenset()) | columns
    return found


def _travelling_whole(
    network: Network, schedule: Schedule, needs: ColumnNeeds, families: FamilyColumns
) -> dict[tuple[FramePort, HopNode], tuple[str, ...]]:
    """Return the columns that travel of streams whose rows are not dealt out."""
    return {
        (stream_port(stream), place): in_order(network.streams[stream], columns)
        for (stream, place), columns in _read_at_places(schedule, needs, families).items()
        if place in (*schedule.routes.get(stream, ()), *schedule.wanted.get(stream, ()))
        and len(columns) < len(network.streams[stream].columns)
    }


def _travelling_dealt(
    network: Network, schedule: Schedule, needs: ColumnNeeds
) -> dict[tuple[FramePort, HopNode], tuple[str, ...]]:
    """Return the columns that travel to the instances of spread joins, with the draws of their rows."""
    sides = ((one, side) for one in network.operators if isinstance(one, Join) for side in range(len(one.inputs)))
    reads = {port_of(join, side): needs.inputs[join.name][side] for join, side in sides}
    return {
        (rule.port, place): (*in_order(network.streams[stream], reads[rule.port]), DRAW)
        for stream, rules in schedule.distributions.items()
        for rule in rules
        if len(reads[rule.port]) < len(network.streams[stream].columns)
        for place in rule.places
    }


def _read_at_places(
    schedule: Schedule, needs: ColumnNeeds, families: FamilyColumns
) -> dict[tuple[str, HopNode], Columns]:
    """Return the columns of each stream that operators and families at a place need."""
    found: dict[tuple[str, HopNode], Columns] = {}
    for place, operators in schedule.runs.items():
        for operator in operators:
            if not isinstance(operator, JoinInstance):  # its rows come on ports of their own
                for stream, columns in zip(operator.inputs, needs.inputs[operator.name], strict=True):
                    found[stream, place] = found.get((stream, place), frozenset()) | columns
    for place, names in schedule.herds.items():
        for name in names:
            for stream, columns in families[name].items():
                found[stream, place] = found.get((stream, place), frozenset()) | columns
    return found


def _inputs(network: Network, needs: ColumnNeeds, name: str) -> dict[str, tuple[str, ...]]:
    """Return the columns that an operator needs of each of its inputs."""
    inputs = network.operator(name).inputs
    return {stream: in_order(network.streams[stream], needs.read_by(name, inputs, stream)) for stream in inputs}

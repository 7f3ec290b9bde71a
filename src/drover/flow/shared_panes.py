"""Shared panes: the aggregates of one place that read one stream make the panes of a batch together.

Rule 1: only work within a batch is shared. Each aggregate keeps its own panes in its own state, drops late rows by its
own watermark, and may move alone.
Rule 2: sharing never shows in results (rule 2 of `operators.panes`), so nothing depends on who shares with whom.
Rule 3: if a table cannot be made, each aggregate makes its own. So only the one whose expression fails is parked.
Rule 4: the first aggregate of a stream makes the tables for all. What they cost is divided by `divide_costs`, so the
busy seconds of aggregates say what each costs in this company. Alone, on another node, it may cost more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from drover.flow.operators import EXPRESSION_ERRORS, Frames, Runner, UnitState, Watermarks
from drover.flow.operators.aggregate import RunAggregate
from drover.flow.operators.panes import PaneKey, PaneTable, divide_costs, make_tables, plan_tables
from drover.network.operators import Aggregate, Operator

Runners = Callable[[Operator], Runner]


@dataclass(slots=True)
class _StreamPanes:
    """The tables of one stream in one batch; None if they could not be made."""

    rows: pl.DataFrame
    tables: Mapping[PaneKey, PaneTable] | None


@dataclass(slots=True)
class SharedPanes:
    """The pane tables of one place in one batch, made when they are first needed."""

    readers: Mapping[str, list[Aggregate]]  # those that share, by stream
    names: frozenset[str]  # of all of them
    runners: Runners
    cpu: Callable[[], float]
    _made: dict[str, _StreamPanes] = field(default_factory=dict)
    _owed: dict[str, float] = field(default_factory=dict)

    def runner(self, operator: Operator) -> Runner:
        """Return the runner of an operator; one that shares panes takes them from here."""
        own = self.runners(operator)
        return _SharesPanes(own, self) if operator.name in self.names and isinstance(own, RunAggregate) else own

    def owed(self, operator: str) -> float:
        """Return the CPU seconds that an operator owes to others for panes; below 0 if it has paid for them."""
        return self._owed.get(operator, 0.0)

    def tables(self, runner: RunAggregate, rows: pl.DataFrame) -> Mapping[PaneKey, pl.DataFrame] | None:
        """Return the pane tables of these rows for an aggregate; None if it has to make its own."""
        stream = runner.operator.input
        if stream not in self._made:
            self._made[stream] = _StreamPanes(rows, self._make(runner, rows))
        made = self._made[stream]
        if made.tables is None or made.rows is not rows:
            return None
        return {one.key: made.tables[one.key].panes for one in runner.all_needs}

    def _make(self, first: RunAggregate, rows: pl.DataFrame) -> Mapping[PaneKey, PaneTable] | None:
        try:
            found = {one.name: self.runners(one) for one in self.readers[first.operator.input]}
            sharing = {name: one for name, one in found.items() if isinstance(one, RunAggregate)}
            needed = [needs for one in sharing.values() for needs in one.all_needs]
            tables = make_tables(rows, first.time, plan_tables(needed), self.cpu)
        except EXPRESSION_ERRORS:
            return None
        users = {name: [needs.key for needs in one.all_needs] for name, one in sharing.items()}
        self._owed |= divide_costs(tables, users)
        self._owed[first.operator.name] -= sum(table.busy for table in tables.values())
        return tables


def share_panes(operators: Iterable[Operator], runners: Runners, cpu: Callable[[], float]) -> SharedPanes:
    """Return the shared panes of operators that run at one place on the rows of one batch."""
    readers: dict[str, list[Aggregate]] = {}
    for operator in operators:
        if isinstance(operator, Aggregate):
            readers.setdefault(operator.input, []).append(operator)
    several = {stream: found for stream, found in readers.items() if len(found) > 1}
    return SharedPanes(several, frozenset(one.name for found in several.values() for one in found), runners, cpu)


@dataclass(frozen=True, slots=True)
class _SharesPanes:
    """Runs an aggregate on shared panes."""

    runner: RunAggregate
    shared: SharedPanes

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return what the aggregate would give by itself."""
        rows = inputs[self.runner.operator.input]
        tables = self.shared.tables(self.runner, rows) if rows.height else None
        if tables is None:
            return self.runner.run(inputs, state, clock)
        return self.runner.run_on(rows, tables, state, clock)

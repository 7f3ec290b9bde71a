"""The families of a place in a batch: their state, results, cost, and the members to park.

Rule 1: if an expression fails, only the members at fault fail, not the family. Any other error fails the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa

from drover.flow.breadcrumbs import Mark
from drover.flow.families.assignment import FamilyAssignment, MemberCounts, ParkedMember
from drover.flow.families.failing_members import failing_members
from drover.flow.families.family_cache import FamilyCache
from drover.flow.families.fan_out import Memo
from drover.flow.families.local_members import Ints, LocalMembers
from drover.flow.families.members import MEMBER
from drover.flow.families.moves import add_arrived, remove_departed, state_sizes, unit_name
from drover.flow.families.run import FamilyOutput, RunFamily, Streams, with_names
from drover.flow.families.topics import count_topics
from drover.flow.operators import EXPRESSION_ERRORS, UnitState, Watermarks
from drover.flow.operators.calls import describe
from drover.flow.state.segments import Key


class FamilyRunner:
    """Runs families at a place, one after the other, and collects their results, states and costs.

    `live` returns the state of a unit that the batch starts from; `saved` loads the state of any unit from the
    checkpoint.
    """

    def __init__(
        self,
        cache: FamilyCache,
        root: str,
        node: int,
        live: Callable[[str], UnitState],
        saved: Callable[[str], UnitState],
        cpu: Callable[[], float],
    ) -> None:
        self.cache = cache
        self.root = root
        self.node = node
        self.live = live
        self.saved = saved
        self.cpu = cpu
        self.mark: Mark = lambda _kind, _name: None  # is told which family runs next
        self.states: dict[str, UnitState] = {}
        self.rewritten: set[Key] = set()
        self.tallies: list[MemberCounts] = []
        self.parked: list[ParkedMember] = []
        self._results: dict[str, list[pl.DataFrame]] = {}
        self._memo: Memo = {}

    def results(self) -> dict[str, pl.DataFrame]:
        """Return the rows that go to the driver, by the `table` of their shape.

        Their first column is `query`, the name of the query, followed by the columns of the shape's `schema`.
        """
        return {table: pl.concat(pieces) for table, pieces in self._results.items()}

    def run(self, assignment: FamilyAssignment, families: Iterable[str], streams: Streams) -> None:
        """Run families on the streams of the place."""
        for family in families:
            started = self.cpu()
            self.mark("family", family)
            runner = self.cache.family(assignment, family)
            local = self.cache.local_members(self.root, assignment, family, self.node)
            if assignment.without:
                local = local.take(np.flatnonzero(~np.isin(local.numbers, list(assignment.without))))
            units = [unit_name(family, step.operator.name, self.node) for step in runner.shape.steps]
            states = [
                self.live(unit) if step.operator.holds_state else UnitState()
                for unit, step in zip(units, runner.shape.steps, strict=True)
            ]
            sources = assignment.arrivals.get((family, self.node), ())
            local, output = self._run_one(runner, local, streams, states, sources, assignment.watermarks[family])
            self.states |= {
                unit: state
                for unit, state, step in zip(units, states, runner.shape.steps, strict=True)
                if step.operator.holds_state
            }
            if output.rows.height:
                self._results.setdefault(runner.shape.table, []).append(with_names(output, local))
            busy = self.cpu() - started
            counts = _tally(family, self.node, local, output, states, busy, by_member=assignment.measured)
            topics = count_topics(runner.shape, streams, local, self._memo) if assignment.measured else ()
            self.tallies.append(replace(counts, topics=topics))

    def _run_one(
        self,
        runner: RunFamily,
        local: LocalMembers,
        streams: Streams,
        states: list[UnitState],
        sources: tuple[int, ...],
        watermarks: tuple[Watermarks, ...],
    ) -> tuple[LocalMembers, FamilyOutput]:
        """Run a family without the members that fail; return the members that ran, and their output."""
        self._prepare(runner, local, states, sources)
        try:
            return local, runner.run(streams, local, states, watermarks, self._memo)
        except EXPRESSION_ERRORS:
            # The run may have changed some states before it failed.
            for state in states:
                state.restore()
        self._prepare(runner, local, states, sources)

        # Trials run on copies, so that one trial does not see the rows of another.
        def try_members(positions: Ints) -> str | None:
            some = local.take(positions)
            copies = [UnitState(dict(state.parts), dict(state.bounds)) for state in states]
            for copy in copies:
                list(remove_departed(copy, some))
            try:
                runner.run(streams, some, copies, watermarks)
            except EXPRESSION_ERRORS as error:
                return describe(error)
            return None

        failed = failing_members(len(local), try_members)
        self.parked += (
            ParkedMember(runner.shape.id, int(local.numbers[position]), reason) for position, reason in failed.items()
        )
        others = local.take(np.setdiff1d(np.arange(len(local)), np.array(list(failed), dtype=np.int64)))
        self._prepare(runner, others, states, ())
        return others, runner.run(streams, others, states, watermarks)

    def _prepare(
        self, runner: RunFamily, local: LocalMembers, states: list[UnitState], sources: tuple[int, ...]
    ) -> None:
        """Remove the rows of members that have left the node, and add those of members that arrive."""
        for step, state in zip(runner.shape.steps, states, strict=True):
            if step.operator.holds_state:
                unit = unit_name(runner.shape.id, step.operator.name, self.node)
                self.rewritten |= {(unit, part) for part in remove_departed(state, local)}
                for node in sources:
                    other = self.saved(unit_name(runner.shape.id, step.operator.name, node))
                    add_arrived(state, other, local)


def _tally(
    family: str,
    node: int,
    local: LocalMembers,
    output: FamilyOutput,
    states: list[UnitState],
    busy: float,
    *,
    by_member: bool,
) -> MemberCounts:
    size = sum(state.bytes() for state in states)
    table = None
    if by_member:
        state_rows = np.zeros(len(local), np.int64)
        state_bytes = np.zeros(len(local), np.int64)
        for state in states:
            rows, sizes = state_sizes(state, local)
            state_rows += rows
            state_bytes += sizes
        # One more than its rows, because a member costs time even without rows.
        weights = output.rows_in + 1
        columns = {
            MEMBER: local.numbers,
            "rows_in": output.rows_in,
            "rows_out": np.bincount(output.positions, minlength=len(local)),
            "state_rows": state_rows,
            "state_bytes": state_bytes,
            "busy": busy * weights / max(weights.sum(), 1),
        }
        table = pa.table({name: pa.array(column) for name, column in columns.items()})
    return MemberCounts(family, node, int(output.rows_in.sum()), output.rows.height, size, busy, table, output.late)

"""A family in a batch: its steps one after the other, on rows with a member column.

Rule 1: common steps run once. All others run on slices of members, so that memory is bounded.
Rule 2: windows close with the last slice, when all rows are in. For earlier slices, the watermark does not advance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from drover.flow.families.fan_out import MOST_PAIRS, GroupedRows, Memo, group_rows, member_slices
from drover.flow.families.local_members import Ints, LocalMembers
from drover.flow.families.members import QUERY
from drover.flow.families.shared_aggregates import Sharing, find_shared
from drover.flow.operators import CompileContext, Runner, UnitState, Watermarks, make_runner
from drover.flow.operators.aggregate import RunAggregate
from drover.flow.operators.base import Spend
from drover.network.queries.shape import Shape, ShapeStep
from drover.network.types import polars_type

Streams = Mapping[str, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class FamilyOutput:
    """The results of a family with the positions of their members, and the number of input rows of each member."""

    rows: pl.DataFrame  # without the member column
    positions: Ints  # (rows,)
    rows_in: Ints  # (n,)
    late: int = 0  # rows that came too late, counted for each member


class RunFamily:
    """The compiled form of a shape; without `sharing`, aggregates are computed member by member."""

    def __init__(self, shape: Shape, spend: Spend, *, sharing: bool = True) -> None:
        self.shape = shape
        self.runners: list[Runner] = [
            make_runner(step.operator, CompileContext(step.network, spend, step.late)) for step in shape.steps
        ]
        self.shared = find_shared(shape, self.runners) if sharing else ()
        self.no_rows = {
            one.aggregate: {
                source.name: pl.DataFrame(
                    schema={name: polars_type(kind) for name, kind in source.schema.types.items()}
                )
                for source in shape.steps[one.aggregate].network.sources
            }
            for one in self.shared
        }
        self.output = {name: polars_type(kind) for name, kind in shape.schema.types.items()}
        self.no_results = pl.DataFrame(schema=self.output)
        self.reads = {
            read.stream: pl.DataFrame(schema={n: polars_type(kind) for n, kind in read.schema.types.items()})
            for read in shape.query.reads
        }

    def run(
        self,
        streams: Streams,
        local: LocalMembers,
        states: Sequence[UnitState],
        watermarks: Sequence[Watermarks],
        memo: Memo | None = None,
        most: int = MOST_PAIRS,
    ) -> FamilyOutput:
        """Run all steps; `streams` has the rows of the batch, `states` and `watermarks` are by step.

        Families with the same `memo` share their work on the same rows.
        """
        memo = {} if memo is None else memo
        sharing = Sharing(self.shared).among(self.shape, local)
        skipped = sharing.skipped
        common = {stream: streams.get(stream, empty) for stream, empty in self.reads.items()}
        grouped: dict[tuple[int, int], GroupedRows] = {}
        rows_in = np.zeros(len(local), np.int64)
        for number, step in enumerate(self.shape.steps):
            if step.is_common:
                common |= self._run_common(number, step, common, states[number], watermarks[number])
            for index, fans_out in enumerate(step.fans_out):
                if fans_out and number not in skipped:
                    grouped[number, index] = group_rows(step, index, common[step.inputs[index]], local, memo)
                    rows_in += grouped[number, index].pairs
        # Slices are cut by these pairs. Shared aggregates add no pairs: they take their rows at once, here, and only
        # emit their windows with the slices.
        pairs = rows_in.copy()
        late = self._take_panes(sharing, common, local, states, watermarks, memo, rows_in)
        pieces = []
        found = []
        for first, last in member_slices(pairs, most):
            still = [replace(watermark, now=None) for watermark in watermarks]
            results = self._run_slice(
                grouped, local, (first, last), states, watermarks if last == len(local) else still, sharing
            )
            if results.height:
                found.append(local.positions(results[self.shape.member].to_numpy()))
                pieces.append(results.select(list(self.output)))
        rows = pl.concat(pieces) if pieces else self.no_results
        positions = np.concatenate(found) if found else np.zeros(0, np.int64)
        late += sum(self._late(step, state, len(local)) for step, state in zip(self.shape.steps, states, strict=True))
        return FamilyOutput(rows, positions, rows_in, late)

    def _take_panes(
        self,
        sharing: Sharing,
        common: Streams,
        local: LocalMembers,
        states: Sequence[UnitState],
        watermarks: Sequence[Watermarks],
        memo: Memo,
        rows_in: Ints,
    ) -> int:
        """Add the rows of shared aggregates to the panes of all members and to `rows_in`; return how many are late."""
        if not sharing.aggregates:
            return 0
        from drover.flow.families.member_panes import update_panes  # noqa: PLC0415 - it loads compiled code

        late = 0
        for one in sharing.aggregates:
            runner = self.runners[one.aggregate]
            state = states[one.aggregate]
            assert isinstance(runner, RunAggregate)
            (stream,) = self.shape.steps[one.reader].inputs
            taken, dropped = update_panes(one, runner, common[stream], local, state, watermarks[one.aggregate], memo)
            rows_in += taken
            late += dropped
        return late

    def _late(self, step: ShapeStep, state: UnitState, members: int) -> int:
        """Return how many rows a step dropped as late; a row of a common step is a row of every member."""
        return sum(rows.height for rows in state.late.values()) * (members if step.is_common else 1)

    def _run_common(
        self, number: int, step: ShapeStep, common: Streams, state: UnitState, watermark: Watermarks
    ) -> dict[str, pl.DataFrame]:
        inputs = {
            source.name: common[stream].select(source.schema.names)
            for source, stream in zip(step.network.sources, step.inputs, strict=True)
        }
        return self.runners[number].run(inputs, state, watermark)

    def _run_slice(
        self,
        grouped: Mapping[tuple[int, int], GroupedRows],
        local: LocalMembers,
        members: tuple[int, int],
        states: Sequence[UnitState],
        watermarks: Sequence[Watermarks],
        sharing: Sharing,
    ) -> pl.DataFrame:
        """Return the results of a slice of members, given by its first position and its end."""
        made: dict[str, pl.DataFrame] = {}  # streams with a member column
        filters, skipped = sharing.filters, sharing.skipped
        for number, step in enumerate(self.shape.steps):
            if step.is_common or number in filters:
                continue
            if number in skipped:  # its rows are in the panes already; this closes windows
                made |= self.runners[number].run(self.no_rows[number], states[number], watermarks[number])
                continue
            inputs = {}
            for index, source in enumerate(step.network.sources):
                own = grouped.get((number, index))
                rows, positions = (made[step.inputs[index]], None) if own is None else own.fan_out(*members)
                inputs[source.name] = self._input_rows(step, index, rows, positions, local)
            if step.rest:
                made |= self.runners[number].run(inputs, states[number], watermarks[number])
            else:  # a filter whose whole condition was matched by keys
                made[step.operator.name] = inputs[step.network.sources[0].name]
        return made[self.shape.output]

    def _input_rows(
        self, step: ShapeStep, index: int, rows: pl.DataFrame, positions: Ints | None, local: LocalMembers
    ) -> pl.DataFrame:
        """Return rows with exactly the columns of an input of a step: its own, the member, and the constants."""
        member = self.shape.member
        columns = {column.name: column for column in rows.get_columns()}
        if positions is not None:
            columns[member] = pl.Series(member, local.numbers[positions])
        if index == 0 and step.constants:
            at = pl.Series(local.positions(columns[member].to_numpy()) if positions is None else positions)
            for constant in step.constants:
                name = f"{self.shape.query.constant}{constant}"
                columns[name] = local.constants[name].gather(at)
        # Putting columns together costs less than asking Polars to select them.
        return pl.DataFrame([columns[name] for name in step.network.sources[index].schema.names])


def with_names(output: FamilyOutput, local: LocalMembers) -> pl.DataFrame:
    """Return the results with the name of their query as the first column."""
    names = local.names.gather(pl.Series(output.positions)).alias(QUERY)
    return output.rows.select(names, pl.all())

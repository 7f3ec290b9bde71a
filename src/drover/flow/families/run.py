"""A family in a batch: its steps one after the other, on rows that carry their member.

Rule 1: what is the same for all members is done once; then members are taken in stretches, so that memory is bounded.
Rule 2: windows close with the last stretch: to those before, no time passes, so that every row is in when they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from drover.flow.families.crew import Crew, Ints
from drover.flow.families.members import QUERY
from drover.flow.families.share import find_shared, share
from drover.flow.families.widen import PIECE, Entry, Memo, enter, stretches
from drover.flow.operators import Clock, Runner, UnitState, Workshop, make_runner
from drover.flow.operators.aggregate import RunAggregate
from drover.flow.operators.stateless import Spend
from drover.network.queries.shape import Shape, Step
from drover.network.types import polars_type

Streams = Mapping[str, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a family gave: results with their members' positions, and how many rows came in for each member."""

    rows: pl.DataFrame  # the output, without member
    positions: Ints  # (rows,)
    rows_in: Ints  # (n,)


class RunFamily:
    """The compiled form of a shape; without `sharing`, all is computed row by row and member by member."""

    def __init__(self, shape: Shape, spend: Spend, *, sharing: bool = True) -> None:
        self.shape = shape
        self.runners: list[Runner] = [
            make_runner(step.operator, Workshop(step.network, spend, step.late)) for step in shape.steps
        ]
        self.shared = find_shared(shape, self.runners) if sharing else ()
        self.filters = {one.filter for one in self.shared if one.filter is not None}
        self.skipped = self.filters | {one.aggregate for one in self.shared}
        self.nothing = {
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
            for read in shape.outline.reads
        }

    def run(
        self,
        streams: Streams,
        crew: Crew,
        states: Sequence[UnitState],
        clocks: Sequence[Clock],
        memo: Memo | None = None,
        most: int = PIECE,
    ) -> Ran:
        """Run all steps; `streams` has the rows of the batch, `states` and `clocks` are by step.

        Families that are given the same `memo` share what they have in common about the same rows.
        """
        memo = {} if memo is None else memo
        plain = {stream: streams.get(stream, empty) for stream, empty in self.reads.items()}
        entries: dict[tuple[int, int], Entry] = {}
        rows_in = np.zeros(len(crew), np.int64)
        for number, step in enumerate(self.shape.steps):
            if step.plain:
                plain |= self._run_plain(number, step, plain, states[number], clocks[number])
            for index, widens in enumerate(step.widens):
                if widens and number not in self.skipped:
                    entries[number, index] = enter(step, index, plain[step.inputs[index]], crew, memo)
                    rows_in += entries[number, index].pairs
        pairs = rows_in.copy()
        for one in self.shared:
            runner, state, clock = self.runners[one.aggregate], states[one.aggregate], clocks[one.aggregate]
            assert isinstance(runner, RunAggregate)
            (stream,) = self.shape.steps[one.aggregate if one.filter is None else one.filter].inputs
            rows_in += share(one, runner, plain[stream], crew, state, clock, memo)
        pieces, found = [], []
        for first, last in stretches(pairs, most):
            ticks = clocks if last == len(crew) else [replace(clock, now=None) for clock in clocks]
            given = self._run_stretch(entries, crew, (first, last), states, ticks)
            if given.height:
                found.append(crew.positions(given[self.shape.member].to_numpy()))
                pieces.append(given.select(list(self.output)))
        rows = pl.concat(pieces) if pieces else self.no_results
        positions = np.concatenate(found) if found else np.zeros(0, np.int64)
        return Ran(rows, positions, rows_in)

    def _run_plain(
        self, number: int, step: Step, plain: Streams, state: UnitState, clock: Clock
    ) -> dict[str, pl.DataFrame]:
        inputs = {
            source.name: plain[stream].select(source.schema.names)
            for source, stream in zip(step.network.sources, step.inputs, strict=True)
        }
        return self.runners[number].run(inputs, state, clock)

    def _run_stretch(
        self,
        entries: Mapping[tuple[int, int], Entry],
        crew: Crew,
        stretch: tuple[int, int],
        states: Sequence[UnitState],
        clocks: Sequence[Clock],
    ) -> pl.DataFrame:
        """Return the rows of the output for a stretch of members."""
        wide: dict[str, pl.DataFrame] = {}
        for number, step in enumerate(self.shape.steps):
            if step.plain or number in self.filters:
                continue
            if number in self.skipped:
                wide |= self.runners[number].run(self.nothing[number], states[number], clocks[number])
                continue
            inputs = {}
            for index, source in enumerate(step.network.sources):
                entry = entries.get((number, index))
                rows, positions = (wide[step.inputs[index]], None) if entry is None else entry.widen(*stretch)
                inputs[source.name] = self._fitted(step, index, rows, positions, crew)
            if step.rest:
                wide |= self.runners[number].run(inputs, states[number], clocks[number])
            else:
                wide[step.operator.name] = inputs[step.network.sources[0].name]
        return wide[self.shape.output]

    def _fitted(self, step: Step, index: int, rows: pl.DataFrame, positions: Ints | None, crew: Crew) -> pl.DataFrame:
        """Return rows with exactly the columns that an input of a step has: its own, the member, the constants."""
        member = self.shape.member
        if positions is not None:
            rows = rows.with_columns(pl.Series(member, crew.numbers[positions]))
        if index == 0 and step.constants:
            if positions is None:
                positions = crew.positions(rows[member].to_numpy())
            names = [f"{self.shape.outline.constant}{constant}" for constant in step.constants]
            rows = rows.with_columns(crew.constants.select(names)[positions])
        return rows.select(step.network.sources[index].schema.names)


def with_names(ran: Ran, crew: Crew) -> pl.DataFrame:
    """Return the results with the name of their query in front."""
    names = crew.names.gather(pl.Series(ran.positions)).alias(QUERY)
    return ran.rows.select(names, pl.all())

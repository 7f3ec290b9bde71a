"""The input that a parked operator holds, as one part of its state.

Rule 1: rows are kept as they came, batch by batch, with the watermarks that the operator would have had. Worked off in
this order, they give what the operator would have given.
Rule 2: the part has the same columns for every operator; the rows are Arrow, each input of a batch in one value.
Rule 3: an operator holds all columns of its input that there are. It works off those that are needed by then, so that
rows fit together that came before and after a query or a changed network needed another column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import polars as pl

from drover.errors import DroverError
from drover.flow.frames import decode, encode
from drover.flow.operators import Frames, Runner, UnitState, Watermarks
from drover.network.operators import Operator

# A part of state. An aggregate has parts called like its columns, whose names have no dot.
HELD: Final = "drover.held"
SCHEMA: Final = {
    "batch": pl.Int64(),  # first, because it decides which rows have expired
    "input": pl.String(),
    "rows": pl.Int64(),
    "late": pl.Int64(),
    "now": pl.Int64(),
    "payload": pl.Binary(),
}


Needed = Mapping[str, tuple[str, ...]]  # columns, by input; an input that is missing needs all
ALL: Final[Needed] = MappingProxyType({})


class MissingColumnsError(DroverError):
    """Held rows lack a column that is needed now."""


def hold_inputs(state: UnitState, batch: int, inputs: Frames, clock: Watermarks) -> tuple[int, int]:
    """Add the input of a batch to what is held; return how many rows and bytes are held now.

    An input without rows is not kept. What its batch would have closed is closed by the next one.
    """
    kept = [
        (batch, name, rows.height, clock.late, clock.now, bytes(encode(rows)))
        for name, rows in inputs.items()
        if rows.height
    ]
    state.append(HELD, pl.DataFrame(kept, schema=SCHEMA, orient="row"))
    held = state.parts.get(HELD)
    if held is None:
        return 0, 0
    return int(held["rows"].sum()), int(held["payload"].bin.size().sum())


def held_batches(state: UnitState, inputs: Frames, needed: Needed = ALL) -> Iterator[tuple[Frames, Watermarks]]:
    """Yield what is held, batch by batch, as the operator would have got it; `inputs` has its input without rows."""
    held = state.parts.get(HELD)
    if held is None:
        return
    for batch in held.partition_by("batch", maintain_order=True):
        pairs = batch.select("input", "payload").iter_rows()
        rows = {name: _only(decode(payload), needed.get(name)) for name, payload in pairs}
        late, now = batch.select("late", "now").row(0)
        yield {name: rows.get(name, empty.clear()) for name, empty in inputs.items()}, Watermarks(late, now)


def work_off(operator: Operator, runner: Runner, batch: int, needed: Needed = ALL) -> Runner:
    """Return a runner that takes what is held first, and then the rows of the batch, with the columns `needed`."""
    return _WorksOff(runner, batch, needed, at_once=operator.table is not None)


def _only(rows: pl.DataFrame, columns: tuple[str, ...] | None) -> pl.DataFrame:
    if columns is None:
        return rows
    if missing := [name for name in columns if name not in rows.columns]:
        raise MissingColumnsError(
            f"it holds rows without {', '.join(missing)}: no operator used that when they came, so it was not read. "
            "Take the change back that needs it, resume the operator, and then make the change again."
        )
    return rows.select(columns)


@dataclass(frozen=True, slots=True)
class _WorksOff:
    """Runs an operator on what it holds; `at_once` gives it everything in one call.

    An operator on a table leaves the rows of a call in its state, in place of those of the call before.
    """

    runner: Runner
    batch: int
    needed: Needed
    at_once: bool

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return the rows of each output for all batches that are held, and for this one."""
        inputs = {name: _only(rows, self.needed.get(name)) for name, rows in inputs.items()}
        batches = [*held_batches(state, inputs, self.needed), (inputs, clock)]
        # One call per batch would lose rows: each call replaces what the last one left for the table.
        if self.at_once:
            batches = [({name: pl.concat([each[name] for each, _ in batches]) for name in inputs}, clock)]
        made = [self.runner.run(rows, state, watermarks) for rows, watermarks in batches]
        # Only now: if a call fails, the state is thrown away, and the rows are still held.
        state.evict(HELD, self.batch)
        return {stream: pl.concat([each[stream] for each in made]) for stream in made[0]}

"""One instance of a spread join: joins the rows that it gets, and emits the pairs that belong to it.

Rule 1: windows store the epoch of every row and its random draw. These two decide which instance makes a pair.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from drover.diffusion.epochs import oldest_of
from drover.flow.distribute import DRAW, made_by, part
from drover.flow.instances import JoinInstance
from drover.flow.operators.base import CompileContext, UnitState, passing
from drover.flow.operators.join import LEFT, RIGHT, RunJoin

EPOCH: Final = "drover.epoch"
SIDES: Final = (LEFT, RIGHT)


class RunInstance(RunJoin):
    """Keeps the windows of its cells and pairs new rows with them."""

    def __init__(self, instance: JoinInstance, context: CompileContext) -> None:
        super().__init__(instance.join, context)
        self.ports = dict(zip(SIDES, instance.inputs, strict=True))
        self.epoch = instance.epochs[-1].number
        marks = [(f"{side}.{EPOCH}", f"{side}.{DRAW}") for side in SIDES]
        grid = instance.epochs[-1].grid
        # Several instances get a copy of a row, and the one with the least number counts it.
        first = {LEFT: part(pl.col(DRAW), grid.rows) * grid.columns, RIGHT: part(pl.col(DRAW), grid.columns)}
        self.counts = {side: number == instance.number for side, number in first.items()}
        self.fits.append(made_by(marks[0], marks[1], instance.epochs) == instance.number)

    def _drop_late(self, side: str, rows: pl.DataFrame, state: UnitState) -> None:
        own = passing(rows, self.counts[side])
        if own.height:
            super()._drop_late(side, own.drop(DRAW), state)

    def _marks(self, side: str) -> list[pl.Expr]:
        epoch = pl.lit(self.epoch, dtype=pl.Int32).alias(f"{side}.{EPOCH}")
        return [epoch, pl.col(DRAW).alias(f"{side}.{DRAW}")]


def oldest_epoch(state: UnitState) -> int | None:
    """Return the least epoch of any row in the windows of an instance; None if they are empty."""
    found = (state.parts[side].get_column(f"{side}.{EPOCH}").min() for side in SIDES if side in state.parts)
    return oldest_of([int(number) for number in found if isinstance(number, int)])

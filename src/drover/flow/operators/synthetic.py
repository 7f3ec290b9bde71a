"""Synthetic load on Polars: spends processor time, waits, and passes a share of the rows."""

from __future__ import annotations

import numpy as np
import polars as pl

from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks, scalar
from drover.network.operators import Synthetic


class RunSynthetic:
    """Spends time, waits, and passes a share of the rows."""

    def __init__(self, operator: Synthetic, context: CompileContext) -> None:
        self.operator = operator
        self.spend = context.spend
        self.wait = context.wait
        schema = context.network.streams[operator.input]
        self.copies = scalar(operator.copies(schema.time or ""), schema)

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return each row as often as the operator's hash says."""
        rows = inputs[self.operator.input]
        self.spend(self.operator.cost * rows.height)
        if waited := self.operator.wait * rows.height:
            self.wait(waited)
            state.waited += waited
        if self.operator.selectivity == 1:
            return {self.operator.name: rows}
        copies = rows.select(self.copies.alias("copies"))["copies"].to_numpy()
        return {self.operator.name: rows[np.repeat(np.arange(rows.height), copies)]}

"""Filter on Polars: the rows for which the predicate is true."""

from __future__ import annotations

import polars as pl

from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks, passing, scalar
from drover.network.operators import Filter


class RunFilter:
    """Passes the rows for which the predicate is true."""

    def __init__(self, operator: Filter, context: CompileContext) -> None:
        self.operator = operator
        self.where = scalar(operator.where, context.network.streams[operator.input])

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return the rows that pass."""
        return {self.operator.name: passing(inputs[self.operator.input], self.where)}

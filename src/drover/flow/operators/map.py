"""Map on Polars: new columns from old ones."""

from __future__ import annotations

import polars as pl

from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks, scalar
from drover.network.operators import Map


class RunMap:
    """Computes columns."""

    def __init__(self, operator: Map, context: CompileContext) -> None:
        self.operator = operator
        schema = context.network.streams[operator.input]
        self.select = [scalar(named.expression, schema).alias(named.name) for named in operator.full_select(schema)]
        self.types = context.network.streams[operator.name].types

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return the computed columns."""
        # `select` alone would return a single row where every column is a constant.
        rows = inputs[self.operator.input]
        return {self.operator.name: rows.with_columns(self.select).select(list(self.types))}

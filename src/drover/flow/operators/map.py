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
        self.select = {named.name: scalar(named.expression, schema) for named in operator.full_select(schema)}
        self.uses = {name: frozenset(made.meta.root_names()) for name, made in self.select.items()}
        self.names = list(context.network.streams[operator.name].names)
        self.inputs = len(schema.columns)

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return the computed columns, without those of columns that the rows lack: no reader wants these."""
        rows = inputs[self.operator.input]
        names = self.names
        if rows.width < self.inputs:
            names = [name for name in names if self.uses[name].issubset(rows.columns)]
        # `select` alone would return a single row where every column is a constant.
        return {self.operator.name: rows.with_columns(self.select[name].alias(name) for name in names).select(names)}

"""Union on Polars: the rows of several streams as one."""

from __future__ import annotations

import polars as pl

from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks
from drover.network.operators import Union


class RunUnion:
    """Merges streams."""

    def __init__(self, operator: Union, context: CompileContext) -> None:
        self.operator = operator
        self.names = list(context.network.streams[operator.name].names)

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return the rows of all inputs, columns as in the first."""
        parts = [inputs[stream].select(self.names) for stream in self.operator.inputs]
        return {self.operator.name: pl.concat(parts)}

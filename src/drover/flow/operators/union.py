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
        """Return the rows of all inputs, columns as in the first, without those that an input lacks."""
        rows = [inputs[stream] for stream in self.operator.inputs]
        # All inputs have what a reader wants. One of them may have more, for another reader.
        names = [name for name in self.names if all(name in one.columns for one in rows)]
        return {self.operator.name: pl.concat([one.select(names) for one in rows])}

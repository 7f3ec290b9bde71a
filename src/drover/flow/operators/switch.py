"""Switch on Polars: each row goes to the first case that is true."""

from __future__ import annotations

import polars as pl

from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks, scalar
from drover.network.operators import Switch


class RunSwitch:
    """Sends each row to the first case that is true."""

    def __init__(self, operator: Switch, context: CompileContext) -> None:
        self.operator = operator
        schema = context.network.streams[operator.input]
        chosen = pl.lit(len(operator.cases), pl.Int32)  # the rest
        for index in range(len(operator.cases) - 1, -1, -1):
            holds = scalar(operator.cases[index].expression, schema).fill_null(value=False)
            chosen = pl.when(holds).then(pl.lit(index, pl.Int32)).otherwise(chosen)
        self.chosen = chosen

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return the rows of each branch."""
        rows = inputs[self.operator.input]
        chosen = rows.select(self.chosen.alias("case"))["case"]
        return {stream: rows.filter(chosen == index) for index, stream in enumerate(self.operator.outputs)}

"""Calling a user's function on Arrow data inside a Spark task.

Rule 1: drover checks the result of a function against its declaration before Spark sees it.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from drover.errors import DroverError, shorten
from drover.network.functions import resolve
from drover.network.operators import UserDefined
from drover.network.schema import Schema
from drover.network.types import arrow_type


@dataclass(frozen=True, slots=True)
class UserFunctionCaller:
    """Calls the function of one operator. It travels to the workers, which import the function by its path."""

    operator: UserDefined
    input: Schema

    def batch(self, table: pa.Table) -> pa.Table:
        """Return the function's result for the rows of one batch; for functions without state."""
        return self._table(resolve(self.operator.function)(self._frame(table)))

    def whole(self, table: pa.Table) -> pa.Table:
        """Return the function's result for all rows, in order of event time; for functions with state."""
        function = resolve(self.operator.function)
        # Rows of the same event time need an order, too: the state of the function may depend on it.
        rest = [name for name in self.input.names if name != self.input.time]
        order = [(name, "ascending") for name in (self.input.time, *rest)]
        result, _state = function(self._frame(table.sort_by(order)), None)
        return self._table(result)

    def _frame(self, table: pa.Table) -> pl.DataFrame | pa.Table:
        target = pa.schema([(column.name, arrow_type(column.type)) for column in self.input.columns])
        cast = table.select(list(self.input.names)).cast(target)
        return cast if self.operator.frame == "arrow" else pl.DataFrame(cast)

    def _table(self, result: object) -> pa.Table:
        if isinstance(result, pl.DataFrame):
            result = result.to_arrow()
        wanted = {column.name: arrow_type(column.type) for column in self.operator.columns}
        if not isinstance(result, pa.Table) or set(result.column_names) != set(wanted):
            found = result.column_names if isinstance(result, pa.Table) else type(result).__name__
            raise DroverError(
                f"function {self.operator.function!r} of operator {self.operator.name!r} returned {shorten(found)}, "
                f"but declares a frame with the columns {sorted(wanted)}. Correct one of the two."
            )
        try:
            return result.select(list(wanted)).cast(pa.schema(list(wanted.items())))
        except pa.ArrowInvalid as error:
            raise DroverError(
                f"function {self.operator.function!r} of operator {self.operator.name!r} returned values that do not "
                f"fit its declared columns: {error}. Correct one of the two."
            ) from error

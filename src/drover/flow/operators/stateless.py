"""Operators that look at one row at a time: filter, switch, map, union, synthetic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from drover.flow.operators.base import Clock, Frames, UnitState, passing
from drover.network.expressions import parse, to_polars
from drover.network.model import Network
from drover.network.operators import Filter, Map, Switch, Synthetic, Union
from drover.network.schema import Schema

Spend = Callable[[float], None]  # keeps the processor busy for so many seconds


def scalar(text: str, schema: Schema) -> pl.Expr:
    """Return a SQL expression over the columns of `schema` for Polars."""
    return to_polars(parse(text, schema.types))


class RunFilter:
    """Passes the rows for which the predicate is true."""

    def __init__(self, operator: Filter, network: Network) -> None:
        self.operator = operator
        self.where = scalar(operator.where, network.streams[operator.input])

    def run(self, inputs: Frames, state: UnitState, clock: Clock) -> dict[str, pl.DataFrame]:
        """Return the rows that pass."""
        return {self.operator.name: passing(inputs[self.operator.input], self.where)}


class RunSwitch:
    """Sends each row to the first case that is true."""

    def __init__(self, operator: Switch, network: Network) -> None:
        self.operator = operator
        schema = network.streams[operator.input]
        chosen = pl.lit(len(operator.cases), pl.Int32)  # the rest
        for index in range(len(operator.cases) - 1, -1, -1):
            holds = scalar(operator.cases[index].expression, schema).fill_null(value=False)
            chosen = pl.when(holds).then(pl.lit(index, pl.Int32)).otherwise(chosen)
        self.chosen = chosen

    def run(self, inputs: Frames, state: UnitState, clock: Clock) -> dict[str, pl.DataFrame]:
        """Return the rows of each branch."""
        rows = inputs[self.operator.input]
        chosen = rows.select(self.chosen.alias("case"))["case"]
        return {stream: rows.filter(chosen == index) for index, stream in enumerate(self.operator.outputs)}


class RunMap:
    """Computes columns."""

    def __init__(self, operator: Map, network: Network) -> None:
        self.operator = operator
        schema = network.streams[operator.input]
        self.select = [scalar(named.expression, schema).alias(named.name) for named in operator.full_select(schema)]
        self.types = network.streams[operator.name].types

    def run(self, inputs: Frames, state: UnitState, clock: Clock) -> dict[str, pl.DataFrame]:
        """Return the computed columns; a map of constants still gives one row per row."""
        rows = inputs[self.operator.input]
        return {self.operator.name: rows.with_columns(self.select).select(list(self.types))}


class RunUnion:
    """Merges streams."""

    def __init__(self, operator: Union, network: Network) -> None:
        self.operator = operator
        self.names = list(network.streams[operator.name].names)

    def run(self, inputs: Frames, state: UnitState, clock: Clock) -> dict[str, pl.DataFrame]:
        """Return the rows of all inputs, columns as in the first."""
        parts = [inputs[stream].select(self.names) for stream in self.operator.inputs]
        return {self.operator.name: pl.concat(parts)}


class RunSynthetic:
    """Spends time and passes a share of the rows."""

    def __init__(self, operator: Synthetic, network: Network, spend: Spend) -> None:
        self.operator = operator
        self.spend = spend
        schema = network.streams[operator.input]
        self.copies = scalar(operator.copies(schema.time or ""), schema)

    def run(self, inputs: Frames, state: UnitState, clock: Clock) -> dict[str, pl.DataFrame]:
        """Return each row as often as the operator's hash says."""
        rows = inputs[self.operator.input]
        self.spend(self.operator.cost * rows.height)
        if self.operator.selectivity == 1:
            return {self.operator.name: rows}
        copies = rows.select(self.copies.alias("copies"))["copies"].to_numpy()
        return {self.operator.name: rows[np.repeat(np.arange(rows.height), copies)]}

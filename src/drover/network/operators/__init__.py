"""The operators of a network, one kind per class; `OPERATORS` is the table of them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drover.network.operators.aggregate import WINDOW_COLUMNS, WINDOW_END, WINDOW_START, WINDOW_TIME, Aggregate
from drover.network.operators.base import Named, Operator, Table
from drover.network.operators.custom import COST_CLASSES, Synthetic, UserDefined
from drover.network.operators.filter import Filter, Switch
from drover.network.operators.join import Join, Pair, parse_key
from drover.network.operators.map import Map
from drover.network.operators.table import TableRead, TableWrite
from drover.network.operators.union import Union

OPERATORS: Final[Mapping[str, type[Operator]]] = {
    cls.kind: cls
    for cls in (Filter, Switch, Map, Union, Aggregate, Join, TableRead, TableWrite, UserDefined, Synthetic)
}

__all__ = [
    "COST_CLASSES",
    "OPERATORS",
    "WINDOW_COLUMNS",
    "WINDOW_END",
    "WINDOW_START",
    "WINDOW_TIME",
    "Aggregate",
    "Filter",
    "Join",
    "Map",
    "Named",
    "Operator",
    "Pair",
    "Switch",
    "Synthetic",
    "Table",
    "TableRead",
    "TableWrite",
    "Union",
    "UserDefined",
    "parse_key",
]

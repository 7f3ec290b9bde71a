"""The operators of a network, one kind per module; `OPERATORS` has the record of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from drover.network.columns import KeyPair, Named, parse_key
from drover.network.operators.aggregate import (
    AGGREGATE,
    WINDOW_COLUMNS,
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Aggregate,
)
from drover.network.operators.base import Operator, Table
from drover.network.operators.filter import FILTER, Filter
from drover.network.operators.join import JOIN, Join
from drover.network.operators.kind import OperatorKind
from drover.network.operators.map import MAP, Map
from drover.network.operators.switch import SWITCH, Switch
from drover.network.operators.synthetic import SYNTHETIC, Synthetic
from drover.network.operators.table_read import TABLE_READ, TableRead
from drover.network.operators.table_write import TABLE_WRITE, TableWrite
from drover.network.operators.union import UNION, Union
from drover.network.operators.user import COST_CLASSES, USER, UserDefined

# Any: each record has functions that take an operator of its own kind.
KINDS: Final[tuple[OperatorKind[Any], ...]] = (
    FILTER,
    SWITCH,
    MAP,
    UNION,
    AGGREGATE,
    JOIN,
    TABLE_READ,
    TABLE_WRITE,
    USER,
    SYNTHETIC,
)
OPERATORS: Final[Mapping[str, OperatorKind[Any]]] = {kind.name: kind for kind in KINDS}

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
    "KeyPair",
    "Map",
    "Named",
    "Operator",
    "OperatorKind",
    "Switch",
    "Synthetic",
    "Table",
    "TableRead",
    "TableWrite",
    "Union",
    "UserDefined",
    "parse_key",
]

"""Operators on Polars, one runner per kind; `make_runner` is the door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from drover.flow.instances import JoinInstance
from drover.flow.operators.aggregate import RunAggregate
from drover.flow.operators.base import Clock, Frames, Runner, UnitState
from drover.flow.operators.instance import RunInstance, oldest_epoch
from drover.flow.operators.join import RunJoin
from drover.flow.operators.stateless import RunFilter, RunMap, RunSwitch, RunSynthetic, RunUnion, Spend
from drover.flow.operators.table import PENDING, RunTableRead, RunTableWrite, settle
from drover.flow.operators.timeout import RunTimeout
from drover.flow.operators.user import RunUserDefined
from drover.flow.tables import Address
from drover.network.model import Network, late_streams
from drover.network.operators import (
    Aggregate,
    Filter,
    Join,
    Map,
    Operator,
    Switch,
    Synthetic,
    TableRead,
    TableWrite,
    Union,
    UserDefined,
)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What runners are made of: the network, a way to spend processor time, the streams whose rows may be late.

    `tables` has the address of every table that operators use.
    """

    network: Network
    spend: Spend
    may_be_late: frozenset[str]
    tables: Mapping[str, Address] = field(default_factory=dict)


def _aggregate(operator: Aggregate, shop: Workshop) -> Runner:
    late = operator.input in shop.may_be_late
    if operator.timeout is not None and operator.timeout < operator.size:
        return RunTimeout(operator, shop.network, late)
    return RunAggregate(operator, shop.network, late)


RUNNERS: Final[Mapping[str, Callable[[Any, Workshop], Runner]]] = {  # Any: each takes its own kind of operator
    Filter.kind: lambda operator, shop: RunFilter(operator, shop.network),
    Switch.kind: lambda operator, shop: RunSwitch(operator, shop.network),
    Map.kind: lambda operator, shop: RunMap(operator, shop.network),
    Union.kind: lambda operator, shop: RunUnion(operator, shop.network),
    Aggregate.kind: _aggregate,
    Join.kind: lambda operator, shop: RunJoin(
        operator, shop.network, operator.left in shop.may_be_late, operator.right in shop.may_be_late
    ),
    JoinInstance.kind: lambda operator, shop: RunInstance(
        operator, shop.network, operator.join.left in shop.may_be_late, operator.join.right in shop.may_be_late
    ),
    TableRead.kind: lambda operator, shop: RunTableRead(operator, shop.network, shop.tables[operator.from_table]),
    TableWrite.kind: lambda operator, shop: RunTableWrite(operator, shop.network, shop.tables[operator.into]),
    UserDefined.kind: lambda operator, shop: RunUserDefined(operator, shop.network, operator.input in shop.may_be_late),
    Synthetic.kind: lambda operator, shop: RunSynthetic(operator, shop.network, shop.spend),
}


def make_runner(operator: Operator, shop: Workshop) -> Runner:
    """Return the compiled form of an operator."""
    return RUNNERS[operator.kind](operator, shop)


__all__ = [
    "PENDING",
    "RUNNERS",
    "Clock",
    "Frames",
    "Runner",
    "UnitState",
    "Workshop",
    "late_streams",
    "make_runner",
    "oldest_epoch",
    "settle",
]

"""Operators on Polars, one kind per module; `RUNNERS` has the runner of every kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from drover.flow.instances import JoinInstance
from drover.flow.operators.base import (
    EXPRESSION_ERRORS,
    CompileContext,
    Frames,
    Runner,
    Spend,
    UnitState,
    Wait,
    Watermarks,
    no_wait,
)
from drover.flow.operators.filter import RunFilter
from drover.flow.operators.instance import RunInstance, oldest_epoch
from drover.flow.operators.join import RunJoin
from drover.flow.operators.map import RunMap
from drover.flow.operators.switch import RunSwitch
from drover.flow.operators.synthetic import RunSynthetic
from drover.flow.operators.table_read import RunTableRead
from drover.flow.operators.table_write import PENDING, RunTableWrite, write_pending
from drover.flow.operators.timeout import run_aggregate
from drover.flow.operators.union import RunUnion
from drover.flow.operators.user import RunUserDefined
from drover.network.model import late_streams
from drover.network.operators import Operator

# By the name of the kind in `drover.network.operators.OPERATORS`. A spread join runs as instances, which are no kind of
# a network's own. Any: each runner takes the operator of its kind.
RUNNERS: Final[Mapping[str, Callable[[Any, CompileContext], Runner]]] = {
    "filter": RunFilter,
    "switch": RunSwitch,
    "map": RunMap,
    "union": RunUnion,
    "aggregate": run_aggregate,
    "join": RunJoin,
    JoinInstance.kind: RunInstance,
    "table_read": RunTableRead,
    "table_write": RunTableWrite,
    "user": RunUserDefined,
    "synthetic": RunSynthetic,
}


def make_runner(operator: Operator, context: CompileContext) -> Runner:
    """Return the compiled form of an operator."""
    return RUNNERS[operator.kind](operator, context)


__all__ = [
    "EXPRESSION_ERRORS",
    "PENDING",
    "RUNNERS",
    "CompileContext",
    "Frames",
    "Runner",
    "Spend",
    "UnitState",
    "Wait",
    "Watermarks",
    "late_streams",
    "make_runner",
    "no_wait",
    "oldest_epoch",
    "write_pending",
]

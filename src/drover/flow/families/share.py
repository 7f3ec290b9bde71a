"""Windows of many members at once, without a row per member.

Members that look for the same rows above thresholds of their own see nested sets of them. So rows are sorted by what is
compared, what an aggregate keeps is computed for the first row, the first two and so on, and each member looks up how
far it reaches: a search instead of a row for each row that it counts.

Rule 1: this is another way to compute what filter and aggregate compute, and is used only where it is known to be the
same, but for the last digits of sums of floats: they are added in another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from drover.flow.families.crew import Crew, Ints
from drover.flow.families.widen import PIECE, Memo, sought, stretches
from drover.flow.operators import Clock, Runner, UnitState
from drover.flow.operators.aggregate import PANE, RunAggregate
from drover.network.expressions import Call, Column, Expression, parse, to_polars
from drover.network.operators import Filter
from drover.network.queries.shape import Shape, Step
from drover.network.types import DATE, DOUBLE, FLOAT, INTEGERS, TIMESTAMP, TIMESTAMP_NTZ

CELL: Final = "drover.cell"  # rows that all members of a group see in the same pane and group
BOUND: Final = "drover.bound"
FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARED: Final = frozenset({*INTEGERS, FLOAT, DOUBLE, DATE, TIMESTAMP, TIMESTAMP_NTZ})

Values = NDArray[Any]  # Any: numbers of whatever type is compared


@dataclass(frozen=True, slots=True)
class Bound:
    """A condition `expression sign constant`."""

    expression: Expression
    sign: str
    constant: int


@dataclass(frozen=True, slots=True)
class Shared:
    """An aggregate and the filter before it, by the numbers of their steps; None: it reads plain rows itself."""

    filter: int | None
    aggregate: int
    bound: Bound | None


def find_shared(shape: Shape, runners: list[Runner]) -> tuple[Shared, ...]:
    """Return the aggregates of a shape that can be computed for all members at once."""
    makers = {stream: number for number, step in enumerate(shape.steps) for stream in step.operator.outputs}
    readers: dict[str, int] = {}
    for step in shape.steps:
        for stream in step.inputs:
            readers[stream] = readers.get(stream, 0) + 1
    found = []
    for number, step in enumerate(shape.steps):
        runner = runners[number]
        if not isinstance(runner, RunAggregate) or runner.distinct or step.constants:
            continue
        if any(partial.running is None for partial in runner.partials.values()):
            continue
        (stream,) = step.inputs
        if step.widens[0]:
            found.append(Shared(None, number, None))
        elif readers[stream] == 1 and stream != shape.output:
            before = shape.steps[makers[stream]]
            bound = _bound(before, shape)
            if isinstance(before.operator, Filter) and before.widens[0] and (bound is not None or not before.rest):
                found.append(Shared(makers[stream], number, bound))
    return tuple(found)


def _bound(step: Step, shape: Shape) -> Bound | None:
    """Return the condition of a filter, if it is a bound."""
    if not isinstance(step.operator, Filter) or not step.rest:
        return None
    tree = parse(step.operator.where, step.network.sources[0].schema.types)
    if not isinstance(tree, Call) or tree.function not in FLIPPED or tree.arguments[0].type not in COMPARED:
        return None
    prefix = shape.outline.constant
    left, right = tree.arguments
    for one, other, sign in ((left, right, tree.function), (right, left, FLIPPED[tree.function])):
        is_constant = isinstance(other, Column) and other.name.startswith(prefix)
        if is_constant and one.columns and not any(name.startswith(prefix) for _, name in one.columns):
            assert isinstance(other, Column)
            return Bound(one, sign, int(other.name.removeprefix(prefix)))
    return None


def share(
    shared: Shared,
    runner: RunAggregate,
    rows: pl.DataFrame,
    crew: Crew,
    state: UnitState,
    clock: Clock,
    memo: Memo | None = None,
) -> Ints:
    """Take the rows of a batch into the panes of all members; return how many came in for each, (n,)."""
    shape = crew.shape
    step = shape.steps[shared.aggregate if shared.filter is None else shared.filter]
    found, group, lookup = sought(step, rows, crew, memo)
    group_of = np.zeros(len(crew), np.int64) if lookup is None else lookup.group
    groups = 1 if lookup is None else lookup.groups
    rows_in = np.bincount(group, minlength=groups)[group_of]
    if not found.height:
        return rows_in
    cells = Cells(runner, shared.bound, found.with_columns(pl.Series(CELL, group)), clock)
    limits = None
    if shared.bound is not None:
        limits = crew.constants[f"{shape.outline.constant}{shared.bound.constant}"].to_physical().to_numpy()
    of_group = np.bincount(cells.group, minlength=groups)
    first_of = np.cumsum(of_group) - of_group
    pieces = []
    for first, last in stretches(of_group[group_of], PIECE):
        counts = of_group[group_of[first:last]]
        members = np.repeat(np.arange(first, last), counts)
        ends = np.cumsum(counts)
        chosen = np.arange(len(members)) + np.repeat(first_of[group_of[first:last]] - (ends - counts), counts)
        reach = cells.reach(chosen, None if limits is None else limits[members])
        some = reach > 0
        at = cells.start[chosen[some]] + reach[some] - 1
        panes = cells.running[at].with_columns(pl.Series(shape.member, crew.numbers[members[some]]))
        pieces.append(panes.select(PANE, *runner.groups, *cells.kept))
    runner.take_panes(pl.concat(pieces), state)
    return rows_in


class Cells:
    """Rows in the order of cells and, within one, from those that most members reach to those that few do."""

    def __init__(self, runner: RunAggregate, bound: Bound | None, rows: pl.DataFrame, clock: Clock) -> None:
        self.sign = "" if bound is None else bound.sign
        self.descends = self.sign in (">", ">=")
        keyed = runner.in_panes(rows, clock)
        if bound is not None:
            keyed = keyed.with_columns(to_polars(bound.expression).to_physical().alias(BOUND))
            if keyed[BOUND].null_count():
                keyed = keyed.drop_nulls(BOUND)
        own = [name for name in runner.groups if name in keyed.columns]
        self.group, number = _numbered(keyed, own)
        self.size: Ints = np.bincount(number, minlength=len(self.group))
        self.start: Ints = np.cumsum(self.size) - self.size
        order, self.values = self._ordered(number, None if bound is None else keyed[BOUND].to_numpy())
        sorted_rows = keyed[order].with_columns(pl.Series(CELL, number[order]))
        running = {name: one for partial in runner.partials.values() for name, one in (partial.running or {}).items()}
        self.kept = list(running)
        self.running = sorted_rows.select(PANE, *own, *(one.over(CELL).alias(name) for name, one in running.items()))

    def _ordered(self, number: Ints, values: Values | None) -> tuple[Ints, Values | None]:
        """Return the order of the rows, and the values in that order."""
        if values is None:
            return np.argsort(number, kind="stable"), None
        # NaN is sorted behind all numbers; backwards it is the first.
        order = np.lexsort((values, -number))[::-1] if self.descends else np.lexsort((values, number))
        return order, values[order]

    def reach(self, cells: Ints, limits: Values | None) -> Ints:
        """Return how many rows of these cells, from the first, are within these limits, both (k,)."""
        if limits is None or self.values is None:
            return self.size[cells]
        low, high = self.start[cells], self.start[cells] + self.size[cells]
        start = low.copy()
        for _ in range(int(self.size.max(initial=0)).bit_length()):
            middle = (low + high) // 2
            open_ = low < high
            passes = open_ & self._passes(self.values[np.where(open_, middle, 0)], limits)
            low = np.where(passes, middle + 1, low)
            high = np.where(open_ & ~passes, middle, high)
        return low - start

    def _passes(self, values: Values, limits: Values) -> NDArray[np.bool_]:
        match self.sign:
            case ">":
                inside = values > limits
            case ">=":
                inside = values >= limits
            case "<":
                inside = values < limits
            case _:
                inside = values <= limits
        # NaN is the largest number, and no limit is one.
        return inside | np.isnan(values) if self.descends and values.dtype.kind == "f" else inside


def _numbered(keyed: pl.DataFrame, own: list[str]) -> tuple[Ints, Ints]:
    """Return the group of each cell, ascending, and the number of each row's cell."""
    group, pane = keyed[CELL].to_numpy(), keyed[PANE].to_numpy()
    parts = [group, np.unique(pane, return_inverse=True)[1]]
    if own:
        values = keyed.select(own).unique(maintain_order=True).with_row_index(BOUND)
        found = keyed.select(own).join(values, on=own, how="left", nulls_equal=True, maintain_order="left")[BOUND]
        parts.append(found.to_numpy().astype(np.int64))
    code = parts[0]
    for part in parts[1:]:
        # Numbered anew each time, so that the product of many counts does not overflow.
        code = np.unique(code, return_inverse=True)[1] * (int(part.max(initial=0)) + 1) + part
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    return group[first], number

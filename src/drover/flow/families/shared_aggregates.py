"""Windows of many members at once, without fanning rows out.

Many members differ only in a threshold, as in `x > 5` and `x > 7`. Their rows are nested sets. So the rows are sorted
by x, running aggregates are computed along the order (of the first row, the first two, and so on), and each member
finds its result by a binary search for its threshold.

Rule 1: this is used only where it gives the same as filter and aggregate, except for the last digits of sums of floats,
which are added in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from drover.flow.families.fan_out import MOST_PAIRS, Memo, match_rows, member_slices
from drover.flow.families.local_members import Ints, LocalMembers
from drover.flow.operators import Runner, UnitState, Watermarks
from drover.flow.operators.aggregate import RunAggregate
from drover.flow.operators.panes import PANE
from drover.network.expressions import Call, ColumnRef, Expression, parse, to_polars
from drover.network.operators import Filter
from drover.network.queries.shape import Shape, ShapeStep
from drover.network.types import DATE, DOUBLE, FLOAT, INTEGERS, TIMESTAMP, TIMESTAMP_NTZ

CELL: Final = "drover.cell"  # rows of one group of members in one pane and one GROUP BY group
BOUND: Final = "drover.bound"
FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARED: Final = frozenset({*INTEGERS, FLOAT, DOUBLE, DATE, TIMESTAMP, TIMESTAMP_NTZ})

Values = NDArray[Any]  # Any: the type that is compared


@dataclass(frozen=True, slots=True)
class Bound:
    """A condition `expression sign constant`, where sign is <, <=, > or >=."""

    expression: Expression
    sign: str
    constant: int


@dataclass(frozen=True, slots=True)
class SharedAggregate:
    """An aggregate and the filter before it, by the numbers of their steps; without a filter, it reads common rows."""

    filter: int | None
    aggregate: int
    bound: Bound | None


def find_shared(shape: Shape, runners: list[Runner]) -> tuple[SharedAggregate, ...]:
    """Return the aggregates of a shape that can be computed for all members at once."""
    makers = {stream: number for number, step in enumerate(shape.steps) for stream in step.operator.outputs}
    readers: dict[str, int] = {}
    for step in shape.steps:
        for stream in step.inputs:
            readers[stream] = readers.get(stream, 0) + 1
    found = []
    for number, step in enumerate(shape.steps):
        runner = runners[number]
        # DISTINCT needs the values themselves, and a constant inside the aggregate differs by member.
        if not isinstance(runner, RunAggregate) or runner.distinct or step.constants:
            continue
        if any(partial.running is None for partial in runner.partials.values()):
            continue
        (stream,) = step.inputs
        if step.fans_out[0]:
            found.append(SharedAggregate(None, number, None))
        # The rows after the filter are never made, so nothing else may read them.
        elif readers[stream] == 1 and stream != shape.output:
            before = shape.steps[makers[stream]]
            bound = _bound(before, shape)
            if isinstance(before.operator, Filter) and before.fans_out[0] and (bound is not None or not before.rest):
                found.append(SharedAggregate(makers[stream], number, bound))
    return tuple(found)


def _bound(step: ShapeStep, shape: Shape) -> Bound | None:
    """Return the condition of a filter as a bound; None if it is something else."""
    if not isinstance(step.operator, Filter) or not step.rest:
        return None
    tree = parse(step.operator.where, step.network.sources[0].schema.types)
    if not isinstance(tree, Call) or tree.function not in FLIPPED or tree.arguments[0].type not in COMPARED:
        return None
    prefix = shape.query.constant
    left, right = tree.arguments
    for one, other, sign in ((left, right, tree.function), (right, left, FLIPPED[tree.function])):
        is_constant = isinstance(other, ColumnRef) and other.name.startswith(prefix)
        if is_constant and one.columns and not any(name.startswith(prefix) for _, name in one.columns):
            assert isinstance(other, ColumnRef)
            return Bound(one, sign, int(other.name.removeprefix(prefix)))
    return None


def update_panes(
    shared: SharedAggregate,
    runner: RunAggregate,
    rows: pl.DataFrame,
    local: LocalMembers,
    state: UnitState,
    watermark: Watermarks,
    memo: Memo | None = None,
) -> tuple[Ints, int]:
    """Add the rows of a batch to the panes of all members.

    Return the number of rows of each member, (n,), and how many rows came too late, counted for each member.
    """
    shape = local.shape
    step = shape.steps[shared.aggregate if shared.filter is None else shared.filter]
    found, group, lookup = match_rows(step, rows, local, memo)
    group_of = np.zeros(len(local), np.int64) if lookup is None else lookup.group
    groups = 1 if lookup is None else lookup.groups
    rows_in = np.bincount(group, minlength=groups)[group_of]
    if not found.height:
        return rows_in, 0
    limits = None
    if shared.bound is not None:
        limits = local.constants[f"{shape.query.constant}{shared.bound.constant}"].to_physical().to_numpy()
    seen = UnitState()  # only to learn which rows are late
    keyed = runner.in_panes(found.with_columns(pl.Series(CELL, group)), seen, watermark)
    cells = Cells(runner, shared.bound, keyed)
    pieces = []
    for members, chosen, reach in _reached(cells, group_of, groups, limits):
        some = reach > 0
        at = cells.start[chosen[some]] + reach[some] - 1
        panes = cells.running[at].with_columns(pl.Series(shape.member, local.numbers[members[some]]))
        pieces.append(panes.select(PANE, *runner.groups, *cells.kept))
    runner.take_panes(pl.concat(pieces), state)
    late = 0
    for behind in seen.late.values():
        dropped = Cells(runner, shared.bound, runner.in_panes(behind, seen, Watermarks(None, None)))
        late += sum(int(reach.sum()) for _, _, reach in _reached(dropped, group_of, groups, limits))
    return rows_in, late


def _reached(cells: Cells, group_of: Ints, groups: int, limits: Values | None) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield pairs of members and cells, and how many rows of the cell belong to the member; all are (k,)."""
    of_group = np.bincount(cells.group, minlength=groups)
    first_of = np.cumsum(of_group) - of_group
    for first, last in member_slices(of_group[group_of], MOST_PAIRS):
        counts = of_group[group_of[first:last]]
        members = np.repeat(np.arange(first, last), counts)
        ends = np.cumsum(counts)
        chosen = np.arange(len(members)) + np.repeat(first_of[group_of[first:last]] - (ends - counts), counts)
        yield members, chosen, cells.reach(chosen, None if limits is None else limits[members])


class Cells:
    """Rows sorted by cell, and within a cell by the compared value: the rows of a member are a prefix of the cell."""

    def __init__(self, runner: RunAggregate, bound: Bound | None, keyed: pl.DataFrame) -> None:
        self.sign = "" if bound is None else bound.sign
        self.descends = self.sign in (">", ">=")
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
        # NaN sorts after all numbers, so in descending order it comes first.
        order = np.lexsort((values, -number))[::-1] if self.descends else np.lexsort((values, number))
        return order, values[order]

    def reach(self, cells: Ints, limits: Values | None) -> Ints:
        """Return how many rows of each cell, from its first, are within the limit; all are (k,)."""
        if limits is None or self.values is None:
            return self.size[cells]
        low = self.start[cells]
        high = self.start[cells] + self.size[cells]
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
        # As in Spark, NaN is larger than any number. No limit is NaN.
        return inside | np.isnan(values) if self.descends and values.dtype.kind == "f" else inside


def _numbered(keyed: pl.DataFrame, own: list[str]) -> tuple[Ints, Ints]:
    """Return the group of each cell, ascending, and the number of each row's cell."""
    group = keyed[CELL].to_numpy()
    pane = keyed[PANE].to_numpy()
    parts = [group, np.unique(pane, return_inverse=True)[1]]
    if own:
        values = keyed.select(own).unique(maintain_order=True).with_row_index(BOUND)
        found = keyed.select(own).join(values, on=own, how="left", nulls_equal=True, maintain_order="left")[BOUND]
        parts.append(found.to_numpy().astype(np.int64))
    code = parts[0]
    for part in parts[1:]:
        # Renumber after each part, because the product of many counts would overflow.
        code = np.unique(code, return_inverse=True)[1] * (int(part.max(initial=0)) + 1) + part
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    return group[first], number

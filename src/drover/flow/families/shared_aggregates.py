"""Which windows of a family are computed for all members at once, without fanning rows out.

Many members differ only in a threshold, as in `x > 5` and `x > 7`. Their rows are nested sets. So the rows are sorted
by x, running aggregates are computed along the order (of the first row, the first two, and so on), and each member
finds its result by a binary search for its threshold. `member_panes.py` does that.

Rule 1: this is used only where it gives the same as filter and aggregate, except for the last digits of sums of floats,
which are added in another order.
"""

from __future__ import annotations

from dataclasses import dataclass

from drover.flow.families.bounds import Bound, find_bounds
from drover.flow.families.local_members import LocalMembers
from drover.flow.operators import Runner
from drover.flow.operators.aggregate import RunAggregate
from drover.network.queries.shape import Shape


@dataclass(frozen=True, slots=True)
class SharedAggregate:
    """An aggregate and the filter before it, by the numbers of their steps; without a filter, it reads common rows."""

    filter: int | None
    aggregate: int
    bounds: tuple[Bound, ...] = ()

    @property
    def reader(self) -> int:
        """The number of the step that reads common rows."""
        return self.aggregate if self.filter is None else self.filter


@dataclass(frozen=True, slots=True)
class Sharing:
    """The aggregates of a family that are computed for all members at once, and what need not run otherwise."""

    aggregates: tuple[SharedAggregate, ...]

    @property
    def filters(self) -> frozenset[int]:
        """The steps whose rows are never made."""
        return frozenset(one.filter for one in self.aggregates if one.filter is not None)

    @property
    def skipped(self) -> frozenset[int]:
        """All steps that take no rows of their own."""
        return self.filters | {one.aggregate for one in self.aggregates}

    def among(self, shape: Shape, local: LocalMembers) -> Sharing:
        """Return what these members share: a constant inside an aggregate must have few values."""
        few = tuple(one for one in self.aggregates if local.variants(shape.steps[one.aggregate].constants) is not None)
        return self if len(few) == len(self.aggregates) else Sharing(few)


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
        # DISTINCT needs the values themselves.
        if not isinstance(runner, RunAggregate) or runner.distinct:
            continue
        if any(partial.folds is None for partial in runner.partials.values()):
            continue
        (stream,) = step.inputs
        if step.fans_out[0]:
            found.append(SharedAggregate(None, number))
        # The rows after the filter are never made, so nothing else may read them.
        elif readers[stream] == 1 and stream != shape.output:
            before = shape.steps[makers[stream]]
            bounds = find_bounds(before, shape)
            if bounds is not None and before.fans_out[0]:
                found.append(SharedAggregate(makers[stream], number, bounds))
    return tuple(found)

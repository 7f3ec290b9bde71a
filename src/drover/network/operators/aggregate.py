"""Aggregate: one row per group and event-time window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from drover.errors import ExpressionError, Fault
from drover.network.columns import Named
from drover.network.durations import Micros, format_duration
from drover.network.expressions import parse_aggregate
from drover.network.files import codecs
from drover.network.files.field import EMPTY, INPUT, NONE, Default, Field
from drover.network.operators.base import (
    Derived,
    Operator,
    Table,
    expression_fault,
    missing_column,
    name_faults,
    need_time,
    span_fault,
)
from drover.network.operators.kind import OperatorKind
from drover.network.operators.sharing import GROUP, OutputNeeds, QuerySharing
from drover.network.operators.words import computed
from drover.network.schema import Column, Schema
from drover.network.types import TIMESTAMP

# The event time of a result is the last instant of its window, as with Spark's window_time(). The result of
# [59 s, 60 s) then falls into the minute that ends at 60 s, and is never late for a window further down.
WINDOW_START: Final = "window_start"
WINDOW_END: Final = "window_end"  # exclusive
WINDOW_TIME: Final = "window_time"  # window_end - 1 us
WINDOW_COLUMNS: Final = (WINDOW_START, WINDOW_END, WINDOW_TIME)

MOST_WINDOWS: Final = 10_000  # that one row may fall into; more is a typing error and would flood any engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Operator):
    """Aggregates each group of rows over windows [k * advance, k * advance + size), counted from 1970 (UTC).

    The result of a window is emitted when the watermark reaches its end. With `timeout`, a window also closes `timeout`
    after the event time of its first row. Rows at or after that instant do not count.
    """

    kind: ClassVar[str] = "aggregate"

    input: str
    size: Micros
    advance: Micros
    compute: tuple[Named, ...]  # output column, aggregate expression such as sum(bytes)
    group_by: tuple[str, ...] = ()
    timeout: Micros | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    @property
    def holds_state(self) -> bool:
        """Open windows are state."""
        return True

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns it groups by."""
        return self.group_by

    def columns_in_state(self, inputs: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Return the columns that it groups by and aggregates."""
        (schema,) = inputs
        calls = [parse_aggregate(named.expression, schema.types) for named in self.compute]
        return (schema.only([*self.group_by, *(name for call in calls for _, name in call.columns)]),)

    def own_faults(self) -> Iterator[Fault]:
        """Yield faults of window lengths, of the time-out and of output names."""
        if self.size <= 0:
            yield span_fault("size", self.size, "a window is longer than nothing", "Write for example 10 s.")
        elif not 0 < self.advance <= self.size:
            rule = "windows advance by more than 0 and at most their size, or rows between them would be lost"
            yield span_fault("advance", self.advance, rule, "Leave it out for windows that stand side by side.")
        elif self.size > MOST_WINDOWS * self.advance:
            rule = f"a row would fall into more than {MOST_WINDOWS} windows"
            yield span_fault("advance", self.advance, rule, "Make it longer, or the size shorter.")
        if self.timeout is not None and self.timeout <= 0:
            way_out = "Leave it out to close windows at their end only."
            yield span_fault("timeout", self.timeout, "a time-out is longer than nothing", way_out)
        if not self.compute:
            yield Fault(("compute",), "empty", "an aggregate computes at least one column", "Add e.g. n: count(*).")
        taken = [*WINDOW_COLUMNS]
        for index, name in enumerate(self.group_by):
            if name.lower() in {other.lower() for other in taken}:
                rule = "the output already has a column of that name"
                yield Fault(("group_by", index), repr(name), rule, "Leave it out, or rename it in a map before.")
            taken.append(name)
        yield from name_faults((named.name for named in self.compute), "compute", taken)

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the window's columns, the groups and the aggregates; event time is `window_time`."""
        (schema,) = inputs
        faults = list(need_time(self.input, schema, ("input",)))
        columns = [Column(name, TIMESTAMP) for name in WINDOW_COLUMNS]
        for index, name in enumerate(self.group_by):
            if name in schema.types:
                columns.append(Column(name, schema.types[name]))
            else:
                faults.append(missing_column(name, schema, ("group_by", index)))
        for named in self.compute:
            try:
                columns.append(Column(named.name, parse_aggregate(named.expression, schema.types).type))
            except ExpressionError as error:
                faults.append(expression_fault(("compute", named.name), error))
        return Derived((None if faults else Schema(tuple(columns), WINDOW_TIME),), tuple(faults))


def _summary(operator: Aggregate) -> str:
    words = [computed(operator.compute)]
    if operator.group_by:
        words.append(f"by {', '.join(operator.group_by)}")
    words.append(f"in {format_duration(operator.size)}")
    if operator.advance != operator.size:
        words.append(f"every {format_duration(operator.advance)}")
    if operator.timeout is not None:
        words.append(f"or {format_duration(operator.timeout)} after the first row")
    return " ".join(words)


def _input_columns(operator: Aggregate, needs: OutputNeeds) -> tuple[frozenset[str], ...]:
    return (frozenset({*operator.group_by, needs.inputs[0].time or ""}),)


def _with_member(operator: Aggregate, member: str) -> Aggregate:
    return replace(operator, group_by=(*operator.group_by, member))


_TOTAL: Final = (Named("n", "count(*)"), Named("total", "sum(amount)"))

AGGREGATE: Final = OperatorKind(
    model=Aggregate,
    fields=(
        INPUT,
        Field("size", codecs.LENGTH, "length of a window", hides=False),
        Field("advance", codecs.LENGTH, "from one window's start to the next", Default(same_as="size"), hides=False),
        Field("group_by", codecs.COLUMN_NAMES, "columns; a window has a result for each of their values", EMPTY),
        Field("compute", codecs.COMPUTE, "the columns to compute"),
        Field("timeout", codecs.LENGTH, "closes a window this long after its first row", NONE, hides=False),
    ),
    summary=_summary,
    samples=(
        Aggregate(name="totals", input="events", size=10_000_000, advance=10_000_000, compute=_TOTAL),
        Aggregate(
            name="sliding", input="events", size=10_000_000, advance=5_000_000, compute=_TOTAL, group_by=("key",)
        ),
        Aggregate(name="early", input="events", size=10_000_000, advance=10_000_000, compute=_TOTAL, timeout=3_000_000),
    ),
    expressions=("compute",),
    sharing=QuerySharing(form=GROUP, columns=_input_columns, with_member=_with_member),
)

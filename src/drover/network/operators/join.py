"""Join: pairs of rows of two streams that are close in event time and fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from drover.errors import ExpressionError, Fault, shorten
from drover.network.durations import Micros
from drover.network.expressions import Expression, parse_pair
from drover.network.grid import SPREAD_RULE, SPREAD_WAY_OUT, Spread, fits
from drover.network.operators.base import (
    Derived,
    Named,
    Operator,
    Table,
    demand_boolean,
    expression_fault,
    missing_column,
    name_faults,
    need_time,
    span_fault,
)
from drover.network.schema import Column, Schema
from drover.network.types import TIMESTAMP

INNER: Final = "inner"
# That a row finds no partner is known when the watermark has passed its window, and so its own event time: whoever
# reads the result of an outer join would have to drop such a row as late.
OUTER_RULE: Final = "joins are inner: a row without a partner is known only when it would be too late for its readers"
OUTER_WAY_OUT: Final = "Leave it out. To find rows without partner, count by key in an aggregate over a union of both."


@dataclass(frozen=True, slots=True)
class Pair:
    """A column of the left input (or of the stream) and the one on the right (or in the table) that must equal it."""

    left: str
    right: str

    def __str__(self) -> str:
        return self.left if self.left == self.right else f"{self.left} = {self.right}"


def parse_key(text: str) -> Pair:
    """Return the pair that `x` (the same name on both sides) or `x = y` says."""
    left, equals, right = (part.strip().strip("`") for part in text.partition("="))
    return Pair(left, right if equals else left)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Operator):
    """Pairs a left row at t1 with a right row at t2 if -right_window <= t2 - t1 <= left_window and they fit.

    So a left row waits `left_window` for right rows that come after it, and the other way round. They fit if every
    pair in `on` is equal (NULL equals nothing) and `where`, a predicate over `left.x` and `right.y`, is true.
    A result's event time is the later of the two; it stands in a column named like the left input's event time.
    With `spread` its pairs are made by instances on several nodes, each pair by one of them.
    """

    kind: ClassVar[str] = "join"

    left: str
    right: str
    left_window: Micros
    right_window: Micros
    on: tuple[Pair, ...] = ()
    where: str | None = None
    select: tuple[Named, ...] = ()  # over left.x and right.y; empty: all columns of both, keys once
    spread: Spread | None = None
    how: str = INNER

    @property
    def inputs(self) -> tuple[str, ...]:
        """Left and right stream; they may be the same."""
        return (self.left, self.right)

    @property
    def holds_state(self) -> bool:
        """Both windows are state."""
        return True

    @property
    def is_sticky(self) -> bool:
        """Windows are expected to be large, unless `sticky` says otherwise."""
        return self.sticky if self.sticky is not None else True

    def own_faults(self) -> Iterator[Fault]:
        """Yield faults of the windows and of the selected names."""
        for value in (self.left_window, self.right_window):
            if value < 0:
                yield span_fault("within", value, "a window is not negative", "Write for example 10 s.")
        if self.how != INNER:
            yield Fault(("how",), shorten(self.how), OUTER_RULE, OUTER_WAY_OUT)
        if self.spread is not None and not fits(self.spread):
            yield Fault(("spread",), shorten(self.spread), SPREAD_RULE, SPREAD_WAY_OUT)
        yield from name_faults((named.name for named in self.select), "select")

    def full_select(self, left: Schema, right: Schema) -> tuple[Named, ...]:
        """Return every output column but the event time, with its expression over `left.x` and `right.y`."""
        if self.select:
            return self.select
        keys = {pair.right for pair in self.on if pair.left == pair.right}
        return (
            *(Named(name, f"left.`{name}`") for name in left.names if name != left.time),
            *(Named(name, f"right.`{name}`") for name in right.names if name != right.time and name not in keys),
        )

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the event time and the selected columns."""
        left, right = inputs
        faults = [*need_time(self.left, left, ("left",)), *need_time(self.right, right, ("right",))]
        faults += self._key_faults(left, right)
        if self.where is not None:
            predicate = _parsed(self.where, left, right, ("where",), faults)
            demand_boolean(predicate, self.where, ("where",), faults)
        columns = [Column(left.time or "", TIMESTAMP)]
        for named in self.full_select(left, right):
            expression = _parsed(named.expression, left, right, ("select", named.name), faults)
            if expression is not None:
                columns.append(Column(named.name, expression.type))
        if not faults:
            faults += self._clashes(columns)
        return Derived((None if faults else Schema(tuple(columns), left.time),), tuple(faults))

    def _clashes(self, columns: list[Column]) -> Iterator[Fault]:
        """Yield faults for output columns of one name, but for those in `select`: they are among the own faults."""
        time, *others = (column.name for column in columns)
        seen: set[str] = set()
        for name in others:
            rule = ""
            if name.lower() == time.lower():
                rule = "the join's event time has that name already"
            elif name.lower() in seen and not self.select:
                rule = "both inputs have a column of that name"
            if rule:
                way_out = "List the output columns in `select`, each under a name of its own."
                yield Fault(("select", name), repr(name), rule, way_out)
            seen.add(name.lower())

    def _key_faults(self, left: Schema, right: Schema) -> Iterator[Fault]:
        for index, pair in enumerate(self.on):
            if pair.left not in left.types:
                yield missing_column(pair.left, left, ("on", index))
            elif pair.right not in right.types:
                yield missing_column(pair.right, right, ("on", index))
            elif left.types[pair.left] != right.types[pair.right]:
                found = f"{pair.left} {left.types[pair.left]} = {pair.right} {right.types[pair.right]}"
                way_out = "Cast one of them in a map before the join."
                yield Fault(("on", index), found, "keys have the same type on both sides", way_out)


def _parsed(
    text: str, left: Schema, right: Schema, field: tuple[str | int, ...], faults: list[Fault]
) -> Expression | None:
    try:
        return parse_pair(text, left.types, right.types)
    except ExpressionError as error:
        faults.append(expression_fault(field, error))
        return None

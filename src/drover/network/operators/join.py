"""Join: pairs of rows of two streams that are close in event time and fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from drover.errors import ExpressionError, Fault, shorten
from drover.network.columns import KeyPair, Named
from drover.network.durations import Micros, format_duration
from drover.network.expressions import Expression, parse_pair
from drover.network.expressions.tree import LEFT, RIGHT
from drover.network.files import codecs
from drover.network.files.field import EMPTY, NONE, Default, Field
from drover.network.grid import AUTO, SPREAD_RULE, SPREAD_WAY_OUT, Spread, fits
from drover.network.operators.base import (
    Derived,
    Operator,
    Table,
    demand_boolean,
    expression_fault,
    key_type_faults,
    missing_column,
    name_faults,
    need_time,
    span_fault,
)
from drover.network.operators.kind import OperatorKind
from drover.network.operators.sharing import PAIR, OutputNeeds, QuerySharing
from drover.network.schema import Column, Schema
from drover.network.types import TIMESTAMP

INNER: Final = "inner"
# Only when the watermark has passed a row's window is it known that the row has no partner. By then the watermark has
# also passed the row's own event time, so that every reader of an outer join would drop such a row as late.
OUTER_RULE: Final = "joins are inner: a row without a partner is known only when it would be too late for its readers"
OUTER_WAY_OUT: Final = "Leave it out. To find rows without partner, count by key in an aggregate over a union of both."


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Operator):
    """Pairs a left row at t1 with a right row at t2 if -right_window <= t2 - t1 <= left_window and they fit.

    So a left row waits `left_window` for later right rows, and a right row `right_window` for later left rows. Rows fit
    if every pair in `on` is equal (NULL equals nothing) and `where`, a predicate over `left.x` and `right.y`, is true.
    The event time of a result is the later of the two, in a column named like the left input's event time.
    With `spread`, instances on several nodes share the pairs; each pair is made by exactly one of them.
    """

    kind: ClassVar[str] = "join"

    left: str
    right: str
    left_window: Micros
    right_window: Micros
    on: tuple[KeyPair, ...] = ()
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

    @property
    def pair_windows(self) -> tuple[Micros, Micros] | None:
        """Both windows."""
        return (self.left_window, self.right_window)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of both sides that must be equal."""
        return tuple(side for pair in self.on for side in (pair.left, pair.right))

    def without_tuning(self) -> Operator:
        """Return it without names and without its grid; whether it is spread at all decides what its windows keep."""
        spread: Spread | None = None if self.spread is None else AUTO
        return replace(self, name="", was=None, sticky=None, spread=spread)

    def columns_in_state(self, inputs: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Return the columns of either side that keys, predicate or results use."""
        left, right = inputs
        texts = [named.expression for named in self.full_select(left, right)]
        texts += [] if self.where is None else [self.where]
        used = {column for text in texts for column in parse_pair(text, left.types, right.types).columns}
        sides = (
            (left, {name for side, name in used if side == LEFT} | {pair.left for pair in self.on}),
            (right, {name for side, name in used if side == RIGHT} | {pair.right for pair in self.on}),
        )
        return tuple(schema.only(names) for schema, names in sides)

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
        # A column that could not be parsed is missing from the list, so clashes are looked for only without faults.
        if not faults:
            faults += self._clashes(columns)
        return Derived((None if faults else Schema(tuple(columns), left.time),), tuple(faults))

    def _clashes(self, columns: list[Column]) -> Iterator[Fault]:
        """Yield faults for output columns of equal name; `own_faults` already has those within `select`."""
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
        yield from key_type_faults(self.on, left, right)


def _parsed(
    text: str, left: Schema, right: Schema, field: tuple[str | int, ...], faults: list[Fault]
) -> Expression | None:
    try:
        return parse_pair(text, left.types, right.types)
    except ExpressionError as error:
        faults.append(expression_fault(field, error))
        return None


def _summary(operator: Join) -> str:
    keys = [str(pair) for pair in operator.on] + ([operator.where] if operator.where is not None else [])
    spans = dict.fromkeys(format_duration(span) for span in (operator.left_window, operator.right_window))
    spread = "" if operator.spread is None else f", spread {operator.spread}"
    return f"{' and '.join(keys)} within {' and '.join(spans)}{spread}".strip()


def _input_columns(operator: Join, needs: OutputNeeds) -> tuple[frozenset[str], ...]:
    left, right = needs.inputs
    return (
        frozenset({*(pair.left for pair in operator.on), left.time or ""}),
        frozenset({*(pair.right for pair in operator.on), right.time or ""}),
    )


def _with_member(operator: Join, member: str) -> Join:
    # A row meets only rows of its own member, so either side could give the member of the pair.
    select = (*operator.select, Named(member, f"left.`{member}`"))
    return replace(operator, on=(*operator.on, KeyPair(member, member)), select=select)


_BOTH: Final = (Named("first", "left.amount"), Named("second", "right.amount"))

JOIN: Final = OperatorKind(
    model=Join,
    fields=(
        Field("left", codecs.STREAM, "the left stream", reads=True),
        Field("right", codecs.STREAM, "the right stream; may be the same", reads=True),
        Field(
            "within",
            codecs.WITHIN,
            "how long left rows wait for right ones, and right rows for left ones",
            None,
            ("left_window", "right_window"),
            hides=False,
        ),
        Field("on", codecs.KEYS, "columns that must be equal", EMPTY),
        Field("where", codecs.PREDICATE, "a predicate over left.x and right.y", NONE, hides=False),
        Field("select", codecs.SELECT, "the columns to make, over left.x and right.y; left out, all of both", EMPTY),
        Field("spread", codecs.SPREAD, "over how many instances its pairs are spread", NONE, hides=False),
        Field("how", codecs.HOW, "the kind of join; outer ones are refused", Default(INNER), hides=False),
    ),
    summary=_summary,
    samples=(
        Join(
            name="pairs",
            left="events",
            right="more_events",
            left_window=5_000_000,
            right_window=2_000_000,
            on=(KeyPair("key", "key"),),
            select=_BOTH,
        ),
        Join(
            name="band",
            left="events",
            right="events",
            left_window=3_000_000,
            right_window=3_000_000,
            where="left.amount < right.amount",
            select=_BOTH,
        ),
    ),
    expressions=("where", "select"),
    sharing=QuerySharing(
        form=PAIR,
        columns=_input_columns,
        with_member=_with_member,
        with_defaults=lambda operator, schemas: replace(operator, select=operator.full_select(*schemas)),
        refused={"spread": "a join of a query runs with its family, and is not spread over nodes"},
    ),
)

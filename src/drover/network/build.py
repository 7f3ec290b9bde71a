"""The fluent builder: a network written in Python, stream by stream.

Rule 1: the builder only collects; `build` checks every rule at once.
Rule 2: a network file can express the same networks, with the same names (see `files`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from drover.network.drawing.summary import describe_source, summary
from drover.network.durations import parse_duration
from drover.network.functions import AnyFunction, Span, columns_of, declaration_of, path_of
from drover.network.grid import SpreadLike, spread_from
from drover.network.model import Network
from drover.network.operators import (
    Aggregate,
    Filter,
    Join,
    Map,
    Named,
    Operator,
    Switch,
    Synthetic,
    Table,
    TableRead,
    TableWrite,
    Union,
    UserDefined,
    parse_key,
)
from drover.network.parts import Source
from drover.network.types import DataType
from drover.wording import count


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _named(columns: Mapping[str, str]) -> tuple[Named, ...]:
    return tuple(Named(name, text) for name, text in columns.items())


@dataclass(slots=True)
class Builder:
    """Builds a network: start with `source`, end with `build`."""

    name: str
    _sources: list[Source] = field(default_factory=list)
    _operators: list[Operator] = field(default_factory=list)
    _outputs: list[str] = field(default_factory=list)
    _tables: list[Table] = field(default_factory=list)

    def source(
        self, name: str, columns: Mapping[str, str | DataType], *, time: str | None = None, lateness: Span = "0 s"
    ) -> Stream:
        """Add a source with its columns and types, event-time column and allowed lateness."""
        self._sources.append(Source(name, columns_of(columns), time, parse_duration(lateness)))
        return Stream(self, name)

    def table(self, name: str, columns: Mapping[str, str | DataType], *, key: str | Sequence[str]) -> str:
        """Add a relational table, and return its name for `read_table` and `write_table`."""
        self._tables.append(Table(name, columns_of(columns), _names(key)))
        return name

    def add(self, operator: Operator) -> Stream:
        """Add any operator and return its stream; for an operator with several outputs, call `stream`."""
        self._operators.append(operator)
        return Stream(self, operator.name)

    def stream(self, name: str) -> Stream:
        """Return the stream of that name."""
        return Stream(self, name)

    def output(self, stream: Stream) -> Stream:
        """Make a stream an output of the network, to be sent to sinks."""
        self._outputs.append(stream.name)
        return stream

    def describe(self, stream: str) -> str:
        """Return what makes a stream, on one line."""
        for source in self._sources:
            if source.name == stream:
                return f"source {describe_source(source)}"
        for operator in self._operators:
            if stream == operator.name or stream in operator.outputs:
                return f"{operator.kind} {summary(operator)}"
        return "not made yet"

    def __repr__(self) -> str:
        return (
            f"<Builder {self.name}: {count(len(self._sources), 'source')}, {count(len(self._operators), 'operator')}>"
        )

    def build(self) -> Network:
        """Return the network; NetworkError lists every fault."""
        return Network(
            self.name, tuple(self._sources), tuple(self._operators), tuple(self._outputs), tuple(self._tables)
        )


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of a network under construction; each method adds an operator that reads it, and returns its output.

    `sticky` and `was` are fields of every operator, as in a network file: whether it is expensive to move, and its name
    before it was renamed.
    """

    builder: Builder
    name: str

    def filter(self, name: str, where: str, *, sticky: bool | None = None, was: str | None = None) -> Stream:
        """Keep the rows for which the SQL predicate `where` is true."""
        return self.builder.add(Filter(name=name, input=self.name, where=where, sticky=sticky, was=was))

    def switch(
        self,
        name: str,
        cases: Mapping[str, str],
        *,
        rest: str | None = None,
        sticky: bool | None = None,
        was: str | None = None,
    ) -> dict[str, Stream]:
        """Split the rows: the first case whose predicate is true gets a row, else `rest`. Returns branch -> stream."""
        operator = Switch(name=name, input=self.name, cases=_named(cases), rest=rest, sticky=sticky, was=was)
        self.builder.add(operator)
        return {branch: Stream(self.builder, f"{name}.{branch}") for branch in operator.branches}

    def map(
        self, name: str, select: Mapping[str, str], *, sticky: bool | None = None, was: str | None = None
    ) -> Stream:
        """Make exactly the columns in `select`: name -> SQL expression."""
        return self.builder.add(Map(name=name, input=self.name, select=_named(select), sticky=sticky, was=was))

    def extend(
        self, name: str, select: Mapping[str, str], *, sticky: bool | None = None, was: str | None = None
    ) -> Stream:
        """Keep all columns and add (or replace) those in `select`."""
        return self.builder.add(
            Map(name=name, input=self.name, select=_named(select), extend=True, sticky=sticky, was=was)
        )

    def union(self, name: str, *others: Stream, sticky: bool | None = None, was: str | None = None) -> Stream:
        """Merge with other streams of the same columns."""
        streams = (self.name, *(other.name for other in others))
        return self.builder.add(Union(name=name, streams=streams, sticky=sticky, was=was))

    def aggregate(
        self,
        name: str,
        compute: Mapping[str, str],
        *,
        size: Span,
        advance: Span | None = None,
        group_by: str | Sequence[str] = (),
        timeout: Span | None = None,
        sticky: bool | None = None,
        was: str | None = None,
    ) -> Stream:
        """Aggregate over event-time windows: `compute` is column -> aggregate, such as `{"n": "count(*)"}`."""
        return self.builder.add(
            Aggregate(
                name=name,
                input=self.name,
                size=parse_duration(size),
                advance=parse_duration(size if advance is None else advance),
                compute=_named(compute),
                group_by=_names(group_by),
                timeout=None if timeout is None else parse_duration(timeout),
                sticky=sticky,
                was=was,
            )
        )

    def join(
        self,
        name: str,
        other: Stream,
        *,
        within: Span | tuple[Span, Span],
        on: str | Sequence[str] = (),
        where: str | None = None,
        select: Mapping[str, str] | None = None,
        spread: SpreadLike | None = None,
        how: str = "inner",
        sticky: bool | None = None,
        was: str | None = None,
    ) -> Stream:
        """Pair rows with those of `other`; `within`: how long left (and right) rows wait; `on` lists `x` or `x = y`.

        `spread` sets the instances: `"auto"`, their number, or (rows, columns) of a grid, also written `"2 x 3"`.
        Joins are inner; another `how` is refused.
        """
        left_window, right_window = within if isinstance(within, tuple) else (within, within)
        return self.builder.add(
            Join(
                name=name,
                left=self.name,
                right=other.name,
                left_window=parse_duration(left_window),
                right_window=parse_duration(right_window),
                on=tuple(parse_key(text) for text in _names(on)),
                where=where,
                select=_named(select or {}),
                spread=None if spread is None else spread_from(spread),
                how=how,
                sticky=sticky,
                was=was,
            )
        )

    def read_table(
        self,
        name: str,
        table: str,
        *,
        on: str | Sequence[str],
        columns: str | Sequence[str],
        drop_unmatched: bool = False,
        sticky: bool | None = None,
        was: str | None = None,
    ) -> Stream:
        """Add columns of the table's row with the same key; `on` lists `x` or `stream column = table column`."""
        return self.builder.add(
            TableRead(
                name=name,
                input=self.name,
                from_table=table,
                on=tuple(parse_key(text) for text in _names(on)),
                columns=_names(columns),
                drop_unmatched=drop_unmatched,
                sticky=sticky,
                was=was,
            )
        )

    def write_table(self, name: str, table: str, *, sticky: bool | None = None, was: str | None = None) -> None:
        """Keep the latest row per key in the table."""
        self.builder.add(TableWrite(name=name, input=self.name, into=table, sticky=sticky, was=was))

    def apply(self, name: str, marked: AnyFunction, *, sticky: bool | None = None, was: str | None = None) -> Stream:
        """Call a function marked with `drover.function` on the rows."""
        says = declaration_of(marked)
        return self.builder.add(
            UserDefined(
                name=name,
                input=self.name,
                function=path_of(marked),
                columns=says.columns,
                time=says.time,
                keeps_state=says.keeps_state,
                cost=says.cost,
                frame=says.frame,
                timeout=says.timeout,
                sticky=sticky,
                was=was,
            )
        )

    def synthetic(
        self,
        name: str,
        *,
        cost: float,
        selectivity: float = 1.0,
        seed: int = 0,
        wait: float = 0.0,
        sticky: bool | None = None,
        was: str | None = None,
    ) -> Stream:
        """Burn `cost` seconds per row, wait `wait` seconds, and emit `selectivity` rows for each, for experiments."""
        return self.builder.add(
            Synthetic(
                name=name,
                input=self.name,
                cost=cost,
                selectivity=selectivity,
                seed=seed,
                wait=wait,
                sticky=sticky,
                was=was,
            )
        )

    def output(self) -> Stream:
        """Make this stream an output of the network, to be sent to sinks."""
        return self.builder.output(self)

    def __repr__(self) -> str:
        return f"<Stream {self.name}: {self.builder.describe(self.name)}>"

    def _repr_html_(self) -> str:
        """Return name and maker of the stream, for a notebook."""
        return f"<b>{escape(self.name)}</b>: <code>{escape(self.builder.describe(self.name))}</code>"

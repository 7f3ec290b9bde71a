"""Strategies for whole networks, every kind of operator among them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from hypothesis import strategies as st

from drover.network.durations import UNITS
from drover.network.functions import AnyFunction, declaration_of, path_of
from drover.network.grid import Grid
from drover.network.model import Network
from drover.network.operators import (
    COST_CLASSES,
    OPERATORS,
    WINDOW_COLUMNS,
    Aggregate,
    Filter,
    Join,
    KeyPair,
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
)
from drover.network.parts import Source
from drover.network.schema import Column, Schema
from tests import user_functions
from tests.strategies.values import Draw, aggregations, column_names, durations, predicates, scalars, schemas, types

FUNCTIONS: Final[tuple[AnyFunction, ...]] = (user_functions.nulls_per_row, user_functions.rows_so_far)
SPREADS: Final = st.sampled_from([None, None, "auto", 4, Grid(2, 3)])
STICKY: Final = st.sampled_from((None, True, False))


@dataclass(slots=True)
class Sketch:
    """A network in the making: what has been drawn so far."""

    draw: Draw
    runnable: bool
    shared_tables: bool
    streams: dict[str, Schema] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)  # event-time column of those who write a table, by table
    read: set[str] = field(default_factory=set)  # tables

    def stream(self, names: Collection[str] | None = None) -> tuple[str, Schema]:
        """Draw one of the streams, or of those in `names`."""
        name = self.draw(st.sampled_from(sorted(self.streams if names is None else names)))
        return name, self.streams[name]

    @property
    def timed(self) -> list[str]:
        """Streams with event time."""
        return [name for name, schema in self.streams.items() if schema.time is not None]

    def columns(self, schema: Schema, least: int = 0) -> list[str]:
        """Draw some columns of a schema, each once, in any order."""
        return list(self.draw(st.lists(st.sampled_from(schema.names), unique=True, min_size=least, max_size=3)))

    def named(self, texts: st.SearchStrategy[str], taken: Collection[str] = (), least: int = 1) -> tuple[Named, ...]:
        """Draw output columns under names of their own."""
        made: list[Named] = []
        for _ in range(self.draw(st.integers(least, 3))):
            name = self.draw(column_names([*taken, *(named.name for named in made)]))
            made.append(Named(name, self.draw(texts)))
        return tuple(made)


def _filter(sketch: Sketch, name: str) -> Operator:
    source, schema = sketch.stream()
    return Filter(name=name, input=source, where=sketch.draw(predicates(schema)), sticky=sketch.draw(STICKY))


def _switch(sketch: Sketch, name: str) -> Operator:
    source, schema = sketch.stream()
    cases = sketch.named(predicates(schema))
    rest = sketch.draw(st.none() | column_names([case.name for case in cases]))
    return Switch(name=name, input=source, cases=cases, rest=rest, sticky=sketch.draw(STICKY))


def _map(sketch: Sketch, name: str) -> Operator:
    source, schema = sketch.stream()
    select = sketch.named(scalars(schema))
    if schema.time is not None and sketch.draw(st.booleans()):  # half of all maps keep the event time
        kept = sketch.draw(column_names([named.name for named in select]))
        select = (Named(kept, f"`{schema.time}`"), *select)
    return Map(name=name, input=source, select=select, extend=sketch.draw(st.booleans()), sticky=sketch.draw(STICKY))


def _union(sketch: Sketch, name: str) -> Operator:
    first, _schema = sketch.stream(_mergeable(sketch))
    others = sorted(_alike(sketch, first))
    chosen = sketch.draw(st.lists(st.sampled_from(others), min_size=1, max_size=2, unique=True))
    return Union(name=name, streams=(first, *chosen), sticky=sketch.draw(STICKY))


def _alike(sketch: Sketch, first: str) -> set[str]:
    wanted = (dict(sketch.streams[first].types), sketch.streams[first].time)
    alike = {name for name, schema in sketch.streams.items() if (dict(schema.types), schema.time) == wanted}
    return alike - {first}


def _mergeable(sketch: Sketch) -> list[str]:
    return [name for name in sketch.streams if _alike(sketch, name)]


def _aggregate(sketch: Sketch, name: str) -> Operator:
    source, schema = sketch.stream(sketch.timed)
    group_by = tuple(key for key in sketch.columns(schema) if key not in WINDOW_COLUMNS)
    advance = sketch.draw(durations(UNITS["ms"], UNITS["d"]))
    size = advance * sketch.draw(st.integers(1, 5)) + sketch.draw(st.sampled_from((0, UNITS["us"], UNITS["ms"])))
    return Aggregate(
        name=name,
        input=source,
        size=size,
        advance=advance,
        compute=sketch.named(aggregations(schema), (*WINDOW_COLUMNS, *group_by)),
        group_by=group_by,
        timeout=sketch.draw(st.none() | durations(1, UNITS["d"])),
        sticky=sketch.draw(STICKY),
    )


def _join(sketch: Sketch, name: str) -> Operator:
    (left, lefts), (right, rights) = sketch.stream(sketch.timed), sketch.stream(sketch.timed)
    pairs = [KeyPair(a, b) for a, x in lefts.types.items() for b, y in rights.types.items() if x == y]
    where = st.none() | predicates(lefts, "left.") | predicates(rights, "right.")
    on = tuple(sketch.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2)))
    same = {pair.right for pair in on if pair.left == pair.right}
    all_names = [*lefts.names, *(key for key in rights.names if key != rights.time and key not in same)]
    clash = len({key.lower() for key in all_names}) < len(all_names)
    texts = scalars(lefts, "left.") | scalars(rights, "right.")
    select = sketch.named(texts, [lefts.time or ""]) if clash or sketch.draw(st.booleans()) else ()
    return Join(
        name=name,
        left=left,
        right=right,
        left_window=sketch.draw(durations(0, UNITS["h"])),
        right_window=sketch.draw(durations(0, UNITS["h"])),
        on=on,
        where=sketch.draw(where),
        select=select,
        spread=sketch.draw(SPREADS),
        sticky=sketch.draw(STICKY),
    )


def _table_read(sketch: Sketch, name: str) -> Operator:
    source, schema = sketch.stream()
    keys = sketch.columns(schema, least=1)
    fits = [table for table in sketch.tables.values() if _readable(sketch, table, schema)]
    if fits and sketch.draw(st.booleans()):
        table = sketch.draw(st.sampled_from(fits))
    else:
        columns = [Column(f"k_{key}", schema.types[key]) for key in keys]
        added = sketch.draw(column_names([*schema.names, *(column.name for column in columns)]))
        columns.append(Column(added, sketch.draw(types())))
        table = Table(f"t{len(sketch.tables)}", tuple(columns), tuple(column.name for column in columns[:-1]))
    on = tuple(
        KeyPair(next(own for own, kind in schema.types.items() if kind == table.schema.types[key]), key)
        for key in table.key
    )
    taken = {other.lower() for other in schema.names}
    columns_read = tuple(key for key in table.schema.names if key.lower() not in taken)
    sketch.tables[table.name] = table
    sketch.read.add(table.name)
    drop = sketch.draw(st.booleans())
    return TableRead(name=name, input=source, from_table=table.name, on=on, columns=columns_read, drop_unmatched=drop)


def _readable(sketch: Sketch, table: Table, schema: Schema) -> bool:
    """Return whether a stream has columns for the table's key, and room for one of its columns."""
    types_match = all(table.schema.types[key] in schema.types.values() for key in table.key)
    room = {other.lower() for other in table.schema.names} - {other.lower() for other in schema.names}
    return types_match and bool(room) and (sketch.shared_tables or table.name not in sketch.written)


def _table_write(sketch: Sketch, name: str) -> Operator:
    source, schema = sketch.stream(sketch.timed)
    fits = [table.name for table in sketch.tables.values() if _writable(sketch, table, schema)]
    if fits and sketch.draw(st.booleans()):
        into = sketch.draw(st.sampled_from(sorted(fits)))
    else:
        into = f"t{len(sketch.tables)}"
        keys = sketch.columns(schema, least=1)
        sketch.tables[into] = Table(into, schema.columns, tuple(keys))
    sketch.written[into] = schema.time or ""
    return TableWrite(name=name, input=source, into=into, sticky=sketch.draw(STICKY))


def _writable(sketch: Sketch, table: Table, schema: Schema) -> bool:
    """Return whether a stream has all columns of the table, which in turn has the stream's event time."""
    has_all = table.schema.types.items() <= schema.types.items() and schema.time in table.schema.types
    agrees = sketch.written.get(table.name, schema.time) == schema.time
    return has_all and agrees and (sketch.shared_tables or table.name not in sketch.read)


def _user(sketch: Sketch, name: str) -> Operator:
    marked = sketch.draw(st.sampled_from(FUNCTIONS if sketch.timed else FUNCTIONS[:1]))
    says = declaration_of(marked)
    source, schema = sketch.stream(sketch.timed if says.keeps_state else None)
    if sketch.runnable or sketch.draw(st.booleans()):
        return UserDefined(
            name=name,
            input=source,
            function=path_of(marked),
            columns=says.columns,
            time=says.time,
            keeps_state=says.keeps_state,
            cost=says.cost,
            frame=says.frame,
        )
    made = sketch.draw(schemas())
    return UserDefined(
        name=name,
        input=source,
        function="elsewhere.scores:score",
        columns=made.columns,
        time=made.time,
        keeps_state=schema.time is not None and sketch.draw(st.booleans()),
        cost=sketch.draw(st.sampled_from(sorted(COST_CLASSES))),
        frame=sketch.draw(st.sampled_from(("polars", "arrow"))),
    )


def _synthetic(sketch: Sketch, name: str) -> Operator:
    source, _schema = sketch.stream(sketch.timed)
    return Synthetic(
        name=name,
        input=source,
        cost=sketch.draw(st.floats(0, 1e-6 if sketch.runnable else 60)),
        selectivity=sketch.draw(st.sampled_from((1.0, 0.5, 0.0, 2.25)) | st.floats(0, 3)),
        seed=sketch.draw(st.integers(0, 2**31 - 1)),
        wait=sketch.draw(st.just(0.0) | st.floats(0, 1e-6 if sketch.runnable else 60)),
    )


Step: TypeAlias = Callable[[Sketch, str], Operator]
# How to draw an operator of each kind, and whether the streams so far allow one.
STEPS: Final[Mapping[str, tuple[Step, Callable[[Sketch], object]]]] = {
    Filter.kind: (_filter, lambda _sketch: True),
    Map.kind: (_map, lambda _sketch: True),
    Switch.kind: (_switch, lambda _sketch: True),
    Union.kind: (_union, _mergeable),
    Aggregate.kind: (_aggregate, lambda sketch: sketch.timed),
    Join.kind: (_join, lambda sketch: sketch.timed),
    TableRead.kind: (_table_read, lambda _sketch: True),
    TableWrite.kind: (_table_write, lambda sketch: sketch.timed),
    UserDefined.kind: (_user, lambda _sketch: True),
    Synthetic.kind: (_synthetic, lambda sketch: sketch.timed),
}


@st.composite
def networks(
    draw: Draw,
    *,
    kinds: Collection[str] = tuple(OPERATORS),
    max_operators: int = 6,
    max_sources: int = 2,
    runnable: bool = False,
    shared_tables: bool = True,
) -> Network:
    """Sound networks of at most `max_operators` operators of the given kinds, declared in any order.

    `runnable` keeps to functions that exist and to costs of a microsecond; without `shared_tables` no table is both
    read and written.
    """
    sketch = Sketch(draw, runnable, shared_tables)
    sources = [
        Source(f"s{k}", schema.columns, schema.time, draw(durations(0, UNITS["h"])))
        for k, schema in enumerate(draw(st.lists(schemas(), min_size=1, max_size=max_sources)))
    ]
    sketch.streams |= {source.name: source.schema for source in sources}
    operators: list[Operator] = []
    for j in range(draw(st.integers(0, max_operators))):
        possible = [kind for kind, (_step, allows) in STEPS.items() if kind in kinds and allows(sketch)]
        if not possible:
            break
        operator = STEPS[draw(st.sampled_from(possible))][0](sketch, f"o{j}")
        derived = operator.derive(tuple(sketch.streams[name] for name in operator.inputs), sketch.tables)
        assert not derived.faults, derived.faults
        sketch.streams |= {
            name: schema for name, schema in zip(operator.outputs, derived.schemas, strict=True) if schema is not None
        }
        operators.append(operator)
    read = {name for operator in operators for name in operator.inputs}
    also = set(draw(st.lists(st.sampled_from(sorted(read)), max_size=2))) if read else set()
    outputs = tuple(name for name in sketch.streams if name not in read or name in also)
    declared = tuple(draw(st.permutations(operators)))
    return Network("drawn", tuple(sources), declared, outputs, tuple(sketch.tables.values()))

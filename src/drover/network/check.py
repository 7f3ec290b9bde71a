"""The rules of a network: names, references, no cycles, types, no unread streams.

Rule 1: every fault is reported, in the order of the network. Faults that only follow from another are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Final

from drover.errors import Fault, nearest, nearest_name
from drover.network.expressions.text_size import TextSize
from drover.network.operators import Operator
from drover.network.order import cycle_faults, topological
from drover.network.parts import Parts, source_faults, table_faults
from drover.network.rewrite import input_field, table_field
from drover.network.schema import NAME, NAME_RULE, Schema, known, schema_faults
from drover.network.text_growth import text_growth

# Without a limit, computing the hints would take hours on a hostile file.
MOST_FAULTS: Final = 1_000
RESERVED: Final = "sqlite_"  # in any case
RENAME: Final = "Rename the table; its address in the run file may end in #NAME, its name in the database."


@dataclass(frozen=True, slots=True)
class UnreadParts:
    """What the reader of a file could not make out; nothing is claimed about it.

    `makers` are sources and operators with unknown columns, `tables` are tables with unknown columns; None means that
    any name may be one. `read` are streams that operators outside the parts read; `reads` says that there may be more.
    """

    makers: frozenset[str] | None = frozenset()
    tables: frozenset[str] | None = frozenset()
    read: frozenset[str] = frozenset()
    reads: bool = False

    def makes(self, stream: str) -> bool:
        """Return whether the stream may come from one of the makers."""
        return self.makers is None or stream in self.makers or stream.partition(".")[0] in self.makers

    def keeps(self, table: str) -> bool:
        """Return whether the table may be one of these."""
        return self.tables is None or table in self.tables


CLEAR: Final = UnreadParts()


@dataclass(frozen=True, slots=True)
class ExaminedNetwork:
    """Streams with their schemas (None where a fault hides it), operators in topological order, and all faults.

    `texts` says how long texts can be, by stream; in a stream without an entry, they are as long as in its sources.
    """

    streams: Mapping[str, Schema | None]
    order: tuple[Operator, ...]
    faults: tuple[Fault, ...]
    texts: Mapping[str, TextSize] = field(default_factory=dict)


def examine(parts: Parts, unclear: UnreadParts = CLEAR, texts: Mapping[str, TextSize] | None = None) -> ExaminedNetwork:
    """Check every rule and derive every schema, as far as the parts are clear; `texts` has bounds of the sources."""
    faults = [*_name_faults(parts), *_was_faults(parts), *_own_faults(parts)]
    producers = _producers(parts)
    # A generated file can have thousands of faults, and each costs a search for the nearest name.
    faults += islice(_reference_faults(parts, producers, unclear), MOST_FAULTS)
    order = topological(parts.operators, producers)
    if len(order) < len(parts.operators):
        faults += cycle_faults(parts.operators, producers)
    streams = _derive_all(parts, order, unclear, faults)
    faults += _writing_faults(parts, streams)
    growth = text_growth(order, streams, texts)
    faults += growth.faults
    if not unclear.reads:
        faults += _reading_faults(parts, producers, unclear)
    return ExaminedNetwork(streams, order, tuple(dict.fromkeys(faults)), growth.bounds)


def _name_faults(parts: Parts) -> Iterator[Fault]:
    if not NAME.fullmatch(parts.name):
        yield Fault(("name",), repr(parts.name), NAME_RULE, "Rename the network.")
    streams = [("sources", source.name) for source in parts.sources]
    streams += [("operators", operator.name) for operator in parts.operators]
    # Sources and operators share one namespace, because both name streams. Tables have their own.
    for group in (streams, [("tables", table.name) for table in parts.tables]):
        seen: dict[str, str] = {}
        for section, name in group:
            if not NAME.fullmatch(name):
                yield Fault((section, name), repr(name), NAME_RULE, "Rename it.")
            if name in seen:
                rule = f"there is another of that name among the {seen[name]}"
                yield Fault((section, name), repr(name), rule, "Rename one of the two.")
            seen.setdefault(name, section)
    yield from _table_name_faults(parts)


def _table_name_faults(parts: Parts) -> Iterator[Fault]:
    """Yield names that SQLite, where tables are by default, would refuse or take for the name of another table."""
    seen: dict[str, str] = {}
    for table in parts.tables:
        path = ("tables", table.name)
        if table.name.lower().startswith(RESERVED):
            yield Fault(path, repr(table.name), f"SQLite keeps names that begin with {RESERVED} for itself", RENAME)
        if (other := seen.setdefault(table.name.lower(), table.name)) != table.name:
            rule = f"for SQLite it is the same as table {other!r}"
            yield Fault(path, repr(table.name), rule, "Rename one of the two; upper and lower case do not count.")


def _was_faults(parts: Parts) -> Iterator[Fault]:
    """Yield former names that cannot be one, and those that two operators claim."""
    heirs: dict[str, str] = {}
    for operator in parts.operators:
        if operator.was is None:
            continue
        path = ("operators", operator.name, "was")
        if not NAME.fullmatch(operator.was):
            yield Fault(path, repr(operator.was), NAME_RULE, "Write the former name, or leave it out.")
        if operator.was == operator.name:
            yield Fault(path, repr(operator.was), "this is its present name", "Write the former name, or leave it out.")
        if (other := heirs.setdefault(operator.was, operator.name)) != operator.name:
            rule = f"operator {other!r} has that former name, too, and state has one heir"
            yield Fault(path, repr(operator.was), rule, "Leave it out at one of the two.")


def _own_faults(parts: Parts) -> Iterator[Fault]:
    if not parts.sources:
        yield Fault(("sources",), "empty", "a network has at least one source", "Add a source.")
    for source in parts.sources:
        yield from (fault.under("sources", source.name) for fault in source_faults(source))
    for table in parts.tables:
        yield from (fault.under("tables", table.name) for fault in table_faults(table))
    for operator in parts.operators:
        yield from (fault.under("operators", operator.name) for fault in operator.own_faults())


def _producers(parts: Parts) -> dict[str, Operator | None]:
    """Return the operator that makes each stream (None for a source). If a name is used twice, the first counts."""
    producers: dict[str, Operator | None] = {source.name: None for source in parts.sources}
    for operator in parts.operators:
        for stream in operator.outputs:
            producers.setdefault(stream, operator)
    return producers


def _reference_faults(parts: Parts, producers: Mapping[str, Operator | None], unclear: UnreadParts) -> Iterator[Fault]:
    tables = dict.fromkeys(sorted(table.name for table in parts.tables))
    # A part of the file that could not be read may make a stream or a table (`unclear`); it is not reported as unknown
    # then.
    streams = sorted(producers)
    for operator in parts.operators:
        for index, stream in enumerate(operator.inputs):
            if stream not in producers and not unclear.makes(stream):
                yield _unknown(("operators", operator.name, *input_field(operator, index)), stream, "stream", streams)
        if operator.table is not None and operator.table not in tables and not unclear.keeps(operator.table):
            path = ("operators", operator.name, table_field(operator))
            yield _unknown(path, operator.table, "table", list(tables))
    seen: set[str] = set()
    for index, stream in enumerate(parts.outputs):
        if stream not in producers and not unclear.makes(stream):
            yield _unknown(("outputs", index), stream, "stream", streams)
        elif stream in seen:
            yield Fault(("outputs", index), repr(stream), "a stream is listed once", "Leave it out here.")
        seen.add(stream)


def _unknown(path: tuple[str | int, ...], name: str, what: str, names: list[str]) -> Fault:
    """Return the fault of naming something that is not among `names`, which are sorted."""
    # The branches of switch `s` are streams `s.x`, so in sorted order they stand together.
    first = bisect_left(names, f"{name}.")
    if switch := list(takewhile(lambda stream: stream.startswith(f"{name}."), islice(names, first, None))):
        hint = f"It is a switch: name one of its streams, {known(switch)}."
        return Fault(path, repr(name), f"there is no such {what}", hint)
    return Fault(path, repr(name), f"there is no such {what}", f"{nearest(name, names)}Known: {known(names)}.")


def _derive_all(
    parts: Parts, order: tuple[Operator, ...], unclear: UnreadParts, faults: list[Fault]
) -> dict[str, Schema | None]:
    """Return the schema of every stream, adding faults; operators that read a faulty stream are not checked further."""
    tables = {
        table.name: table for table in parts.tables if not any(table_faults(table)) and not unclear.keeps(table.name)
    }
    streams: dict[str, Schema | None] = {}
    for source in parts.sources:
        known_schema = not unclear.makes(source.name) and not any(source_faults(source))
        streams.setdefault(source.name, source.schema if known_schema else None)
    for operator in order:
        inputs = tuple(schema for stream in operator.inputs if (schema := streams.get(stream)) is not None)
        hidden = len(inputs) < len(operator.inputs) or (operator.table is not None and operator.table not in tables)
        schemas: tuple[Schema | None, ...] = (None,) * len(operator.outputs)
        if not hidden and inputs and len(faults) < MOST_FAULTS:
            derived = operator.derive(inputs, tables)
            faults += (fault.under("operators", operator.name) for fault in derived.faults)
            schemas = derived.schemas
            if any(operator.own_faults()):  # for example a column named twice: faults further down would only repeat it
                schemas = tuple(None if schema and any(schema_faults(schema)) else schema for schema in schemas)
        for stream, schema in zip(operator.outputs, schemas, strict=True):
            streams.setdefault(stream, None if unclear.makes(operator.name) else schema)
    return streams


def _reading_faults(parts: Parts, producers: Mapping[str, Operator | None], unclear: UnreadParts) -> Iterator[Fault]:
    """Yield a fault for every stream without a reader, and for a network without any output."""
    read = {stream for operator in parts.operators for stream in operator.inputs} | set(parts.outputs) | unclear.read
    # A misspelt name is one fault: the stream that was meant counts as read. Naming a switch counts for all its cases.
    strays = sorted(name for name in read if name not in producers)[:MOST_FAULTS]
    read |= {nearest_name(name, producers) for name in strays}
    read |= {stream for stream in producers if stream.partition(".")[0] in strays}
    # If the network has no output at all, that is the one fault, not each stream that might have been an output.
    closed = not parts.outputs and not unclear.read and all(operator.outputs for operator in parts.operators)
    for stream, producer in producers.items():
        if stream in read or (closed and (producer is not None or not parts.operators)):
            continue
        path: tuple[str, ...] = ("sources", stream)
        if producer is not None:
            path = ("operators", producer.name, *producer.output_field(stream))
        yield Fault(
            path,
            repr(stream),
            "every stream must be read by an operator or be an output",
            "Add it to outputs, or remove it.",
        )
    if closed and producers:
        yield Fault(("outputs",), "empty", "a network must have an output or write a table", "List a stream.")


def _writing_faults(parts: Parts, streams: Mapping[str, Schema | None]) -> Iterator[Fault]:
    """Yield a fault where two streams written into one table carry their event time in different columns."""
    times: dict[str, str] = {}
    for operator in parts.operators:
        table = operator.table
        if table is None or not operator.writes_table:
            continue
        schema = streams.get(operator.inputs[0])
        if schema is None or schema.time is None:
            continue
        first = times.setdefault(table, schema.time)
        if first != schema.time:
            path = ("operators", operator.name, table_field(operator))
            rule = f"streams written into one table keep their event time in one column, and another uses {first!r}"
            yield Fault(path, repr(table), rule, f"Rename {schema.time!r} in a map before.")

"""A small sound network to break, one rule at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from drover.errors import Fault
from drover.network.check import ExaminedNetwork, examine
from drover.network.functions import columns_of
from drover.network.operators import Aggregate, Filter, Join, Map, Named, Operator, Table
from drover.network.parts import Parts, Source

COLUMNS: Final = {"ts": "timestamp", "key": "int", "tag": "string", "amount": "bigint", "price": "double"}
EVENTS: Final = Source("events", columns_of(COLUMNS), "ts")
OTHERS: Final = Source("others", columns_of({"at": "timestamp", "id": "int", "note": "string"}), "at")
TIMELESS: Final = Source("timeless", columns_of({"key": "int", "tag": "string"}))
PRICES: Final = Table("prices", columns_of({"key": "int", "list_price": "double"}), ("key",))
LATEST: Final = Table("latest", columns_of({"ts": "timestamp", "key": "int", "amount": "bigint"}), ("key",))
SECOND: Final = 1_000_000


@dataclass(frozen=True)
class Case:
    """Operators on sources, and the one fault they have: where it is reported and a piece of what it says."""

    operators: Sequence[Operator]
    path: tuple[str | int, ...]
    says: str
    sources: Sequence[Source] = (EVENTS,)
    tables: Sequence[Table] = ()


def parts_of(
    operators: Sequence[Operator],
    *,
    sources: Sequence[Source] = (EVENTS,),
    tables: Sequence[Table] = (),
    outputs: Sequence[str] | None = None,
    name: str = "network",
) -> Parts:
    """Return parts in which every stream that nobody reads is given out, unless `outputs` says otherwise."""
    made = [*(source.name for source in sources), *(stream for operator in operators for stream in operator.outputs)]
    read = {stream for operator in operators for stream in operator.inputs}
    given = tuple(dict.fromkeys(stream for stream in made if stream not in read)) if outputs is None else tuple(outputs)
    return Parts(name, tuple(sources), tuple(operators), given, tuple(tables))


def examined(case: Case) -> ExaminedNetwork:
    """Return what the check finds."""
    return examine(parts_of(case.operators, sources=case.sources, tables=case.tables))


def faults_of(*operators: Operator, sources: Sequence[Source] = (EVENTS,), tables: Sequence[Table] = ()) -> list[Fault]:
    """Return the faults of operators on sources."""
    return list(examine(parts_of(operators, sources=sources, tables=tables)).faults)


def assert_only_fault(case: Case) -> None:
    """Fail unless the case has its fault and no other."""
    faults = examined(case).faults
    assert [fault.path for fault in faults] == [case.path], [str(fault) for fault in faults]
    assert case.says in str(faults[0])


def named(columns: Mapping[str, str]) -> tuple[Named, ...]:
    """Return output columns from a mapping."""
    return tuple(Named(name, text) for name, text in columns.items())


def a_filter(name: str = "kept", source: str = "events", where: str = "amount > 0", was: str | None = None) -> Filter:
    """Return a filter."""
    return Filter(name=name, input=source, where=where, was=was)


def a_map(select: Mapping[str, str], name: str = "mapped", source: str = "events", *, extend: bool = False) -> Map:
    """Return a map."""
    return Map(name=name, input=source, select=named(select), extend=extend)


def an_aggregate(
    compute: Mapping[str, str] | None = None,
    name: str = "counted",
    source: str = "events",
    size: int = 10 * SECOND,
    advance: int | None = None,
    *,
    group_by: Sequence[str] = (),
    timeout: int | None = None,
) -> Aggregate:
    """Return an aggregate that counts, in windows side by side, unless told otherwise."""
    return Aggregate(
        name=name,
        input=source,
        size=size,
        advance=size if advance is None else advance,
        compute=named({"n": "count(*)"} if compute is None else compute),
        group_by=tuple(group_by),
        timeout=timeout,
    )


def a_join(left: str = "events", right: str = "others", name: str = "joined", **fields: object) -> Join:
    """Return a join within ten seconds; `fields` as those of Join."""
    spans = {"left_window": 10 * SECOND, "right_window": 10 * SECOND}
    return Join(name=name, left=left, right=right, **(spans | fields))  # type: ignore[arg-type]  # fields are tests' own

"""Expected queries: how many will read the same rows of the same streams.

Rule 1: a popularity only decides where queries run. If it is wrong, queries are placed less well, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from drover.errors import DroverError, Fault, NetworkError, nearest, shorten
from drover.network.model import Network
from drover.network.operators import Filter
from drover.network.queries import Query, Shapes

EVERY_ROW: Final = "all"  # in place of a condition
FIELDS: Final = ("queries", "reads")
EXAMPLE: Final = "Write for example {queries: 500, reads: {requests: status = 404}}."
LIST_EXAMPLE: Final = "Write for example [{queries: 500, reads: {requests: status = 404}}]."
PROBE: Final = "probe"  # name of the operator with which a condition is checked

Topic = tuple[str, str, object]  # stream, key column and key value


@dataclass(frozen=True, slots=True)
class ExpectedQueries:
    """Queries that are expected to read these rows."""

    queries: float
    reads: Mapping[str, str]  # stream -> `column = constant`, or EVERY_ROW


def popularity_faults(given: object) -> Iterator[Fault]:
    """Yield the faults of expected queries, as read from a file; conditions are checked with the network."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        yield Fault((), shorten(given), "it must be a list of expected queries", LIST_EXAMPLE)
        return
    for index, one in enumerate(given):
        if not isinstance(one, Mapping):
            yield Fault((index,), shorten(one), "it must be a mapping with queries and reads", EXAMPLE)
            continue
        yield from (fault.under(index) for fault in _entry_faults(one))


def _entry_faults(one: Mapping[Any, Any]) -> Iterator[Fault]:  # Any: as read from a file
    for name in one:
        if name not in FIELDS:
            yield Fault(
                (str(name),), "unknown", "there is no such field", f"{nearest(str(name), FIELDS)}Known: queries, reads."
            )
    count = one.get("queries")
    if isinstance(count, bool) or not isinstance(count, int | float) or not 0 < count < math.inf:
        yield Fault(("queries",), shorten(count), "it must be a number above 0: how many are expected", EXAMPLE)
    reads = one.get("reads")
    if not isinstance(reads, Mapping) or not reads:
        yield Fault(("reads",), shorten(reads), "it must be a mapping of streams to what is read of them", EXAMPLE)


def popularity_of(given: Sequence[Any] | None) -> tuple[ExpectedQueries, ...]:  # Any: ExpectedQueries, or its fields
    """Return expected queries; DroverError with the first fault they have."""
    plain = list(map(_plain, given)) if isinstance(given, list | tuple) else given
    for fault in popularity_faults([] if plain is None else plain):
        raise DroverError(fault.under("popularity").text)
    return tuple(_made(one["queries"], one["reads"]) for one in plain or ())


def _made(queries: float, reads: Mapping[Any, Any]) -> ExpectedQueries:  # Any: as read from a file
    return ExpectedQueries(float(queries), MappingProxyType({str(stream): str(rows) for stream, rows in reads.items()}))


def _plain(one: Any) -> Any:  # Any: as in `popularity_of`
    return {"queries": one.queries, "reads": one.reads} if isinstance(one, ExpectedQueries) else one


def unfit(network: Network, expected: Sequence[ExpectedQueries]) -> Iterator[Fault]:
    """Yield a fault for each stream or condition that does not fit the network."""
    shapes = Shapes(network)
    for index, one in enumerate(expected):
        for stream, rows in one.reads.items():
            yield from (fault.under(index, "reads", stream) for fault in _read_faults(shapes, network, stream, rows))


def _read_faults(shapes: Shapes, network: Network, stream: str, rows: str) -> Iterator[Fault]:
    if stream not in network.streams:
        yield Fault(
            (),
            "unknown",
            "the network has no such stream",
            f"{nearest(stream, network.streams)}Name one of its streams.",
        )
        return
    try:
        found = topic_of(shapes, stream, rows)
    except NetworkError as error:
        fault = error.faults[0]
        yield Fault((), fault.value, fault.rule, fault.way_out)
        return
    if found is None:
        yield Fault(
            (),
            shorten(rows),
            "it must be one condition column = constant, by which rows are looked up, or all",
            f"Write for example status = 404, or {EVERY_ROW} if the queries read every row.",
        )


def topic_of(shapes: Shapes, stream: str, rows: str) -> Topic | None:
    """Return the topic that a query with this condition reads; None if rows cannot be looked up by it."""
    if rows == EVERY_ROW:
        return stream, "", None
    shaped = shapes.shape_of(Query(PROBE, PROBE, (Filter(name=PROBE, input=stream, where=rows),), PROBE))
    key = shaped.shape.key_of(stream)
    # With a second condition, more rows travel than pass, so the popularity would mean something else than it says.
    if key is None or len(shaped.constants) != 1 or any(step.rest for step in shaped.shape.steps):
        return None
    return stream, key.column, shaped.constants[key.constant]


def topics_expected(
    network: Network, expected: Sequence[ExpectedQueries]
) -> tuple[tuple[tuple[Topic, ...], float], ...]:
    """Return the topics of each type of queries, and how many are expected; DroverError if one does not fit."""
    for fault in unfit(network, expected):
        raise DroverError(fault.under("popularity").text)
    shapes = Shapes(network)
    return tuple(
        (tuple(topic for stream, rows in one.reads.items() if (topic := topic_of(shapes, stream, rows))), one.queries)
        for one in expected
    )

"""Admission of submitted queries one by one: each is checked on its own and accepted, or refused with its faults.

Rule 1: nothing is changed here. Accepted queries come back in the order given, with shape and constants.
Rule 2: faults look like those of a network file: field, value, rule and way out.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from drover.control.tenants import AllLimits, limits_for
from drover.errors import Fault, NetworkError, shorten
from drover.network.files.document import Node
from drover.network.queries import Query, Shaped, Shapes
from drover.network.queries.notation import LONGEST_LINE, QueryEntry, entry_of, plain_of
from drover.network.queries.read import read_entry, write_query

QueryLike = Query | QueryEntry | Mapping[str, object]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AcceptedQuery:
    """A query that may run, and the text that the query log keeps of it."""

    index: int  # in the request
    query: Query
    shaped: Shaped
    text: str


@dataclass(frozen=True, slots=True)
class RefusedQuery:
    """A query that may not run, and why; `name` is None if it could not be read."""

    index: int  # in the request
    name: str | None
    faults: tuple[Fault, ...]

    def json(self) -> dict[str, Any]:  # Any: JSON
        """Return the refusal as JSON."""
        faults = [
            {"path": list(one.path), "value": one.value, "rule": one.rule, "way_out": one.way_out, "text": one.text}
            for one in self.faults
        ]
        return {"index": self.index, "name": self.name, "faults": faults}


@dataclass(slots=True)
class AdmissionResult:
    """The accepted and the refused queries of one request."""

    accepted: list[AcceptedQuery] = field(default_factory=list)
    refused: list[RefusedQuery] = field(default_factory=list)


def entry_for(one: QueryLike, index: int) -> QueryEntry:
    """Return a query in any of its forms as an entry of a query file; its line is its place in the request."""
    plain = write_query(one) if isinstance(one, Query) else one
    return plain if isinstance(plain, QueryEntry) else entry_of(plain, index + 1)


def admit(
    entries: Iterable[tuple[int, QueryEntry]],
    shapes: Shapes,
    names: Collection[str],
    counts: Mapping[str, int],
    limits: AllLimits,
) -> AdmissionResult:
    """Check queries, given with their places in the request, one after the other.

    The run has queries with these `names`, and `counts` of them per tenant.
    """
    checks = _Checks(shapes, names, limits, Counter(counts))
    result = AdmissionResult()
    for index, entry in entries:
        name = None
        try:
            draft = read_entry(entry)
            name = draft.name
            if draft.query is None or entry.node is None:
                raise NetworkError(draft.faults)
            result.accepted.append(checks.accept(index, entry.node, draft.query))
        except NetworkError as error:
            result.refused.append(RefusedQuery(index, name, error.faults))
        except Exception as error:  # a defect of drover: it refuses this query, and the others of the request go on
            log.exception("a query of a request could not be checked")
            result.refused.append(RefusedQuery(index, name, (_defect(error),)))
    return result


@dataclass(frozen=True, slots=True)
class _Checks:
    """What the queries of one request are checked against; accepted ones count for those after them."""

    shapes: Shapes
    names: Collection[str]
    limits: AllLimits
    counts: Counter[str]  # queries by tenant
    seen: set[str] = field(default_factory=set)

    def accept(self, index: int, node: Node, query: Query) -> AcceptedQuery:
        """Return a query as it is accepted; NetworkError with its faults."""
        text = json.dumps(plain_of(node), ensure_ascii=False, separators=(",", ":"))
        named = _name_faults(query, self.names, self.seen)
        faults = (*named, *_size_faults(text), *_limit_faults(query, self.counts, self.limits))
        # Compiling a shape is the expensive check, so it comes last and only for queries without faults.
        if faults:
            raise NetworkError(faults)
        accepted = AcceptedQuery(index, query, self.shapes.shape_of(query), text)
        self.seen.add(query.name)
        self.counts[query.tenant] += 1
        return accepted


def _defect(error: Exception) -> Fault:
    rule = f"drover failed to check it ({type(error).__name__}: {shorten(str(error))})"
    return Fault(("query",), "not accepted", rule, "See the driver's log, and write the query in another way.")


def _name_faults(query: Query, names: Collection[str], seen: Collection[str]) -> Iterable[Fault]:
    if query.name in names:
        rule = "a query of the run has that name"
        yield Fault(("name",), shorten(query.name), rule, "Choose another, or drop that one first.")
    elif query.name in seen:
        rule = "an earlier query of the request has that name"
        yield Fault(("name",), shorten(query.name), rule, "Choose another.")


def _size_faults(text: str) -> Iterable[Fault]:
    """Yield a fault if the text is longer than a line that a restarted run can read."""
    if len(text) > LONGEST_LINE:
        rule = f"a query has at most {LONGEST_LINE} characters, written as JSON"
        yield Fault(("query",), f"{len(text)} long", rule, "Split it into several, or put it into the network file.")


def _limit_faults(query: Query, counts: Mapping[str, int], limits: AllLimits) -> Iterable[Fault]:
    most = limits_for(query.tenant, limits).queries
    if counts[query.tenant] >= most:
        rule = f"it has {counts[query.tenant]} queries and may have {most:g}"
        yield Fault(("tenant",), shorten(query.tenant), rule, "Drop some of its queries, or raise limits in the run.")

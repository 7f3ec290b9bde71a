"""Where queries are handed in: each is judged by itself, and refused with its reasons or taken.

Rule 1: nothing is changed here; who is taken comes back with shape and constants, in the order given.
Rule 2: a refusal has faults as a network file has, which name the field, the value, the rule and the way out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from drover.control.tenants import AllLimits, limits_for
from drover.errors import Fault, NetworkError, shorten
from drover.network.queries import Query, Shaped, Shapes
from drover.network.queries.notation import LONGEST_LINE, Entry, entry_of, plain_of
from drover.network.queries.read import read_entry, write_query


@dataclass(frozen=True, slots=True)
class Taken:
    """A query that may run, and its text as it is written down."""

    index: int  # among those handed in
    query: Query
    shaped: Shaped
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A query that may not, and why; `name` is None if even that could not be read."""

    index: int  # among those handed in
    name: str | None
    faults: tuple[Fault, ...]

    def json(self) -> dict[str, Any]:  # Any: JSON
        """Return it as JSON."""
        faults = [
            {"path": list(one.path), "value": one.value, "rule": one.rule, "way_out": one.way_out, "text": one.text}
            for one in self.faults
        ]
        return {"index": self.index, "name": self.name, "faults": faults}


@dataclass(slots=True)
class Judged:
    """What became of all that was handed in."""

    taken: list[Taken] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


def entries_for(given: Iterable[Query | Entry | Mapping[str, object]]) -> Iterator[Entry]:
    """Yield queries, or what stands for them, as entries of a file; one at a time, for there may be many."""
    for number, one in enumerate(given, 1):
        plain = write_query(one) if isinstance(one, Query) else one
        yield plain if isinstance(plain, Entry) else entry_of(plain, number)


def judge(
    entries: Iterable[Entry], shapes: Shapes, names: Collection[str], counts: Mapping[str, int], limits: AllLimits
) -> Judged:
    """Judge what is handed in; `names` are taken already, `counts` are the queries that each tenant has."""
    found, seen, having = Judged(), set[str](), Counter(counts)
    for index, entry in enumerate(entries):
        draft = read_entry(entry)
        faults, shaped = draft.faults, None
        query, text = draft.query, ""
        if query is not None and entry.node is not None:
            text = json.dumps(plain_of(entry.node), ensure_ascii=False, separators=(",", ":"))
            named = _name_faults(query, names, seen)
            faults = (*named, *_size_faults(text), *_limit_faults(query, having, limits))
            if not faults:
                try:
                    shaped = shapes.shape_of(query)
                except NetworkError as error:
                    faults = error.faults
        if query is None or shaped is None:
            found.refused.append(Refusal(index, draft.name, tuple(faults)))
            continue
        seen.add(query.name)
        having[query.tenant] += 1
        found.taken.append(Taken(index, query, shaped, text))
    return found


def _name_faults(query: Query, names: Collection[str], seen: Collection[str]) -> Iterable[Fault]:
    if query.name in names:
        rule = "a query of the run has that name"
        yield Fault(("name",), shorten(query.name), rule, "Choose another, or drop that one first.")
    elif query.name in seen:
        rule = "a query handed in before it has that name"
        yield Fault(("name",), shorten(query.name), rule, "Choose another.")


def _size_faults(text: str) -> Iterable[Fault]:
    """Yield a fault if the text is longer than what a run reads again when it starts."""
    if len(text) > LONGEST_LINE:
        rule = f"a query has at most {LONGEST_LINE} characters, written as JSON"
        yield Fault(("query",), f"{len(text)} long", rule, "Split it into several, or put it into the network file.")


def _limit_faults(query: Query, counts: Mapping[str, int], limits: AllLimits) -> Iterable[Fault]:
    most = limits_for(query.tenant, limits).queries
    if counts[query.tenant] >= most:
        rule = f"it has {counts[query.tenant]} queries and may have {most:g}"
        yield Fault(("tenant",), shorten(query.tenant), rule, "Drop some of its queries, or raise limits in the run.")


def all_or_none(judged: Judged) -> Judged:
    """Return the same if all were taken, else all refused: those that were good because of the others."""
    if not judged.refused:
        return judged
    bad = len(judged.refused)
    rule = f"all were to be taken or none, and {bad} of {bad + len(judged.taken)} cannot be"
    fault = Fault(("query",), "not taken", rule, "Correct the others, or hand it in without atomic.")
    held = [Refusal(one.index, one.query.name, (fault,)) for one in judged.taken]
    return Judged([], sorted([*judged.refused, *held], key=lambda one: one.index))

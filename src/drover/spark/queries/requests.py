"""Admission of a request with thousands of queries: those that many others resemble are checked as columns.

Rule 1: the answer is that of `admission.py`, query by query. Whatever depends on the order of the queries (a name that
is given twice, a tenant close to its limit) or is refused is checked there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from drover.control.tenants import AllLimits, limits_for
from drover.errors import Fault
from drover.flow.query_log.log import ADDED
from drover.load.arrays import Flags, Ints
from drover.network.files.document import DEEPEST, Fields
from drover.network.queries import Query
from drover.network.queries.notation import QueryEntry
from drover.network.queries.read import write_query
from drover.network.queries.text_shapes import ShapedTexts, TextShapes
from drover.spark.queries.admission import AdmissionResult, QueryLike, RefusedQuery, admit, entry_for
from drover.spark.queries.families import Family, family_of_texts, merged, tables_of

MANY: Final = 200  # queries of a request; fewer are read one by one in less than 0.1 s
INDEX: Final = "index"  # the place of a query in its request
to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, eq=False)
class CheckedRequest:
    """The queries of a request that are accepted, in the order given, and those that are refused."""

    added: pl.DataFrame  # ADDED
    families: Mapping[str, Family]  # of the accepted queries
    refused: Sequence[RefusedQuery]
    places: Ints  # (accepted,) in the request


def check_request(
    given: Iterable[QueryLike],
    shapes: TextShapes,
    names: Collection[str],
    counts: Mapping[str, int],
    limits: AllLimits,
    first: int,
) -> CheckedRequest:
    """Check the queries of a request; accepted ones are numbered from `first`.

    The run has queries with these `names`, and `counts` of them per tenant.
    """
    queries = [write_query(one) if isinstance(one, Query) else one for one in given]
    texts = pl.Series("text", map(text_of, queries) if len(queries) >= MANY else (), pl.String)
    found = list(shapes.shape_of(texts))
    fast = _without_contested(found, queries, names, counts, limits)
    alone = np.ones(len(queries), bool)
    alone[fast[INDEX].to_numpy()] = False
    entries = ((index, entry_for(queries[index], index)) for index in np.flatnonzero(alone).tolist())
    slow = admit(entries, shapes.shapes, names, counts, limits)
    columns = [INDEX, *ADDED.names()[1:]]
    rows = pl.concat([fast.with_columns(texts[fast[INDEX]]).select(columns), _columns(slow)]).sort(INDEX)
    places = rows[INDEX].to_numpy()
    numbers = np.full(len(queries), -1)
    numbers[places] = np.arange(first, first + len(places))
    added = rows.select(pl.Series("number", numbers[places]), *columns[1:])
    members = tables_of((int(numbers[one.index]), one.query, one.shaped) for one in slow.accepted)
    families = merged([*_families(found, numbers, alone), *members.values()])
    return CheckedRequest(added, families, slow.refused, places)


def text_of(one: object) -> str | None:
    """Return the JSON text of a query if that says everything about it; None if it must be read alone."""
    if type(one) is not dict or not _is_plain(one, DEEPEST):
        return None
    text = to_json(one)
    return text if text.isascii() else None


def _is_plain(value: object, levels: int) -> bool:
    """Return whether JSON keeps a value as it is. It turns other keys into text, and loses subclasses."""
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str or not (type(item) is str or (levels and _is_plain(item, levels - 1))):
                return False
        return True
    if type(value) is list:
        return all(type(item) is str or (levels and _is_plain(item, levels - 1)) for item in value)
    return value is None or type(value) is bool or type(value) is str


def _without_contested(
    found: Sequence[ShapedTexts],
    queries: Sequence[QueryLike],
    names: Collection[str],
    counts: Mapping[str, int],
    limits: AllLimits,
) -> pl.DataFrame:
    """Return the queries that are accepted whatever becomes of the others: place, name, tenant and family of each."""
    parts = [
        pl.DataFrame({INDEX: one.positions, "name": one.names, "tenant": one.tenants}).with_columns(
            pl.lit(one.shape.id).alias("family")
        )
        for one in found
    ]
    schema = {INDEX: pl.Int64(), **{name: pl.String() for name in ("name", "tenant", "family")}}
    rows = pl.concat([pl.DataFrame(schema=schema), *parts])
    alone = np.ones(len(queries), bool)
    alone[rows[INDEX].to_numpy()] = False
    # A query that is read alone may take the name of one that is checked as a column, and the first of the two wins.
    others = {name for index in np.flatnonzero(alone).tolist() for name in _possible_names(queries[index])}
    given = rows["name"].to_list()
    taken = pl.Series([name in names or name in others for name in given], dtype=pl.Boolean)
    sizes = dict(rows["tenant"].value_counts().iter_rows())
    left = int(alone.sum())  # each may be of any tenant
    tight = [
        tenant
        for tenant, size in sizes.items()
        if counts.get(tenant, 0) + size + left > limits_for(tenant, limits).queries
    ]
    return rows.filter(~taken & ~rows["name"].is_duplicated() & ~rows["tenant"].is_in(tight))


def _possible_names(one: QueryLike) -> Iterator[str]:
    """Yield the names that a query may turn out to have when it is read."""
    fields: Iterable[tuple[object, object]] = ()
    if isinstance(one, QueryEntry):
        entries = one.node.entries if isinstance(one.node, Fields) else ()
        fields = ((key.text, getattr(value, "text", None)) for key, value in entries)
    elif isinstance(one, Mapping):
        fields = one.items()
    for key, value in fields:
        if key == "name":
            yield from (str(value), str(value).lower())  # True is read as the name `true`


def _columns(slow: AdmissionResult) -> pl.DataFrame:
    rows = [(one.index, one.query.name, one.query.tenant, one.shaped.shape.id, one.text) for one in slow.accepted]
    schema = {INDEX: pl.Int64(), **{name: kind for name, kind in ADDED.items() if name != "number"}}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _families(found: Iterable[ShapedTexts], numbers: Ints, alone: Flags) -> Iterator[Family]:
    for one in found:
        kept = one.only(~alone[one.positions])
        if len(kept.positions):
            yield family_of_texts(kept, numbers[kept.positions])


def all_or_none(request: CheckedRequest) -> CheckedRequest:
    """Return the same request if nothing of it is refused; otherwise refuse the accepted queries, too."""
    if not request.refused:
        return request
    refused = len(request.refused)
    rule = f"with atomic all queries are accepted or none, and {refused} of {refused + len(request.places)} are refused"
    fault = Fault(("query",), "not accepted", rule, "Correct the others, or submit it without atomic.")
    accepted = zip(request.places.tolist(), request.added["name"], strict=True)
    held_back = [RefusedQuery(index, name, (fault,)) for index, name in accepted]
    everything = sorted([*request.refused, *held_back], key=lambda one: one.index)
    return CheckedRequest(request.added.clear(), {}, everything, request.places[:0])

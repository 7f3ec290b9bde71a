"""From nodes to queries: operators have the same fields as in a network file, and queries have a few of their own.

Rule 1: every query is read on its own: faults of one do not affect the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from drover.errors import Fault
from drover.network.files import codecs
from drover.network.files.codecs import Plain, Text
from drover.network.files.document import Fields, Scalar
from drover.network.files.field import NONE, Default, Field
from drover.network.files.fields import KIND, KINDS
from drover.network.files.lines import placed
from drover.network.files.network_file import plain_fields
from drover.network.files.read import Drafter
from drover.network.operators import Operator
from drover.network.queries.notation import QueryEntry
from drover.network.queries.query import Query

TENANT: Final = "default"  # of a query that names none
QUERY: Final = (
    Field("name", codecs.NAME, "its name, unique in the run; every result row has it"),
    Field(
        "tenant", Text("a name", "acme"), "the tenant that it belongs to; limits are set per tenant", Default(TENANT)
    ),
    Field("output", codecs.STREAM, "the stream of results; by default the only one that no operator reads", NONE),
)
OPERATORS: Final = "operators"


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """A query and its faults; with faults, `query` is None, and so is `name` if it could not be read."""

    line: int
    name: str | None
    query: Query | None
    faults: tuple[Fault, ...] = ()


def read_entries(entries: Iterable[QueryEntry]) -> list[QueryDraft]:
    """Return the query of each entry."""
    return [read_entry(entry) for entry in entries]


def read_entry(entry: QueryEntry) -> QueryDraft:
    """Return the query of an entry, or its faults."""
    root = entry.node
    if root is None:
        return QueryDraft(entry.line, None, None, entry.faults)
    if not isinstance(root, Fields):
        rule = "a query is a mapping of fields to values"
        way_out = "Begin with `name: ...`."
        return QueryDraft(entry.line, None, None, (codecs.fault_at(root, rule, way_out, ("query",)),))
    drafter = Drafter()
    values, _ = drafter.fields((), Scalar("", root.line), root, QUERY, "a query", (OPERATORS,))
    found = next((node for key, node in root.entries if key.text == OPERATORS), None)
    operators = drafter.operators(found)
    if not operators and not drafter.faults:
        way_out = "Add operators: {name: {kind: filter, input: ..., where: ...}}."
        drafter.faults.append(Fault((OPERATORS,), "missing", "a query has at least one operator", way_out, root.line))
    # The name is kept even if the rest is faulty, so that the faults can be listed under it.
    name = values["name"] if ("name",) not in drafter.spoiled else None
    if drafter.faults:
        return QueryDraft(entry.line, name, None, tuple(drafter.faults))
    output = values["output"] or _only_output(operators)
    if output is None:
        ends = ", ".join(_ends(operators)) or "none"
        rule = f"a query has one stream of results, and the streams that no operator reads are: {ends}"
        fault = Fault(("output",), "missing", rule, "Name the stream in output.")
        return QueryDraft(entry.line, name, None, tuple(placed([fault], root)))
    return QueryDraft(entry.line, name, Query(values["name"], values["tenant"], operators, output))


def _ends(operators: Iterable[Operator]) -> list[str]:
    """Return the streams of a query that none of its operators reads."""
    read = {stream for operator in operators for stream in operator.inputs}
    return [stream for operator in operators for stream in operator.outputs if stream not in read]


def _only_output(operators: Iterable[Operator]) -> str | None:
    ends = _ends(operators)
    return ends[0] if len(ends) == 1 else None


def write_query(query: Query) -> dict[str, Plain]:
    """Return a query as it is written in a file."""
    operators: dict[str, Plain] = {
        operator.name: {KIND: operator.kind, **plain_fields(operator, KINDS[operator.kind])}
        for operator in query.operators
    }
    plain: dict[str, Plain] = {"name": query.name, "tenant": query.tenant, OPERATORS: operators, "output": query.output}
    return {name: value for name, value in plain.items() if (name, value) != ("tenant", TENANT)}

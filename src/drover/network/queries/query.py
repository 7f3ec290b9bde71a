"""Queries: a few operators that read streams of a running network and give out one stream.

Rule 1: a query is data; whether it fits a network is for `examine_query` to say, with every fault at once.
Rule 2: what thousands of queries cannot share (functions of users', tables, synthetic load) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from drover.errors import Fault, nearest, shorten
from drover.network.check import examine, input_field
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Join, Map, Named, Operator, Switch, Union
from drover.network.parts import Parts, Source
from drover.network.schema import NAME, NAME_RULE, known

KINDS: Final[Mapping[str, type[Operator]]] = {cls.kind: cls for cls in (Filter, Switch, Map, Union, Aggregate, Join)}
MOST_OPERATORS: Final = 16  # of a query
LONGEST_EXPRESSION: Final = 2_000  # characters; a network file may have longer ones
RESULT: Final = "query"  # the first column of results
IN_THE_FILE: Final = "Put it into the network file instead."


@dataclass(frozen=True, slots=True)
class Query:
    """A small continuous query: `operators` read streams of a network or of each other; `output` is what it gives."""

    name: str
    tenant: str
    operators: tuple[Operator, ...]
    output: str

    @property
    def made(self) -> frozenset[str]:
        """The streams that its own operators make."""
        return frozenset(chain.from_iterable(operator.outputs for operator in self.operators))

    @property
    def reads(self) -> tuple[str, ...]:
        """The streams of the network that it reads, in the order in which it names them."""
        made = self.made
        named = chain.from_iterable(operator.inputs for operator in self.operators)
        return tuple(dict.fromkeys(stream for stream in named if stream not in made))


def examine_query(query: Query, network: Network) -> tuple[Fault, ...]:
    """Return every fault of a query that is to read streams of `network`; none means sound."""
    faults = [*_own_faults(query), *_name_faults(query, network)]
    if faults:
        return tuple(faults)
    names = stand_ins(query)
    sources = tuple(
        Source(name, network.streams[stream].columns, network.streams[stream].time) for stream, name in names.items()
    )
    operators = tuple(reading(operator, names) for operator in query.operators)
    examined = examine(Parts("query", sources, operators, (query.output,)))
    given = examined.streams.get(query.output)
    if not examined.faults and given is not None and RESULT in {name.lower() for name in given.names}:
        rule = f"results have the name of their query in a column {RESULT!r}"
        return (Fault(("output",), repr(query.output), rule, "Rename that column in a map."),)
    return examined.faults


def query_network(query: Query, network: Network) -> Network:
    """Return the network with the query in it: what the query means."""
    operators = (*network.operators, *query.operators)
    return Network(network.name, network.sources, operators, (*network.outputs, query.output), network.tables)


def stand_ins(query: Query) -> dict[str, str]:
    """Return, for each stream that a query reads, the name of a source that may stand for it.

    That is its own name, but for the branches of a switch: a source has no dot in its name.
    """
    taken = {operator.name for operator in query.operators}
    names: dict[str, str] = {}
    for stream in query.reads:
        name = stream.replace(".", "-")
        while name in taken:
            name += "_"
        names[stream] = name
        taken.add(name)
    return names


def reading(operator: Operator, names: Mapping[str, str]) -> Operator:
    """Return the operator reading other streams; those that `names` lacks stay."""
    changed: dict[str, Any] = {}  # Any: fields of every kind of operator
    for field in ("input", "left", "right"):
        if hasattr(operator, field):
            stream = getattr(operator, field)
            changed[field] = names.get(stream, stream)
    if isinstance(operator, Union):
        changed["streams"] = tuple(names.get(stream, stream) for stream in operator.streams)
    return replace(operator, **changed)


def texts(operator: Operator) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every expression of an operator with the path of its field."""
    if isinstance(operator, Filter):
        yield ("where",), operator.where
    elif isinstance(operator, Switch):
        yield from ((("cases", named.name), named.expression) for named in operator.cases)
    elif isinstance(operator, Map):
        yield from ((("select", named.name), named.expression) for named in operator.select)
    elif isinstance(operator, Aggregate):
        yield from ((("compute", named.name), named.expression) for named in operator.compute)
    elif isinstance(operator, Join):
        if operator.where is not None:
            yield ("where",), operator.where
        yield from ((("select", named.name), named.expression) for named in operator.select)


def rewritten(operator: Operator, change: Callable[[str], str]) -> Operator:
    """Return the operator with every expression changed, in the order of `texts`."""

    def each(named: tuple[Named, ...]) -> tuple[Named, ...]:
        return tuple(Named(one.name, change(one.expression)) for one in named)

    match operator:
        case Filter():
            return replace(operator, where=change(operator.where))
        case Switch():
            return replace(operator, cases=each(operator.cases))
        case Map():
            return replace(operator, select=each(operator.select))
        case Aggregate():
            return replace(operator, compute=each(operator.compute))
        case Join():
            where = None if operator.where is None else change(operator.where)
            return replace(operator, where=where, select=each(operator.select))
        case _:
            return operator


def _own_faults(query: Query) -> Iterator[Fault]:
    """Yield what is wrong with a query whatever it reads."""
    for which, name in (("name", query.name), ("tenant", query.tenant)):
        if not NAME.fullmatch(name):
            yield Fault((which,), shorten(name), NAME_RULE, f"Rename the {'query' if which == 'name' else 'tenant'}.")
    if not query.operators:
        yield Fault(("operators",), "empty", "a query has at least one operator", "Add one, for example a filter.")
    if len(query.operators) > MOST_OPERATORS:
        rule = f"a query has at most {MOST_OPERATORS} operators"
        yield Fault(("operators",), f"{len(query.operators)} operators", rule, IN_THE_FILE)
    for operator in query.operators[:MOST_OPERATORS]:
        if operator.kind not in KINDS:
            rule = f"a query is made of {', '.join(KINDS)}, because others cannot be shared"
            yield Fault(("operators", operator.name, "kind"), repr(operator.kind), rule, IN_THE_FILE)
        if isinstance(operator, Join) and operator.spread is not None:
            rule = "a join of a query runs with its family, and is not spread over nodes"
            path = ("operators", operator.name, "spread")
            yield Fault(path, str(operator.spread), rule, f"Leave it out. {IN_THE_FILE}")
        for field, text in texts(operator):
            if len(text) > LONGEST_EXPRESSION:
                rule = f"an expression of a query has at most {LONGEST_EXPRESSION} characters"
                yield Fault(("operators", operator.name, *field), shorten(text), rule, IN_THE_FILE)


def _name_faults(query: Query, network: Network) -> Iterator[Fault]:
    """Yield faults of names that a query shares with the network, and of streams that it should find there."""
    taken = {*network.streams, *(operator.name for operator in network.operators)}
    for operator in query.operators:
        if operator.name in taken:
            rule = "the network has a stream of that name"
            yield Fault(("operators", operator.name), repr(operator.name), rule, "Rename the operator.")
    streams = sorted({*network.streams, *query.made})
    for operator in query.operators:
        for index, stream in enumerate(operator.inputs):
            if stream not in streams:
                path = ("operators", operator.name, *input_field(operator, index))
                hint = f"{nearest(stream, streams)}Known: {known(streams)}."
                yield Fault(path, repr(stream), "there is no such stream", hint)
    if query.output not in query.made:
        rule = "the output is a stream that an operator of the query makes"
        yield Fault(("output",), repr(query.output), rule, f"Known: {known(sorted(query.made))}.")

"""Queries: a few operators that read streams of a running network and output one stream.

Rule 1: a query is data. `examine_query` says whether it fits a network, and lists all its faults.
Rule 2: operators that thousands of queries cannot share (user functions, tables, synthetic load) are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from drover.errors import Fault, nearest, shorten
from drover.network.check import ExaminedNetwork, examine
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.parts import Parts, Source
from drover.network.queries.kinds import KINDS, sharing_of
from drover.network.rewrite import expressions_of, input_field, with_inputs
from drover.network.schema import NAME, NAME_RULE, known

MOST_OPERATORS: Final = 16  # of a query
LONGEST_EXPRESSION: Final = 2_000  # characters; a network file may have longer ones
RESULT: Final = "query"  # the first column of results
IN_THE_FILE: Final = "Put it into the network file instead."


@dataclass(frozen=True, slots=True)
class Query:
    """A small continuous query: `operators` read streams of a network or of each other; `output` has the results."""

    name: str
    tenant: str
    operators: tuple[Operator, ...]
    output: str

    @property
    def made(self) -> frozenset[str]:
        """The output streams of its operators."""
        return frozenset(chain.from_iterable(operator.outputs for operator in self.operators))

    @property
    def reads(self) -> tuple[str, ...]:
        """The streams of the network that it reads, in the order in which it names them."""
        made = self.made
        named = chain.from_iterable(operator.inputs for operator in self.operators)
        return tuple(dict.fromkeys(stream for stream in named if stream not in made))


def examine_query(query: Query, network: Network) -> tuple[Fault, ...]:
    """Return every fault of a query on `network`; none means that it is valid."""
    return derive_query(query, network).faults


def derive_query(query: Query, network: Network) -> ExaminedNetwork:
    """Return the streams of a query on `network`, its operators in topological order, and all its faults.

    The streams that it reads have the names of `source_names`.
    """
    faults = [*_own_faults(query), *_name_faults(query, network)]
    if faults:
        return ExaminedNetwork({}, (), tuple(faults))
    # Check the query as a network of its own, whose sources are the streams that it reads.
    names = source_names(query)
    sources = tuple(
        Source(name, network.streams[stream].columns, network.streams[stream].time) for stream, name in names.items()
    )
    operators = tuple(rename_inputs(operator, names) for operator in query.operators)
    texts = {name: network.texts[stream] for stream, name in names.items() if stream in network.texts}
    examined = examine(Parts("query", sources, operators, (query.output,)), texts=texts)
    given = examined.streams.get(query.output)
    if not examined.faults and given is not None and RESULT in {name.lower() for name in given.names}:
        rule = f"results have the name of their query in a column {RESULT!r}"
        fault = Fault(("output",), repr(query.output), rule, "Rename that column in a map.")
        return replace(examined, faults=(fault,))
    return examined


def query_network(query: Query, network: Network) -> Network:
    """Return the network with the operators of the query added: this defines what the query means."""
    operators = (*network.operators, *query.operators)
    return Network(network.name, network.sources, operators, (*network.outputs, query.output), network.tables)


def source_names(query: Query) -> dict[str, str]:
    """Return a source name for each stream that a query reads, so that the query alone can be checked as a network.

    It is the name of the stream, except for the branch of a switch: the name of a source has no dot.
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


def rename_inputs(operator: Operator, names: Mapping[str, str]) -> Operator:
    """Return the operator with its inputs renamed; inputs that `names` lacks stay."""
    return with_inputs(operator, [names.get(stream, stream) for stream in operator.inputs])


def _own_faults(query: Query) -> Iterator[Fault]:
    """Yield the faults of a query that do not depend on the network."""
    for which, name in (("name", query.name), ("tenant", query.tenant)):
        if not NAME.fullmatch(name):
            yield Fault((which,), shorten(name), NAME_RULE, f"Rename the {'query' if which == 'name' else 'tenant'}.")
    if not query.operators:
        yield Fault(("operators",), "empty", "a query has at least one operator", "Add one, for example a filter.")
    if len(query.operators) > MOST_OPERATORS:
        rule = f"a query has at most {MOST_OPERATORS} operators"
        yield Fault(("operators",), f"{len(query.operators)} operators", rule, IN_THE_FILE)
    for operator in query.operators[:MOST_OPERATORS]:
        yield from _operator_faults(operator)


def _operator_faults(operator: Operator) -> Iterator[Fault]:
    """Yield the faults of one operator that do not depend on the network."""
    if operator.kind not in KINDS:
        rule = f"a query is made of {', '.join(KINDS)}, because others cannot be shared"
        yield Fault(("operators", operator.name, "kind"), repr(operator.kind), rule, IN_THE_FILE)
    else:
        yield from _refused(operator)
    if operator.was is not None:
        rule = "operators of a query have no names before, because a query is known by its own name"
        yield Fault(("operators", operator.name, "was"), shorten(operator.was), rule, "Leave it out.")
    for field, text in expressions_of(operator):
        if len(text) > LONGEST_EXPRESSION:
            rule = f"an expression of a query has at most {LONGEST_EXPRESSION} characters"
            yield Fault(("operators", operator.name, *field), shorten(text), rule, IN_THE_FILE)


def _refused(operator: Operator) -> Iterator[Fault]:
    """Yield a fault for each attribute that a network file may set, but a query may not."""
    for attribute, rule in sharing_of(operator).refused.items():
        value = getattr(operator, attribute)
        if value is not None:
            path = ("operators", operator.name, attribute)
            yield Fault(path, str(value), rule, f"Leave it out. {IN_THE_FILE}")


def _name_faults(query: Query, network: Network) -> Iterator[Fault]:
    """Yield names that the network has already, and streams that it does not have."""
    taken = {*network.streams, *(operator.name for operator in network.operators)}
    for operator in query.operators:
        if operator.name in taken:
            rule = "the network has a stream of that name"
            yield Fault(("operators", operator.name), repr(operator.name), rule, "Rename the operator.")
    # A query may read streams of the network, but not of other queries: those come and go.
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

"""The query network: sources, operators and outputs, checked on construction and frozen.

Rule 1: a Network that exists is valid, so no other code checks it. Rule 2: two networks are equal if they have equal
parts in the same order.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from types import MappingProxyType

from drover.errors import NetworkError
from drover.network.check import examine
from drover.network.expressions.text_size import TextSize
from drover.network.operators import Operator, Table
from drover.network.parts import Parts, Source
from drover.network.schema import Schema
from drover.wording import count


@dataclass(frozen=True, slots=True)
class Network:
    """A directed acyclic graph of streams and operators.

    `outputs` names the streams that leave the network, towards sinks. The other fields follow from these:
    `streams` has the schema of every stream, `order` the operators in topological order (ties as declared), `readers`
    the operators that read each stream, `texts` how long texts can be in streams that make them longer.
    """

    name: str
    sources: tuple[Source, ...]
    operators: tuple[Operator, ...]
    outputs: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    streams: Mapping[str, Schema] = field(init=False, repr=False, compare=False)
    order: tuple[Operator, ...] = field(init=False, repr=False, compare=False)
    readers: Mapping[str, tuple[Operator, ...]] = field(init=False, repr=False, compare=False)
    texts: Mapping[str, TextSize] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise NetworkError with all faults of an invalid network."""
        examined = examine(Parts(self.name, self.sources, self.operators, self.outputs, self.tables))
        if examined.faults:
            raise NetworkError(examined.faults)
        readers: dict[str, list[Operator]] = {stream: [] for stream in examined.streams}
        for operator in self.operators:
            for stream in dict.fromkeys(operator.inputs):
                readers[stream].append(operator)
        schemas = {name: schema for name, schema in examined.streams.items() if schema is not None}
        object.__setattr__(self, "streams", MappingProxyType(schemas))
        object.__setattr__(self, "order", examined.order)
        object.__setattr__(self, "texts", MappingProxyType(examined.texts))
        object.__setattr__(self, "readers", MappingProxyType({name: tuple(found) for name, found in readers.items()}))

    def __reduce__(self) -> tuple[type[Network], tuple[object, ...]]:
        """Pickle the parts; derived fields are computed again."""
        return (Network, (self.name, self.sources, self.operators, self.outputs, self.tables))

    def __repr__(self) -> str:
        sizes = (
            count(len(self.sources), "source"),
            count(len(self.operators), "operator"),
            count(len(self.outputs), "output"),
        )
        return f"<Network {self.name}: {', '.join(sizes)}>"

    def _repr_html_(self) -> str:
        """Return the drawing, for a notebook."""
        from drover.network.drawing import svg  # noqa: PLC0415 - drawings are made of networks

        # As an image, because the styles of an inline SVG would apply to the whole page.
        image = b64encode(svg(self).encode()).decode()
        return f'<img alt="{escape(repr(self))}" src="data:image/svg+xml;base64,{image}" style="max-width: 100%">'

    def operator(self, name: str) -> Operator:
        """Return the operator of that name; KeyError if there is none."""
        for operator in self.operators:
            if operator.name == name:
                return operator
        raise KeyError(name)

    def roots(self) -> Mapping[str, frozenset[str]]:
        """Return, for every stream, the sources its rows come from: its watermark is the least of theirs."""
        roots = {source.name: frozenset((source.name,)) for source in self.sources}
        for operator in self.order:
            reached = frozenset[str]().union(*(roots[stream] for stream in operator.inputs))
            roots |= dict.fromkeys(operator.outputs, reached)
        return roots

    def units(self) -> tuple[tuple[Operator, ...], ...]:
        """Return the operators in units: those that share a table can only be placed together."""
        groups: dict[tuple[str, str], tuple[Operator, ...]] = {}
        for operator in self.operators:
            key = ("operator", operator.name) if operator.table is None else ("table", operator.table)
            groups[key] = (*groups.get(key, ()), operator)
        return tuple(groups.values())


def late_streams(network: Network) -> frozenset[str]:
    """Return the streams whose rows may come after their watermark: sources, and what is computed from them row by row.

    Results of windows and joins are never late: each is above the watermark of the previous batch.
    """
    late = {source.name for source in network.sources}
    for operator in network.order:
        if operator.passes_late_rows and any(stream in late for stream in operator.inputs):
            late.update(operator.outputs)
    return frozenset(late)

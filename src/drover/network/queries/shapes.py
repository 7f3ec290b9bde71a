"""From queries to shapes, fast for thousands.

Rule 1: a query whose skeleton was seen before is not parsed again: what it means but for its constants is known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, TypeVar

from drover.errors import NetworkError
from drover.network.expressions.tree import Literal, Value
from drover.network.model import Network, late_streams
from drover.network.queries.outline import Outline, outline_of
from drover.network.queries.query import Query, examine_query
from drover.network.queries.shape import Shape, make_shape
from drover.network.queries.skeleton import Piece
from drover.network.queries.template import Template, bones_of, learn
from drover.network.schema import NAME

KEPT: Final = 10_000  # skeletons
MOST_LITERALS: Final = 64  # of a query whose skeleton is learned; each is tried twice

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Shaped:
    """A sound query's shape and its constants, one for each of the shape's types."""

    shape: Shape
    constants: tuple[Value, ...]


class Shapes:
    """The shapes of queries on one network; remembers skeletons and shapes, of which it keeps a bounded number."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._late = late_streams(network)
        self._taken = frozenset({*network.streams, *(operator.name for operator in network.operators)})
        self._fixed: OrderedDict[Hashable, tuple[int, ...]] = OrderedDict()  # by skeleton
        self._templates: OrderedDict[Hashable, Template] = OrderedDict()  # by skeleton and fixed literals
        self._shapes: OrderedDict[Outline, Shape] = OrderedDict()

    def shape_of(self, query: Query) -> Shaped:
        """Check a query and return its shape and constants; NetworkError with all its faults if it has any."""
        if not self._names_are_sound(query):
            raise NetworkError(examine_query(query, self.network))
        found = bones_of(query)
        if found is None:
            return self._parsed(query)
        skeleton, pieces = found
        fixed = self._fixed.get(skeleton)
        if fixed is not None:
            template = self._templates.get((skeleton, *[pieces[index][0] for index in fixed]))
            if template is not None:
                return Shaped(template.shape, template.fill(pieces))
        return self._learned(query, skeleton, pieces)

    def _names_are_sound(self, query: Query) -> bool:
        """Return whether all is well with what no skeleton says."""
        names = [operator.name for operator in query.operators]
        return (
            len(set(names)) == len(names)
            and self._taken.isdisjoint(names)
            and all(NAME.fullmatch(name) for name in (query.name, query.tenant, *names))
        )

    def _parsed(self, query: Query) -> Shaped:
        outline, constants = outline_of(query, self.network, self._late)
        return Shaped(self._shape(outline), tuple(literal.value for literal in constants))

    def _shape(self, outline: Outline) -> Shape:
        return _kept(self._shapes, outline, lambda: make_shape(outline))

    def _learned(self, query: Query, skeleton: Hashable, pieces: list[Piece]) -> Shaped:
        """Parse a query and remember what its skeleton means."""
        outline, constants = outline_of(query, self.network, self._late)
        shape = self._shape(outline)
        if len(pieces) <= MOST_LITERALS:
            template = learn(query, outline, constants, shape, self._try)
            self._fixed[skeleton] = template.fixed
            self._templates[(skeleton, *[pieces[index][0] for index in template.fixed])] = template
            for kept in (self._fixed, self._templates):
                while len(kept) > KEPT:
                    kept.popitem(last=False)
        return Shaped(shape, tuple(literal.value for literal in constants))

    def _try(self, query: Query) -> tuple[Outline, tuple[Literal, ...]] | None:
        try:
            return outline_of(query, self.network, self._late)
        except NetworkError:
            return None


def shape_of(query: Query, network: Network) -> Shaped:
    """Return the shape of one query; for many, keep a `Shapes`."""
    return Shapes(network).shape_of(query)


def _kept(kept: OrderedDict[K, V], key: K, make: Callable[[], V]) -> V:
    found = kept.get(key)
    if found is None:
        found = kept[key] = make()
        while len(kept) > KEPT:
            kept.popitem(last=False)
    return found

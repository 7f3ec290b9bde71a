"""The shapes of queries, found fast for thousands of them.

Rule 1: a query whose normalized text was seen before is not parsed again. Its template has the shape and says how to
fill the constants.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, TypeVar

from drover.errors import NetworkError
from drover.network.expressions.tree import Literal, Value
from drover.network.model import Network, late_streams
from drover.network.queries.normalize import LiteralText
from drover.network.queries.parameterized import ParameterizedQuery, parameterize_query
from drover.network.queries.query import Query, examine_query
from drover.network.queries.shape import Shape, make_shape
from drover.network.queries.template import Template, learn_template, normalize_query
from drover.network.schema import NAME

KEPT: Final = 10_000  # templates, and as many shapes
MOST_LITERALS: Final = 64  # of a query that gets a template; each literal costs two trials

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Shaped:
    """The shape of a valid query and its constants, one for each of the shape's types."""

    shape: Shape
    constants: tuple[Value, ...]


class Shapes:
    """The shapes of queries on one network; caches a bounded number of templates and shapes."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._late = late_streams(network)
        self._used_names = frozenset({*network.streams, *(operator.name for operator in network.operators)})
        self._fixed: OrderedDict[Hashable, tuple[int, ...]] = OrderedDict()  # by normalized query
        self._templates: OrderedDict[Hashable, Template] = OrderedDict()  # by normalized query and fixed literals
        self._shapes: OrderedDict[ParameterizedQuery, Shape] = OrderedDict()

    def shape_of(self, query: Query) -> Shaped:
        """Check a query and return its shape and constants; NetworkError with all its faults if it has any."""
        # A template knows nothing about names, so they are checked before it is used.
        if not self._names_are_valid(query):
            raise NetworkError(examine_query(query, self.network))
        found = normalize_query(query)
        if found is None:
            return self._parsed(query)
        template = self.template_of(*found)
        return self._learned(query, *found) if template is None else Shaped(template.shape, template.fill(found[1]))

    def template_of(self, normalized: Hashable, literals: list[LiteralText]) -> Template | None:
        """Return the template of a normalized query with these literals; None if no such query was seen lately."""
        fixed = self._fixed.get(normalized)
        return None if fixed is None else self._templates.get((normalized, *[literals[index][0] for index in fixed]))

    def _names_are_valid(self, query: Query) -> bool:
        """Return whether the names of a query are valid, which its normalized text does not say."""
        names = [operator.name for operator in query.operators]
        return (
            len(set(names)) == len(names)
            and all(operator.was is None for operator in query.operators)
            and self._used_names.isdisjoint(names)
            and all(NAME.fullmatch(name) for name in (query.name, query.tenant, *names))
        )

    def _parsed(self, query: Query) -> Shaped:
        parameterized, constants = parameterize_query(query, self.network, self._late)
        return Shaped(self._shape(parameterized), tuple(literal.value for literal in constants))

    def _shape(self, parameterized: ParameterizedQuery) -> Shape:
        return _cached(self._shapes, parameterized, lambda: make_shape(parameterized))

    def _learned(self, query: Query, normalized: Hashable, literals: list[LiteralText]) -> Shaped:
        """Parse a query and keep its template."""
        parameterized, constants = parameterize_query(query, self.network, self._late)
        shape = self._shape(parameterized)
        if len(literals) <= MOST_LITERALS:
            template = learn_template(query, parameterized, constants, shape, self._try)
            self._fixed[normalized] = template.fixed
            self._templates[(normalized, *[literals[index][0] for index in template.fixed])] = template
            for kept in (self._fixed, self._templates):
                while len(kept) > KEPT:
                    kept.popitem(last=False)
        return Shaped(shape, tuple(literal.value for literal in constants))

    def _try(self, query: Query) -> tuple[ParameterizedQuery, tuple[Literal, ...]] | None:
        try:
            return parameterize_query(query, self.network, self._late)
        except NetworkError:
            return None


def shape_of(query: Query, network: Network) -> Shaped:
    """Return the shape of one query; for many queries, keep a `Shapes`."""
    return Shapes(network).shape_of(query)


def _cached(cache: OrderedDict[K, V], key: K, make: Callable[[], V]) -> V:
    found = cache.get(key)
    if found is None:
        found = cache[key] = make()
        while len(cache) > KEPT:
            cache.popitem(last=False)
    return found

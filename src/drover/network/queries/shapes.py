"""From queries to shapes, fast for thousands.

Rule 1: a query whose skeleton (its texts without literals, but with their types) was seen before is not parsed again.
"""

from __future__ import annotations

from dataclasses import dataclass

from drover.network.expressions.tree import Value
from drover.network.model import Network
from drover.network.queries.query import Query
from drover.network.queries.shape import Shape


@dataclass(frozen=True, slots=True)
class Shaped:
    """A sound query's shape and its constants, one for each of the shape's types."""

    shape: Shape
    constants: tuple[Value, ...]


class Shapes:
    """The shapes of queries on one network; remembers skeletons, of which it keeps a bounded number."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def shape_of(self, query: Query) -> Shaped:
        """Check a query and return its shape and constants; NetworkError with all its faults if it has any."""
        raise NotImplementedError


def shape_of(query: Query, network: Network) -> Shaped:
    """Return the shape of one query; for many, keep a `Shapes`."""
    return Shapes(network).shape_of(query)

"""Small queries that are submitted to a running network, and the shapes that thousands of them share.

A query is a few operators on streams of a network (`query.py`). With its constants replaced by parameters
(`parameterize.py`, `parameterized.py`) it is a shape (`shape.py`). Start at `Shapes` (`shapes.py`): it checks a query
and returns its shape and its constants.
"""

from __future__ import annotations

from drover.network.queries.kinds import KINDS
from drover.network.queries.query import LONGEST_EXPRESSION, MOST_OPERATORS, Query, examine_query, query_network
from drover.network.queries.shape import LookupKey, Shape, ShapeStep
from drover.network.queries.shapes import Shaped, Shapes, shape_of

__all__ = [
    "KINDS",
    "LONGEST_EXPRESSION",
    "MOST_OPERATORS",
    "LookupKey",
    "Query",
    "Shape",
    "ShapeStep",
    "Shaped",
    "Shapes",
    "examine_query",
    "query_network",
    "shape_of",
]

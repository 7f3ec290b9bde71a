"""Small queries that are submitted to a running network, and what thousands of them have in common.

A query is a few operators on streams of a network (`query.py`). Taken without its constants (`lift.py`, `text.py`) it
is a shape (`shape.py`); `Shapes` (`shapes.py`) is the door: it checks a query and returns its shape and constants.
"""

from __future__ import annotations

from drover.network.queries.query import KINDS, LONGEST_EXPRESSION, MOST_OPERATORS, Query, examine_query, query_network
from drover.network.queries.shape import Key, Shape, Step, Topic
from drover.network.queries.shapes import Shaped, Shapes, shape_of

__all__ = [
    "KINDS",
    "LONGEST_EXPRESSION",
    "MOST_OPERATORS",
    "Key",
    "Query",
    "Shape",
    "Shaped",
    "Shapes",
    "Step",
    "Topic",
    "examine_query",
    "query_network",
    "shape_of",
]

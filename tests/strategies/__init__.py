"""The Hypothesis strategies of all tests: types, schemas, frames, lengths of time and whole networks.

Rule 1: what is drawn is valid; faulty inputs are written by hand, so that their names say what is wrong.
Rule 2: the simplest comes first in every choice, so that failures shrink to a filter on one source.
"""

from __future__ import annotations

from tests.strategies.networks import networks
from tests.strategies.values import (
    aggregations,
    column_names,
    durations,
    frames,
    predicates,
    scalars,
    schemas,
    types,
    values,
)

__all__ = [
    "aggregations",
    "column_names",
    "durations",
    "frames",
    "networks",
    "predicates",
    "scalars",
    "schemas",
    "types",
    "values",
]

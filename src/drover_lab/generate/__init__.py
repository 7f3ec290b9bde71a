"""Random networks, and rows for their sources.

Rule 1: chance is an argument: equal parameters and equal seeds give equal networks and rows.
Rule 2: parameters are frozen, and their defaults are those of the experiments in the texts.
"""

from __future__ import annotations

from drover_lab.generate.aggregates import AGGREGATES, AggregateParameters, aggregates
from drover_lab.generate.dags import DAGS, DagParameters, dags
from drover_lab.generate.loads import (
    CHAINS,
    TREES,
    TWO_CHAINS,
    ChainParameters,
    TreeParameters,
    chains,
    trees,
    two_chains,
)
from drover_lab.generate.rows import ROWS, RowParameters, rows

__all__ = [
    "AGGREGATES",
    "CHAINS",
    "DAGS",
    "ROWS",
    "TREES",
    "TWO_CHAINS",
    "AggregateParameters",
    "ChainParameters",
    "DagParameters",
    "RowParameters",
    "TreeParameters",
    "aggregates",
    "chains",
    "dags",
    "rows",
    "trees",
    "two_chains",
]

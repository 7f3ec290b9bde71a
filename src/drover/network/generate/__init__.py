"""Seeded networks, and rows to send through them.

Rule 1: chance is an argument; equal parameters and equally seeded generators give equal networks and equal rows.
Rule 2: parameters are frozen and their defaults are those of the experiments in the papers.
"""

from __future__ import annotations

from drover.network.generate.aggregates import AGGREGATES, AggregateParameters, aggregates
from drover.network.generate.dags import DAGS, DagParameters, dags
from drover.network.generate.loads import (
    CHAINS,
    TREES,
    TWO_CHAINS,
    ChainParameters,
    TreeParameters,
    chains,
    trees,
    two_chains,
)
from drover.network.generate.rows import ROWS, RowParameters, rows

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

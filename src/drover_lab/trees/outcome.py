"""The outcome of a simulated hierarchy: load levels over time, messages and moves.

Rule 1: index letters are those of the whole tree: node i of n, operator j of m, sample t of h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from drover.load.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class TreeRun:
    """The outcome of one run."""

    times: Floats  # (h,) seconds
    levels: Floats  # (h, n) fraction of each node's capacity in use
    node_of: Ints  # (m,) node of each operator at the end
    sent: Mapping[str, int]  # messages by kind, lost ones included
    sent_by: Ints  # (n,) messages by sender
    moved: int  # moves of operators
    rounds: int  # negotiations that were started
    stopped: float  # operator seconds between the stop of an operator and its start on another node

    def overloaded(self, upper: float) -> Ints:
        """Return the number of nodes above the upper threshold, (h,)."""
        return np.asarray((self.levels > upper).sum(axis=1))

    def spread(self) -> Floats:
        """Return the standard deviation of levels over nodes, (h,)."""
        return np.asarray(self.levels.std(axis=1))

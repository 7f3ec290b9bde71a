"""What became of a hierarchy: levels over time, and what was said and done meanwhile.

Rule 1: letters as everywhere: node i of n, operator j of m, sample t of h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from drover.load.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """One run."""

    times: Floats  # (h,) seconds
    levels: Floats  # (h, n) share of each node's capacity in use
    node_of: Ints  # (m,) where each operator is at the end
    sent: Mapping[str, int]  # messages by kind, whether they came or not
    sent_by: Ints  # (n,) messages by sender
    moved: int  # operators that changed their node
    rounds: int  # that were begun
    stopped: float  # operator seconds in which one did not run, from its stop to its start

    def overloaded(self, upper: float) -> Ints:
        """Return how many nodes are above the upper mark, (h,)."""
        return np.asarray((self.levels > upper).sum(axis=1))

    def spread(self) -> Floats:
        """Return the standard deviation of levels over nodes, (h,)."""
        return np.asarray(self.levels.std(axis=1))

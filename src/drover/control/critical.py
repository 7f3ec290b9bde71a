"""The critical path: the load of the slowest node in each period, for which every batch waits.

Rule 1: plans are compared on measured loads, wherever these were measured: a unit's load does not depend on its node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from drover.load.arrays import Floats, Ints
from drover.load.series import node_series


def relative_loads(series: Floats, places: Ints, capacity: Floats) -> Floats:
    """Return the load of every node over its capacity in every period, (n, h)."""
    return np.asarray(node_series(series, places, len(capacity)) / capacity[:, None])


def critical_path(series: Floats, places: Ints, capacity: Floats) -> Floats:
    """Return the relative load of the slowest node in each period, (h,)."""
    return np.asarray(relative_loads(series, places, capacity).max(axis=0))


def pressure(series: Floats, places: Ints, capacity: Floats) -> float:
    """Return the mean over periods of sum_i C_i (x_i / C_i)^2: least if loads are even and peak at different times.

    Unlike the critical path, it also falls when two nodes are evened out and neither is the slowest.
    """
    found = relative_loads(series, places, capacity)
    return float((capacity[:, None] * found**2).sum(axis=0).mean())


@dataclass(frozen=True, slots=True)
class CriticalPathGain:
    """How much a plan shortens the critical path."""

    mean: float  # busy seconds per second
    error: float  # standard error of the mean
    before: float  # the critical path without it

    @property
    def share(self) -> float:
        """The saved share of the critical path."""
        return self.mean / self.before if self.before > 0 else 0.0

    def certain(self, errors: float) -> bool:
        """Return whether the gain is that many standard errors above 0."""
        return self.mean > errors * self.error


def compare_plans(
    series: Floats, before: Ints, after: Ints, capacity: Floats, *, noise: Floats | None = None
) -> CriticalPathGain:
    """Return what the plan `after` saves over the plan `before` in these periods, (m, h).

    The scatter of the gain is taken from the periods `noise`, (m, any), by default from the same periods.
    """
    base = critical_path(series, before, capacity)
    saved = base - critical_path(series, after, capacity)
    seen = saved if noise is None else critical_path(noise, before, capacity) - critical_path(noise, after, capacity)
    scatter = float(seen.std(ddof=1)) if len(seen) > 1 else math.inf
    return CriticalPathGain(float(saved.mean()), scatter / math.sqrt(len(saved)), float(base.mean()))

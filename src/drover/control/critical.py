"""The critical path: what the slowest node takes in each period, which is what a batch waits for.

Rule 1: a plan is tried on loads that were measured, whoever ran them where: a unit's load does not depend on its node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from drover.load.arrays import Floats, Ints
from drover.load.series import node_series


def relative(series: Floats, places: Ints, capacity: Floats) -> Floats:
    """Return the load of every node over its capacity in every period, (n, h)."""
    return np.asarray(node_series(series, places, len(capacity)) / capacity[:, None])


def critical(series: Floats, places: Ints, capacity: Floats) -> Floats:
    """Return the load of the fullest node in each period, (h,)."""
    return np.asarray(relative(series, places, capacity).max(axis=0))


def pressure(series: Floats, places: Ints, capacity: Floats) -> float:
    """Return the mean over periods of sum_i C_i (x_i / C_i)^2: least when loads are even and rise at different times.

    Unlike the critical path it also falls when two nodes are evened out of which none is the fullest.
    """
    found = relative(series, places, capacity)
    return float((capacity[:, None] * found**2).sum(axis=0).mean())


@dataclass(frozen=True, slots=True)
class Gain:
    """What a plan saves on the critical path."""

    mean: float  # busy seconds per second
    error: float  # standard error of it
    before: float  # the critical path without it

    @property
    def share(self) -> float:
        """The part of the critical path that is saved."""
        return self.mean / self.before if self.before > 0 else 0.0

    def certain(self, errors: float) -> bool:
        """Return whether the gain is that many standard errors above 0."""
        return self.mean > errors * self.error


def compare(series: Floats, before: Ints, after: Ints, capacity: Floats, *, noise: Floats | None = None) -> Gain:
    """Return what one plan saves against another in these periods, (m, h).

    `noise`, (m, more), are periods from which the scatter of the gain is known; by default the same.
    """
    base = critical(series, before, capacity)
    saved = base - critical(series, after, capacity)
    seen = saved if noise is None else critical(noise, before, capacity) - critical(noise, after, capacity)
    scatter = float(seen.std(ddof=1)) if len(seen) > 1 else math.inf
    return Gain(float(saved.mean()), scatter / math.sqrt(len(saved)), float(base.mean()))

"""The tournament tree, compiled: the earliest of all next events, and what changes when one of them does.

Rule 1: of events at the same time the leaf with the lower number comes first: nodes, then pipes, then sources.
"""

from __future__ import annotations

import numpy as np

from drover.sim.queues.kernels import part
from drover.sim.world import Calendar


@part
def plan(calendar: Calendar, leaf: int, time: float) -> None:
    """Say when the next event of a leaf is, whatever was said before: a walk to the root."""
    key, winner = calendar.key, calendar.leaf
    at = len(key) // 2 + leaf
    key[at] = time
    while at > 1:
        rival = at ^ 1
        if key[rival] < time or (key[rival] == time and winner[rival] < leaf):
            time, leaf = key[rival], winner[rival]
        at >>= 1
        key[at], winner[at] = time, leaf


@part
def wake(calendar: Calendar, leaf: int, time: float) -> None:
    """Say when the next event of a leaf is that had none: a walk up to the first that is earlier."""
    key, winner = calendar.key, calendar.leaf
    at = len(key) // 2 + leaf
    key[at] = time
    at >>= 1
    while at > 0 and (time < key[at] or (time == key[at] and leaf < winner[at])):
        key[at], winner[at] = time, leaf
        at >>= 1


@part
def forget(calendar: Calendar, leaf: int) -> None:
    """Say that a leaf has no next event."""
    plan(calendar, leaf, np.inf)

"""The tournament tree that finds the next event, compiled.

Rule 1: of events at the same time, the leaf with the lower number comes first: nodes, then pipes, then sources.
"""

from __future__ import annotations

import numpy as np

from drover.sim.queue_kernels import part
from drover.sim.world import Calendar


@part
def plan(calendar: Calendar, leaf: int, time: float) -> None:
    """Set the time of a leaf's next event, whatever it was before: a walk to the root."""
    key = calendar.key
    winner = calendar.leaf
    at = len(key) // 2 + leaf
    key[at] = time
    while at > 1:
        rival = at ^ 1
        if key[rival] < time or (key[rival] == time and winner[rival] < leaf):
            time = key[rival]
            leaf = winner[rival]
        at >>= 1
        key[at] = time
        winner[at] = leaf


@part
def wake(calendar: Calendar, leaf: int, time: float) -> None:
    """Set the time of a leaf's next event if it had none: a walk up to the first node that is earlier."""
    key = calendar.key
    winner = calendar.leaf
    at = len(key) // 2 + leaf
    key[at] = time
    at >>= 1
    while at > 0 and (time < key[at] or (time == key[at] and leaf < winner[at])):
        key[at] = time
        winner[at] = leaf
        at >>= 1


@part
def forget(calendar: Calendar, leaf: int) -> None:
    """Remove the next event of a leaf."""
    plan(calendar, leaf, np.inf)

"""Positions of ticks at round numbers, and of labels that must not overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
TIME_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400)  # seconds
MOST_TICKS: Final = 8


def ticks(top: float) -> tuple[float, ...]:
    """Return round numbers from 0 to the first that is not below `top`.

    >>> ticks(0.93)
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    raw = top / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * each for each in STEPS if power * each >= raw * (1 - 1e-9))
    return tuple(round(step * index, 12) for index in range(math.ceil(top / step - 1e-9) + 1))


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return powers of ten from at most `low` to at least `high`, at least two of them.

    >>> log_ticks(0.03, 2)
    (0.01, 0.1, 1.0, 10.0)
    """
    first = math.floor(math.log10(low))
    last = max(math.ceil(math.log10(high)), first + 1)
    step = math.ceil((last - first) / MOST_TICKS)
    return tuple(10.0**power for power in range(first, last + step, step))


def clock_ticks(end: float) -> tuple[float, ...]:
    """Return round times from 0 to `end`, in seconds.

    >>> clock_ticks(95)
    (0.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0)
    """
    step = next((each for each in TIME_STEPS if end / each <= MOST_TICKS), None)
    if step is None:  # many days
        step = 86_400 * math.ceil(end / 86_400 / MOST_TICKS)
    return tuple(float(step * index) for index in range(math.floor(end / step) + 1))


def spread(wanted: Sequence[float], apart: float, least: float, most: float) -> tuple[float, ...]:
    """Return positions at least `apart`, as near as possible to the wanted ones, which must be sorted.

    Positions that would overlap are centred on the mean of their wanted positions. All lie between `least` and `most`
    if there is room.

    >>> spread([5, 5, 50], 10, 0, 100)
    (0.0, 10.0, 50.0)
    """
    # Each pool holds neighbours that touch: the sum of where its first one would be, and how many there are.
    pools: list[tuple[float, int]] = []
    for index, position in enumerate(wanted):
        pool = (position - apart * index, 1)
        while pools and pools[-1][0] / pools[-1][1] >= pool[0] / pool[1]:
            total, members = pools.pop()
            pool = (total + pool[0], members + pool[1])
        pools.append(pool)
    top = max(most - apart * (len(wanted) - 1), least)
    firsts = [min(max(total / members, least), top) for total, members in pools for _ in range(members)]
    return tuple(first + apart * index for index, first in enumerate(firsts))

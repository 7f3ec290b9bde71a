"""Where ticks of an axis are, at round numbers, few of them; and where words beside it are, without touching."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
TIMES: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400)  # seconds
MOST: Final = 8  # ticks of time


def ticks(top: float) -> tuple[float, ...]:
    """Return round numbers from 0 to the first that is not below `top`.

    >>> ticks(0.93)
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    raw = top / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * each for each in STEPS if power * each >= raw * (1 - 1e-9))
    return tuple(round(step * index, 12) for index in range(math.ceil(top / step - 1e-9) + 1))


def clock_ticks(begin: float, end: float) -> tuple[float, ...]:
    """Return round times between two moments, in seconds.

    >>> clock_ticks(0, 95)
    (0.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0)
    """
    span = end - begin
    step = next((each for each in TIMES if span / each <= MOST), None)
    if step is None:  # many days
        step = 86_400 * math.ceil(span / 86_400 / MOST)
    first = math.ceil(begin / step)
    return tuple(float(step * index) for index in range(first, math.floor(end / step) + 1))


def spread(wishes: Sequence[float], apart: float, least: float, most: float) -> tuple[float, ...]:
    """Return places that are `apart`, in order, between two bounds if there is room, and near the wishes, which rise.

    Those that would touch are put around the middle of their wishes.

    >>> spread([5, 5, 50], 10, 0, 100)
    (0.0, 10.0, 50.0)
    """
    pools: list[tuple[float, int]] = []  # sum of wishes less the distance from the first, and how many share it
    for index, wish in enumerate(wishes):
        pool = (wish - apart * index, 1)
        while pools and pools[-1][0] / pools[-1][1] >= pool[0] / pool[1]:
            total, count = pools.pop()
            pool = (total + pool[0], count + pool[1])
        pools.append(pool)
    top = max(most - apart * (len(wishes) - 1), least)
    firsts = [min(max(total / count, least), top) for total, count in pools for _ in range(count)]
    return tuple(first + apart * index for index, first in enumerate(firsts))

"""Where the ticks of an axis are: at round numbers, few of them."""

from __future__ import annotations

import math
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

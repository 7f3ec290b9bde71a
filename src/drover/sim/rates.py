"""Rates over time: infinite step functions.

Rule 1: a path yields steps, (until, rate). It is the same however far it is read, and however often.
Rule 2: chance comes from a seed, so that a stream and its opposite have the same bursts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Floats

Step: TypeAlias = tuple[float, float]  # until when, seconds; tuples per second until then
Path: TypeAlias = Iterator[Step]
BLOCK: Final = 256  # durations drawn at once


def steady(rate: float) -> Path:
    """Yield a constant rate."""
    yield np.inf, rate


def alternating(high: float, low: float, period: float, offset: float) -> Path:
    """Yield a high rate for half a period and a low one for the other half; at time 0, `offset` has passed."""
    half = period / 2
    passed = offset % period
    first = int(passed // half)  # 0: high, 1: low
    for index in itertools.count(first):
        yield (index + 1) * half - passed, (high if index % 2 == 0 else low)


def bursts(high: float, low: float, durations: Callable[[Generator, int], Floats], rng: Generator) -> Path:
    """Yield a high and a low rate alternately, for random durations; the first of the two is random, too.

    `durations` returns, (2, count), seconds of high and of low.
    """
    now = 0.0
    skipped = bool(rng.random() < 0.5)
    while True:
        for pair in durations(rng, BLOCK).T:
            for seconds, rate in zip(pair.tolist(), (high, low), strict=True):
                if skipped:
                    skipped = False
                    continue
                now += seconds
                yield now, rate


def series(values: Floats, step: float) -> Path:
    """Yield values that hold for `step` seconds each, from time 0 on, and a rate of 0 after the last."""
    for index, value in enumerate(values.tolist()):
        yield (index + 1) * step, value
    yield np.inf, 0.0


def mirrored(path: Path, total: float) -> Path:
    """Yield the total minus the rate of a path, at least 0."""
    for until, rate in path:
        yield until, max(total - rate, 0.0)


def shifted(path: Path, by: float, before: float) -> Path:
    """Yield the same path `by` seconds later, and the rate `before` until then."""
    if by > 0:
        yield by, before
    for until, rate in path:
        yield until + by, rate


def mean_rate(path: Path, start: float, stop: float) -> float:
    """Return the mean rate of a path between two times."""
    total = 0.0
    now = 0.0
    for until, rate in path:
        total += rate * max(0.0, min(until, stop) - max(now, start))
        now = until
        if now >= stop:
            break
    return total / (stop - start)

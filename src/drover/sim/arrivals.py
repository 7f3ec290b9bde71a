"""Arrivals of a workload, generated stretch by stretch.

Rule 1: arrivals do not depend on how time is cut into stretches, because random numbers are drawn in fixed blocks.
Rule 2: tuples are drawn in scaled time, one per second on average, and then mapped to real time by the rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from drover.errors import LoadError, nearest, shorten
from drover.load.arrays import Floats
from drover.sim import rates
from drover.sim.rates import Path
from drover.sim.workload import SPACINGS, ArrivalProcess, EventTrace, Opposite, Shifted, Source, Spacing, Workload

BLOCK: Final = 4096  # inter-arrival times drawn at once
# parts of a seed
TUPLES = 2
BURSTS = 3


class Arrivals:
    """The arrivals of one source that has a rate."""

    def __init__(self, path: Path, spacing: Spacing, rng: Generator) -> None:
        if spacing not in SPACINGS:
            raise LoadError(f"spacing is {spacing!r}, but must be one of {', '.join(SPACINGS)}. Choose one.")
        self._path = path
        self._spacing = spacing
        self._rng = rng
        self._mass = np.empty(0)  # scaled times of tuples that were drawn but have not arrived
        self._drawn = 0.0  # scaled time of the last tuple drawn
        # begin of the present step: seconds, and scaled seconds
        self._begun = 0.0
        self._passed = 0.0
        self._until, self._rate = next(path)

    def before(self, stop: float) -> Floats:
        """Return the times of the next tuples before a time, in order."""
        found = []
        while self._begun < stop:
            end = min(self._until, stop)
            if self._rate > 0:
                found.append(self._within(end))
            if self._until > stop:
                break
            self._passed += self._rate * (self._until - self._begun)
            self._begun = self._until
            self._until, self._rate = next(self._path)
        return np.concatenate(found) if found else np.empty(0)

    def _within(self, end: float) -> Floats:
        """Return the tuples of the present step before `end`."""
        last = self._passed + self._rate * (end - self._begun)
        drawn = [self._mass]
        while self._drawn <= last:
            drawn.append(np.cumsum(np.append(self._drawn, self._gaps()))[1:])
            self._drawn = float(drawn[-1][-1])
        self._mass = np.concatenate(drawn)
        # Rounding can put a tuple just before its step, and so before the previous tuple; times must not decrease.
        times = np.maximum(self._begun + (self._mass - self._passed) / self._rate, self._begun)
        count = int(np.searchsorted(times, end))
        self._mass = self._mass[count:]
        return times[:count]

    def _gaps(self) -> Floats:
        match self._spacing:
            case "poisson":
                return self._rng.standard_exponential(BLOCK)
            case "uniform":
                return self._rng.uniform(0.0, 2.0, BLOCK)
            case "constant":
                return np.ones(BLOCK)


class Amounts:
    """The arrivals of one source as a fluid: expected tuples per step."""

    def __init__(self, source: Path | Floats, step: float) -> None:
        self._path = source if not isinstance(source, np.ndarray) else None
        self._times = source if isinstance(source, np.ndarray) else np.empty(0)
        self._step = step
        self._taken = 0
        # begin of the present step of the rate: seconds, and tuples so far
        self._begun = 0.0
        self._passed = 0.0
        self._until, self._rate = next(source) if not isinstance(source, np.ndarray) else (np.inf, 0.0)

    def before(self, stop: float) -> Floats:
        """Return, (steps,), the tuples of the next steps up to a time."""
        last = max(round(stop / self._step), self._taken)
        edges = np.arange(self._taken, last + 1) * self._step
        self._taken = last
        if self._path is None:
            return np.diff(np.searchsorted(self._times, edges)).astype(np.float64)
        times = [self._begun]
        tuples = [self._passed]
        while self._until < edges[-1]:
            self._passed += self._rate * (self._until - self._begun)
            self._begun = self._until
            self._until, self._rate = next(self._path)
            times.append(self._begun)
            tuples.append(self._passed)
        times.append(max(float(edges[-1]), self._begun))
        tuples.append(self._passed + self._rate * (times[-1] - self._begun))
        return np.diff(np.interp(edges, times, tuples))


class TraceArrivals:
    """The arrivals of a source that is a trace of times."""

    def __init__(self, times: Floats) -> None:
        self._times = times
        self._next = 0

    def before(self, stop: float) -> Floats:
        """Return the times of the next tuples before a time, in order."""
        start = self._next
        self._next = int(np.searchsorted(self._times, stop))
        return self._times[start : self._next]


def streams_of(workload: Workload, sources: Sequence[str]) -> dict[str, Source]:
    """Return the stream of every source; a mapping is by name, a sequence is in the order of the sources."""
    if isinstance(workload, Mapping):
        found = dict(workload)
    elif len(workload) == len(sources):
        found = dict(zip(sources, workload, strict=True))
    else:
        raise LoadError(
            f"the workload has {len(workload)} streams, but there are {len(sources)} sources. Give one each."
        )
    for name in found:
        if name not in sources:
            raise LoadError(f"the workload has {shorten(name)}, but there is no such source. {nearest(name, sources)}")
    missing = [name for name in sources if name not in found]
    if missing:
        raise LoadError(f"the workload has nothing for source {missing[0]!r}. Give it a stream, such as Poisson(0).")
    return {name: found[name] for name in sources}


def path_of(name: str, streams: Mapping[str, Source], seed: int) -> tuple[Path, Spacing, float]:
    """Return the rate of a source over time, its spacing, and the sum of its highest and lowest rate."""
    names = list(streams)
    seen = set[str]()
    shape: list[Opposite | Shifted] = []
    stream = streams[name]
    while isinstance(stream, Opposite | Shifted):
        seen.add(name)
        shape.append(stream)
        other = names[stream.of] if isinstance(stream.of, int) and stream.of < len(names) else stream.of
        if other not in streams or other in seen:
            raise LoadError(
                f"the stream of {name!r} follows {shorten(stream.of)}, but must follow another source, and not "
                f"in a circle. {nearest(str(other), names)}Name another."
            )
        name = str(other)
        stream = streams[name]
    if isinstance(stream, EventTrace):
        if shape:
            raise LoadError(
                f"the stream of {name!r} is a trace of times without a rate, so no stream can follow it. Use Rates."
            )
        return rates.steady(0.0), "constant", 0.0
    path = stream.path(default_rng(SeedSequence((seed, BURSTS, names.index(name)))))
    for each in reversed(shape):
        total = stream.total
        path = rates.mirrored(path, total) if isinstance(each, Opposite) else rates.shifted(path, each.by, total / 2)
    return path, stream.spacing, stream.total


class Feed(Protocol):
    """The arrivals of a source, stretch by stretch."""

    def before(self, stop: float) -> Floats:
        """Return the next arrivals up to a time."""


def begin(streams: Mapping[str, Source], seed: int, step: float | None = None) -> tuple[Feed, ...]:
    """Return the arrivals of every source from the start; with a `step` in seconds, as amounts per step."""
    found: list[Feed] = []
    for k, (name, stream) in enumerate(streams.items()):
        if isinstance(stream, EventTrace):
            found.append(TraceArrivals(stream.times) if step is None else Amounts(stream.times, step))
            continue
        if not isinstance(stream, ArrivalProcess | Opposite | Shifted):
            raise LoadError(f"the stream of {name!r} is {shorten(stream)}, but must be one of drover.sim.workload.")
        path, spacing, _ = path_of(name, streams, seed)
        rng = default_rng(SeedSequence((seed, TUPLES, k)))
        found.append(Arrivals(path, spacing, rng) if step is None else Amounts(path, step))
    return tuple(found)

"""Workloads: the arrival process of each source.

Rule 1: a stream is frozen data: a rate over time, and the spacing of tuples at that rate. `arrivals` generates them.
Rule 2: a stream that follows another shares its bursts, but its tuples are drawn independently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.random import Generator

from drover.errors import LoadError
from drover.load.arrays import Floats, frozen
from drover.sim import rates
from drover.sim.rates import Path

Spacing: TypeAlias = Literal["poisson", "uniform", "constant"]
Durations: TypeAlias = Literal["exponential", "pareto"]
SPACINGS: Final[tuple[Spacing, ...]] = ("poisson", "uniform", "constant")


@runtime_checkable
class ArrivalProcess(Protocol):
    """A rate over time, and the spacing of tuples at that rate."""

    @property
    def spacing(self) -> Spacing:
        """Distribution of inter-arrival times, at a rate of one per second."""

    @property
    def total(self) -> float:
        """Sum of the highest and the lowest rate; `Opposite` mirrors within it."""

    def path(self, rng: Generator) -> Path:
        """Return the rate over time; `rng` is for this stream alone."""


@dataclass(frozen=True, slots=True)
class Poisson:
    """A Poisson process: exponential inter-arrival times."""

    rate: float  # tuples per second
    spacing: Spacing = "poisson"

    def __post_init__(self) -> None:
        """Raise LoadError for a negative rate."""
        _demand("rate", self.rate)

    @property
    def total(self) -> float:
        """Twice the rate."""
        return 2 * self.rate

    def path(self, rng: Generator) -> Path:  # noqa: ARG002 - one signature for all
        """Return a constant rate."""
        return rates.steady(self.rate)


def Uniform(rate: float) -> Poisson:  # noqa: N802 - used like the classes of streams
    """Return a stream with inter-arrival times uniform between 0 and twice the mean."""
    return Poisson(rate, "uniform")


def Constant(rate: float) -> Poisson:  # noqa: N802 - as above
    """Return a stream with equal inter-arrival times."""
    return Poisson(rate, "constant")


@dataclass(frozen=True, slots=True)
class Periodic:
    """Workload 1 of [Xing05]: a high rate for half a period, then a low one, with a mean of `rate`."""

    rate: float  # tuples per second
    period: float = 10.0  # seconds
    ratio: float = 4.0  # high over low
    offset: float = 0.0  # seconds of the period that have passed at time 0
    spacing: Spacing = "poisson"

    def __post_init__(self) -> None:
        """Raise LoadError for a rate, period or ratio out of range."""
        _demand("rate", self.rate)
        _demand("period", self.period, positive=True)
        _demand("ratio", self.ratio)

    @property
    def total(self) -> float:
        """Twice the mean rate."""
        return 2 * self.rate

    def path(self, rng: Generator) -> Path:  # noqa: ARG002 - one signature for all
        """Return a rate that alternates between high and low."""
        low = 2 * self.rate / (1 + self.ratio)
        return rates.alternating(self.ratio * low, low, self.period, self.offset)


@dataclass(frozen=True, slots=True)
class OnOff:
    """Workload 2 of [Xing05]: a high rate for a random time, then `low` for a random time; the mean is `rate`.

    Pareto durations have the same means, and infinite variance if `shape` is at most 2.
    """

    rate: float  # tuples per second, over on and off times
    on: float = 5.0  # seconds, mean
    off: float = 5.0  # seconds, mean
    low: float = 0.0  # tuples per second while it is off
    durations: Durations = "exponential"
    shape: float = 1.5  # of Pareto durations; above 1
    spacing: Spacing = "poisson"

    def __post_init__(self) -> None:
        """Raise LoadError for a rate, duration or shape out of range."""
        for name, positive in (("rate", False), ("on", True), ("off", True), ("low", False)):
            _demand(name, getattr(self, name), positive=positive)
        if self.low > self.rate:
            raise LoadError(f"low is {self.low:g}, but must not be above the mean rate {self.rate:g}. Lower it.")
        if self.durations not in {"exponential", "pareto"}:
            raise LoadError(f"durations is {self.durations!r}, but must be exponential or pareto. Choose one.")
        if not self.shape > 1:
            raise LoadError(
                f"shape is {self.shape:g}, but must be above 1, or the Pareto distribution has no mean. Give 1.5."
            )

    @property
    def high(self) -> float:
        """The rate while it is on."""
        return (self.rate * (self.on + self.off) - self.low * self.off) / self.on

    @property
    def total(self) -> float:
        """Sum of the high and the low rate."""
        return self.high + self.low

    def path(self, rng: Generator) -> Path:
        """Return a rate that bursts."""
        return rates.bursts(self.high, self.low, self._durations, rng)

    def _durations(self, rng: Generator, count: int) -> Floats:
        """Return, (2, count), seconds of on and of off."""
        means = np.array([[self.on], [self.off]])
        if self.durations == "exponential":
            return means * rng.standard_exponential((2, count))
        return means * (self.shape - 1) / self.shape * (1 + rng.pareto(self.shape, (2, count)))


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """A trace of rates: each value holds for `step` seconds; after the last, the rate is 0."""

    values: Floats  # (h,) tuples per second
    step: float  # seconds
    scale: float = 1.0  # factor on the values
    spacing: Spacing = "poisson"

    def __post_init__(self) -> None:
        """Store a read-only copy; raise LoadError for values out of range."""
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
            raise LoadError("values of a trace of rates must be finite numbers of at least 0 in one row. Correct them.")
        _demand("step", self.step, positive=True)
        _demand("scale", self.scale)
        object.__setattr__(self, "values", frozen(values))

    @property
    def total(self) -> float:
        """Sum of the highest and the lowest rate."""
        return self.scale * float(
            self.values.max(initial=0.0) + self.values.min(initial=np.inf if len(self.values) else 0)
        )

    def path(self, rng: Generator) -> Path:  # noqa: ARG002 - one signature for all
        """Return the values as steps."""
        return rates.series(self.values * self.scale, self.step)


@dataclass(frozen=True, slots=True, eq=False)
class EventTrace:
    """A trace of events: one tuple at each time; a `scale` of 2 plays it at double speed."""

    times: Floats  # seconds
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Store a sorted read-only copy; raise LoadError for times out of range."""
        times = np.sort(np.asarray(self.times, dtype=np.float64))
        if times.ndim != 1 or not np.isfinite(times).all() or (times < 0).any():
            raise LoadError(
                "times of a trace of events must be finite and at least 0. Subtract the first, or cut them."
            )
        _demand("scale", self.scale, positive=True)
        object.__setattr__(self, "times", frozen(times / self.scale))


@dataclass(frozen=True, slots=True)
class Opposite:
    """High where another stream is low: the other's highest plus its lowest rate, minus its present one."""

    of: str | int  # source


@dataclass(frozen=True, slots=True)
class Shifted:
    """The rate of another stream, `by` seconds later; before that, the mean of its highest and lowest rate."""

    of: str | int  # source
    by: float  # seconds

    def __post_init__(self) -> None:
        """Raise LoadError for a negative shift."""
        _demand("by", self.by)


Source: TypeAlias = ArrivalProcess | EventTrace | Opposite | Shifted
Workload: TypeAlias = Mapping[str, Source] | Sequence[Source]


def even_offsets(count: int, period: float, rng: Generator) -> Floats:
    """Return, (count,), offsets evenly spaced over a period, in random order."""
    return rng.permutation(count) * period / count


def drawn_offsets(count: int, period: float, rng: Generator) -> Floats:
    """Return, (count,), offsets uniform over a period."""
    return rng.uniform(0, period, count)


def periodic(
    means: Floats, rng: Generator, *, period: float = 10.0, ratio: float = 4.0, even: bool = True
) -> tuple[Periodic, ...]:
    """Return workload 1 of [Xing05] for sources with these mean rates, (d,)."""
    offsets = (even_offsets if even else drawn_offsets)(len(means), period, rng)
    return tuple(
        Periodic(float(rate), period, ratio, float(offset)) for rate, offset in zip(means, offsets, strict=True)
    )


def _demand(what: str, value: float, *, positive: bool = False) -> None:
    if not (value > 0 if positive else value >= 0) or not np.isfinite(value):
        rule = "above 0" if positive else "at least 0"
        raise LoadError(f"{what} is {value}, but must be finite and {rule}. Correct it.")

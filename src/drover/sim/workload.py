"""Workloads: when tuples come from each source.

Rule 1: a stream is frozen data: a rate over time and the spacing of tuples under it; `arrivals` makes it happen.
Rule 2: bursts of a stream that depends on another are the other's; tuples are its own.
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
class Stream(Protocol):
    """When tuples come: a rate over time, and how they are spaced under it."""

    @property
    def spacing(self) -> Spacing:
        """How tuples are spaced, in time stretched so that one comes per second on average."""

    @property
    def total(self) -> float:
        """The highest and the lowest rate together; what an opposite is measured by."""

    def path(self, rng: Generator) -> Path:
        """Return the rate over time, from chance of its own."""


@dataclass(frozen=True, slots=True)
class Poisson:
    """Tuples at drawn times: exponential inter-arrival times."""

    rate: float  # tuples per second
    spacing: Spacing = "poisson"

    def __post_init__(self) -> None:
        """Refuse a rate that is none."""
        _demand("rate", self.rate)

    @property
    def total(self) -> float:
        """Twice the rate."""
        return 2 * self.rate

    def path(self, rng: Generator) -> Path:  # noqa: ARG002 - one signature for all
        """Return one rate for ever."""
        return rates.steady(self.rate)


def Uniform(rate: float) -> Poisson:  # noqa: N802 - a stream like the others, told by its spacing
    """Return tuples with inter-arrival times uniform between 0 and twice the mean."""
    return Poisson(rate, "uniform")


def Constant(rate: float) -> Poisson:  # noqa: N802 - as above
    """Return tuples at equal distances, the first after one of them."""
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
        """Refuse what makes no period."""
        _demand("rate", self.rate)
        _demand("period", self.period, positive=True)
        _demand("ratio", self.ratio)

    @property
    def total(self) -> float:
        """Twice the mean rate."""
        return 2 * self.rate

    def path(self, rng: Generator) -> Path:  # noqa: ARG002 - one signature for all
        """Return high and low in turn."""
        low = 2 * self.rate / (1 + self.ratio)
        return rates.alternating(self.ratio * low, low, self.period, self.offset)


@dataclass(frozen=True, slots=True)
class OnOff:
    """Workload 2 of [Xing05]: a rate for a drawn time, another, or nothing, for another one; the mean is `rate`.

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
        """Refuse what makes no bursts."""
        for name, positive in (("rate", False), ("on", True), ("off", True), ("low", False)):
            _demand(name, getattr(self, name), positive=positive)
        if self.low > self.rate:
            raise LoadError(f"low is {self.low:g}, but must not be above the mean rate {self.rate:g}. Lower it.")
        if self.durations not in {"exponential", "pareto"}:
            raise LoadError(f"durations is {self.durations!r}, but must be exponential or pareto. Choose one.")
        if not self.shape > 1:
            raise LoadError(f"shape is {self.shape:g}, but a Pareto mean exists above 1 only. Give 1.5.")

    @property
    def high(self) -> float:
        """The rate while it is on."""
        return (self.rate * (self.on + self.off) - self.low * self.off) / self.on

    @property
    def total(self) -> float:
        """High and low together."""
        return self.high + self.low

    def path(self, rng: Generator) -> Path:
        """Return bursts."""
        return rates.bursts(self.high, self.low, self._durations, rng)

    def _durations(self, rng: Generator, count: int) -> Floats:
        """Return, (2, count), seconds of on and of off."""
        means = np.array([[self.on], [self.off]])
        if self.durations == "exponential":
            return means * rng.standard_exponential((2, count))
        return means * (self.shape - 1) / self.shape * (1 + rng.pareto(self.shape, (2, count)))


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """A trace of rates: values hold for `step` seconds each; nothing comes after the last."""

    values: Floats  # (h,) tuples per second
    step: float  # seconds
    scale: float = 1.0  # factor on the values
    spacing: Spacing = "poisson"

    def __post_init__(self) -> None:
        """Store a read-only copy; refuse what is no series."""
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
            raise LoadError("values of a trace of rates must be finite numbers of at least 0 in one row. Correct them.")
        _demand("step", self.step, positive=True)
        _demand("scale", self.scale)
        object.__setattr__(self, "values", frozen(values))

    @property
    def total(self) -> float:
        """The highest and the lowest rate together."""
        return self.scale * float(
            self.values.max(initial=0.0) + self.values.min(initial=np.inf if len(self.values) else 0)
        )

    def path(self, rng: Generator) -> Path:  # noqa: ARG002 - one signature for all
        """Return the values as steps."""
        return rates.series(self.values * self.scale, self.step)


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """A trace of events: one tuple at each time; a `scale` of 2 lets it pass at double speed."""

    times: Floats  # seconds
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Store a sorted read-only copy; refuse times that are none."""
        times = np.sort(np.asarray(self.times, dtype=np.float64))
        if times.ndim != 1 or not np.isfinite(times).all() or (times < 0).any():
            raise LoadError(
                "times of a trace of events must be finite and at least 0. Subtract the first, or cut them."
            )
        _demand("scale", self.scale, positive=True)
        object.__setattr__(self, "times", frozen(times / self.scale))


@dataclass(frozen=True, slots=True)
class Opposite:
    """High where another stream is low: its rate is what is left of the other's highest and lowest together."""

    of: str | int  # source


@dataclass(frozen=True, slots=True)
class Shifted:
    """The rate of another stream, some seconds later; before that, half of its highest and lowest together."""

    of: str | int  # source
    by: float  # seconds

    def __post_init__(self) -> None:
        """Refuse to look ahead."""
        _demand("by", self.by)


Source: TypeAlias = Stream | Events | Opposite | Shifted
Workload: TypeAlias = Mapping[str, Source] | Sequence[Source]


def even_offsets(count: int, period: float, rng: Generator) -> Floats:
    """Return, (count,), offsets that are evenly spaced over a period, in drawn order."""
    return rng.permutation(count) * period / count


def drawn_offsets(count: int, period: float, rng: Generator) -> Floats:
    """Return, (count,), offsets drawn from a period."""
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

"""The rates of sources in a scenario: constant, from a trace, or scaled from some time on.

Rule 1: --rates override a trace, a trace overrides the series of a statistics file, and a series overrides its rates.
Rule 2: a trace that is shorter than the run is repeated. Rule 3: arrivals at these rates are random (Poisson).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click
import numpy as np
from numpy.random import Generator

from drover.cli.load_options import LoadOptions, read_number
from drover.errors import nearest, shorten, visible
from drover.load.arrays import Floats, frozen
from drover.load.profile import Profile
from drover.network.schema import known
from drover.sim.rates import Path
from drover.sim.workload import ArrivalProcess, Poisson, Spacing


@dataclass(frozen=True, slots=True, eq=False)
class RateTrace:
    """Rates that hold from one time to the next; after the last, the trace starts again."""

    ends: Floats  # (h,) seconds from the beginning; rising
    values: Floats  # (h,) tuples per second until then
    spacing: Spacing = "poisson"

    def __post_init__(self) -> None:
        """Store read-only copies."""
        object.__setattr__(self, "ends", frozen(self.ends))
        object.__setattr__(self, "values", frozen(self.values))

    @property
    def seconds(self) -> float:
        """The length of the trace."""
        return float(self.ends[-1])

    @property
    def mean(self) -> float:
        """The mean rate in tuples per second."""
        return float(np.diff(self.ends, prepend=0.0) @ self.values) / self.seconds

    @property
    def total(self) -> float:
        """The highest and the lowest rate together."""
        return float(self.values.max() + self.values.min())

    def path(self, rng: Generator) -> Path:  # noqa: ARG002 - one signature for all
        """Return the values as steps, repeated forever."""
        steps = list(zip(self.ends.tolist(), self.values.tolist(), strict=True))
        return ((lap * self.seconds + end, rate) for lap in itertools.count() for end, rate in steps)


@dataclass(frozen=True, slots=True)
class RateChange:
    """A factor on the rate of a source, from some time on."""

    source: str
    factor: float
    since: float = 0.0  # seconds


@dataclass(frozen=True, slots=True)
class ScaledArrivals:
    """An arrival process whose rate is multiplied from some time on."""

    of: ArrivalProcess
    scale: RateChange

    @property
    def spacing(self) -> Spacing:
        """The spacing of the original process."""
        return self.of.spacing

    @property
    def total(self) -> float:
        """The total of the original process, multiplied."""
        return self.of.total * self.scale.factor

    def path(self, rng: Generator) -> Path:
        """Return the steps of the original process, cut where the factor starts to apply."""
        begun = 0.0
        since = self.scale.since
        factor = self.scale.factor
        for until, rate in self.of.path(rng):
            if begun < since:
                yield min(until, since), rate
            if until > since:
                yield until, rate * factor
            begun = until


def peak(path: Path, seconds: float) -> float:
    """Return the highest rate of a path in the first `seconds`."""
    highest = 0.0
    for until, rate in path:
        highest = max(highest, rate)
        if until >= seconds:
            break
    return highest


def read_scales(profile: Profile, texts: Sequence[str]) -> tuple[RateChange, ...]:
    """Return factors from texts such as `east=2`, or `east=2@30` to start at 30 s."""
    names = list(profile.rates)
    return tuple(_scale(names, text) for text in texts)


def _scale(names: Sequence[str], text: str) -> RateChange:
    name, equals, rest = text.partition("=")
    if not equals:
        raise click.BadParameter(
            f"{shorten(text)} is not of the form SOURCE=FACTOR[@SECONDS]. Write for example {names[0]}=2@30."
        )
    if name not in names:
        hint = visible(f"{nearest(name, names)}Known: {known(names)}.")
        raise click.BadParameter(f"{shorten(name)} is not a source of the network. {hint}")
    factor, at, since = rest.partition("@")
    seconds = read_number(since, text, least_open=False) if at else 0.0
    return RateChange(name, read_number(factor, text, least_open=False), seconds)


def traces_of(load: LoadOptions, traced: Mapping[str, RateTrace], step: float) -> dict[str, RateTrace]:
    """Return the known rates over time, by source; a value of a series holds for `step` seconds."""
    series = {
        name: RateTrace(np.arange(1.0, len(values) + 1) * step, np.array(values, dtype=np.float64))
        for name, values in load.series.items()
        if values
    }
    return {**series, **{name: trace for name, trace in traced.items() if name not in load.rates}}


def workload_of(
    profile: Profile, traces: Mapping[str, RateTrace], scales: Sequence[RateChange]
) -> dict[str, ArrivalProcess]:
    """Return the arrival process of every source; several factors for one source are multiplied."""
    streams: dict[str, ArrivalProcess] = {name: traces.get(name, Poisson(rate)) for name, rate in profile.rates.items()}
    for scale in scales:
        streams[scale.source] = ScaledArrivals(streams[scale.source], scale)
    return streams

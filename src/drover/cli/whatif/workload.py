"""The rates of sources as a question has them: as known, from a trace, and scaled from some time on.

Rule 1: rates in the options win over a trace, a trace over the series of a statistics file, and those over its rates.
Rule 2: a trace that is shorter than the run begins again. Rule 3: tuples come at random under these rates (Poisson).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click
import numpy as np
from numpy.random import Generator

from drover.cli.loads import Told, read_number
from drover.errors import nearest, shorten, visible
from drover.load.arrays import Floats, frozen
from drover.load.profile import Profile
from drover.network.schema import known
from drover.sim.rates import Path
from drover.sim.workload import Poisson, Spacing, Stream


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Rates that hold from one time to the next, for ever: after the last, the first is next."""

    ends: Floats  # (h,) seconds from the beginning; rising
    values: Floats  # (h,) tuples per second until then
    spacing: Spacing = "poisson"

    def __post_init__(self) -> None:
        """Store read-only copies."""
        object.__setattr__(self, "ends", frozen(self.ends))
        object.__setattr__(self, "values", frozen(self.values))

    @property
    def seconds(self) -> float:
        """How long it is."""
        return float(self.ends[-1])

    @property
    def mean(self) -> float:
        """Tuples per second over its length."""
        return float(np.diff(self.ends, prepend=0.0) @ self.values) / self.seconds

    @property
    def total(self) -> float:
        """The highest and the lowest rate together."""
        return float(self.values.max() + self.values.min())

    def path(self, rng: Generator) -> Path:  # noqa: ARG002 - one signature for all
        """Return the values as steps, again and again."""
        steps = list(zip(self.ends.tolist(), self.values.tolist(), strict=True))
        return ((lap * self.seconds + end, rate) for lap in itertools.count() for end, rate in steps)


@dataclass(frozen=True, slots=True)
class Scale:
    """A factor on the rate of a source, from some time on."""

    source: str
    factor: float
    since: float = 0.0  # seconds


@dataclass(frozen=True, slots=True)
class Scaled:
    """Another stream whose rate is multiplied from some time on."""

    of: Stream
    scale: Scale

    @property
    def spacing(self) -> Spacing:
        """That of the other stream."""
        return self.of.spacing

    @property
    def total(self) -> float:
        """That of the other stream, multiplied."""
        return self.of.total * self.scale.factor

    def path(self, rng: Generator) -> Path:
        """Return the steps of the other stream, cut where the factor begins to hold."""
        begun, since, factor = 0.0, self.scale.since, self.scale.factor
        for until, rate in self.of.path(rng):
            if begun < since:
                yield min(until, since), rate
            if until > since:
                yield until, rate * factor
            begun = until


def peak(path: Path, seconds: float) -> float:
    """Return the highest rate of a path before a time."""
    highest = 0.0
    for until, rate in path:
        highest = max(highest, rate)
        if until >= seconds:
            break
    return highest


def read_scales(profile: Profile, texts: Sequence[str]) -> tuple[Scale, ...]:
    """Return factors from texts such as `east=2`, or `east=2@30` for 30 s on."""
    names = list(profile.rates)
    return tuple(_scale(names, text) for text in texts)


def _scale(names: Sequence[str], text: str) -> Scale:
    name, equals, rest = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{shorten(text)} is no SOURCE=FACTOR[@SECONDS]. Write for example {names[0]}=2@30.")
    if name not in names:
        hint = visible(f"{nearest(name, names)}Known: {known(names)}.")
        raise click.BadParameter(f"{shorten(name)} is no source of the network. {hint}")
    factor, at, since = rest.partition("@")
    seconds = read_number(since, text, least_open=False) if at else 0.0
    return Scale(name, read_number(factor, text, least_open=False), seconds)


def traces_of(told: Told, traced: Mapping[str, Trace], step: float) -> dict[str, Trace]:
    """Return the rates over time that are known, by source; a value of a series holds for `step` seconds."""
    series = {
        name: Trace(np.arange(1.0, len(values) + 1) * step, np.array(values, dtype=np.float64))
        for name, values in told.series.items()
        if values
    }
    return {**series, **{name: trace for name, trace in traced.items() if name not in told.rates}}


def workload_of(profile: Profile, traces: Mapping[str, Trace], scales: Sequence[Scale]) -> dict[str, Stream]:
    """Return the stream of every source; factors on one source multiply."""
    streams: dict[str, Stream] = {name: traces.get(name, Poisson(rate)) for name, rate in profile.rates.items()}
    for scale in scales:
        streams[scale.source] = Scaled(streams[scale.source], scale)
    return streams

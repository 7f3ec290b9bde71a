"""The last h periods of a run, and the statistics that follow from them.

Rule 1: a window is never edited; `push` returns a new one. Rule 2: a missing period or a missing sample does not mean a
load of zero; the other periods are used instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drover.errors import LoadError
from drover.load.sample import Sample, merged
from drover.load.statistics import Behaviour, Statistics

PERIODS: Final = 10  # h of [Xing05]
FEWEST: Final = 3  # periods that are needed to show that a selectivity varies


@dataclass(frozen=True, slots=True)
class Period:
    """One period: its length, the rows of each source, and the sample of each operator."""

    number: int
    seconds: float
    sources: Mapping[str, float]  # rows, by source
    samples: Mapping[str, Sample]  # by operator
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)  # Any: see `columns`

    def __post_init__(self) -> None:
        """Raise LoadError for a period without length; freeze the mappings."""
        if not self.seconds > 0:
            raise LoadError(
                f"period {self.number} is {self.seconds} seconds long, but must be longer than 0. Leave it out."
            )
        object.__setattr__(self, "sources", MappingProxyType(dict(self.sources)))
        object.__setattr__(self, "samples", MappingProxyType(dict(self.samples)))


@dataclass(frozen=True, slots=True)
class Window:
    """The last `length` periods, oldest first; numbers rise, not always by one."""

    length: int = PERIODS
    periods: tuple[Period, ...] = field(default=())

    def __post_init__(self) -> None:
        """Raise LoadError for a window without periods."""
        if self.length < 1:
            raise LoadError(f"length is {self.length}, but a window has at least one period. Give 10.")

    def push(self, number: int, seconds: float, sources: Mapping[str, float], samples: Iterable[Sample]) -> Window:
        """Return the window with one more period; a period with the same number replaces the old one.

        Periods drop out when their number is `length` or more below the newest, even if there are gaps.
        """
        added = Period(number, seconds, sources, merged(samples))
        known = {period.number: period for period in self.periods} | {number: added}
        newest = max(known)
        return Window(self.length, tuple(known[each] for each in sorted(known) if each > newest - self.length))

    def of(self, operator: str) -> Iterator[Sample]:
        """Yield the samples of an operator, oldest first."""
        return (period.samples[operator] for period in self.periods if operator in period.samples)


def measured(window: Window, *, varies_above: float | None = None) -> Statistics:
    """Return mean rates, and cost and selectivity of every operator that had rows.

    An operator varies if the coefficient of variation of its selectivity over the periods is above `varies_above`.
    """
    tallies: dict[str, _Tally] = {}
    for period in window.periods:
        for name, sample in period.samples.items():
            if (tally := tallies.get(name)) is None:
                tally = tallies[name] = _Tally()
            tally.add(sample, period.seconds)
    found = {name: tally.behaviour() for name, tally in tallies.items() if tally.rows}
    if varies_above is not None:
        found = {name: replace(each, varies=_varies(window, name, each, varies_above)) for name, each in found.items()}
    rates, series = source_rates(window)
    return Statistics(rates, found, series)


def waiting_shares(periods: Iterable[Period]) -> dict[str, float]:
    """Return the share of the busy seconds of each operator that used no core; operators that never wait are absent."""
    busy: dict[str, float] = {}
    waited: dict[str, float] = {}
    for period in periods:
        for name, sample in period.samples.items():
            busy[name] = busy.get(name, 0.0) + sample.busy
            if sample.waited:
                waited[name] = waited.get(name, 0.0) + sample.waited
    return {name: min(seconds / busy[name], 1.0) for name, seconds in waited.items() if busy[name] > 0}


def source_rates(window: Window) -> tuple[dict[str, float], dict[str, tuple[float, ...]]]:
    """Return the mean rate of every source, and its rate in each period that has it; rows per second."""
    seconds: dict[str, float] = {}
    rows: dict[str, float] = {}
    for period in window.periods:
        for source, count in period.sources.items():
            seconds[source] = seconds.get(source, 0.0) + period.seconds
            rows[source] = rows.get(source, 0.0) + count
    return (
        {source: rows[source] / seconds[source] for source in rows},
        {source: tuple(_rates(window, source)) for source in rows},
    )


@dataclass(slots=True)
class _Tally:
    """The sum of all samples of an operator; mutable, because a step of the control loop adds thousands."""

    rows: float = 0.0
    busy: float = 0.0
    seconds: float = 0.0
    took: dict[str, float] = field(default_factory=dict)
    gave: dict[str, float] = field(default_factory=dict)

    def add(self, sample: Sample, seconds: float) -> None:
        self.busy += sample.busy
        self.seconds += seconds
        took = self.took
        gave = self.gave
        rows = 0.0
        for stream, count in sample.rows_in.items():
            rows += count
            took[stream] = took.get(stream, 0.0) + count
        self.rows += rows
        for stream, count in sample.rows_out.items():
            gave[stream] = gave.get(stream, 0.0) + count

    def behaviour(self) -> Behaviour:
        """Return cost and selectivities over all samples; there must have been a row."""
        rows = self.rows
        seconds = self.seconds
        found_at = {stream: count / seconds for stream, count in self.took.items()}
        return Behaviour(self.busy / rows, {name: count / rows for name, count in self.gave.items()}, False, found_at)


def _rates(window: Window, source: str) -> Iterator[float]:
    """Yield the rate of a source in each period that has it."""
    return (period.sources[source] / period.seconds for period in window.periods if source in period.sources)


def _varies(window: Window, operator: str, behaviour: Behaviour, most: float) -> bool:
    """Return whether the coefficient of variation of a selectivity over the periods is above `most`."""
    samples = tuple(window.of(operator))
    for stream in behaviour.selectivity:
        counted = [(sum(sample.rows_in.values()), sample.rows_out.get(stream, 0.0)) for sample in samples]
        ratios = np.array([out / rows for rows, out in counted if rows])
        # With fewer periods, chance alone would look like variation.
        if len(ratios) >= FEWEST and float(ratios.std()) > most * float(ratios.mean()):
            return True
    return False

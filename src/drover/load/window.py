"""The last h periods of a run, and what they say of its load.

Rule 1: a window is never edited; `push` returns a new one. Rule 2: a period that is missing, and an operator that has
no sample in one, is no load of zero: what is known of the other periods is used instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np

from drover.errors import LoadError
from drover.load.sample import Sample, merged
from drover.load.statistics import Behaviour, Statistics

PERIODS: Final = 10  # h of [Xing05]
FEWEST: Final = 3  # periods that can show that a selectivity varies


@dataclass(frozen=True, slots=True)
class Period:
    """One period: how long it was, what the sources delivered, and what each operator did."""

    number: int
    seconds: float
    sources: Mapping[str, float]  # rows, by source
    samples: Mapping[str, Sample]  # by operator

    def __post_init__(self) -> None:
        """Refuse a period without length; freeze the mappings."""
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
        """Refuse a window that holds nothing."""
        if self.length < 1:
            raise LoadError(f"length is {self.length}, but a window has at least one period. Give 10.")

    def push(self, number: int, seconds: float, sources: Mapping[str, float], samples: Iterable[Sample]) -> Window:
        """Return the window with one more period; one that comes again replaces what it said before.

        Periods that are `length` or more before the newest drop out, however few there are between.
        """
        told = Period(number, seconds, sources, merged(samples))
        known = {period.number: period for period in self.periods} | {number: told}
        newest = max(known)
        return Window(self.length, tuple(known[each] for each in sorted(known) if each > newest - self.length))

    def of(self, operator: str) -> Iterator[Sample]:
        """Yield the samples of an operator, oldest first."""
        return (period.samples[operator] for period in self.periods if operator in period.samples)


def measured(window: Window, *, varies_above: float | None = None) -> Statistics:
    """Return what the window says: mean rates, and cost and selectivity of every operator that had rows.

    An operator varies if its selectivity, from period to period, has a coefficient of variation above `varies_above`.
    """
    seconds: dict[str, float] = {}
    rows: dict[str, float] = {}
    for period in window.periods:
        for source, count in period.sources.items():
            seconds[source] = seconds.get(source, 0.0) + period.seconds
            rows[source] = rows.get(source, 0.0) + count
    names = dict.fromkeys(name for period in window.periods for name in period.samples)
    said = {name: _behaviour(window, name, varies_above) for name in names}
    return Statistics(
        {source: rows[source] / seconds[source] for source in rows},
        {name: behaviour for name, behaviour in said.items() if behaviour is not None},
        {source: tuple(_rates(window, source)) for source in rows},
    )


def _rates(window: Window, source: str) -> Iterator[float]:
    """Yield the rate of a source in each period in which it was seen."""
    return (period.sources[source] / period.seconds for period in window.periods if source in period.sources)


def _behaviour(window: Window, operator: str, varies_above: float | None) -> Behaviour | None:
    """Return cost and selectivities over all samples of an operator, or None if no row came in."""
    rows, busy, seconds = 0.0, 0.0, 0.0
    took: dict[str, float] = {}
    gave: dict[str, float] = {}
    for period in window.periods:
        if (sample := period.samples.get(operator)) is None:
            continue
        rows += sum(sample.rows_in.values())
        busy += sample.busy
        seconds += period.seconds
        for sums, counts in ((took, sample.rows_in), (gave, sample.rows_out)):
            for stream, count in counts.items():
                sums[stream] = sums.get(stream, 0.0) + count
    if not rows:
        return None
    varies = varies_above is not None and any(_varies(tuple(window.of(operator)), one, varies_above) for one in gave)
    found_at = {stream: count / seconds for stream, count in took.items()}
    return Behaviour(busy / rows, {stream: count / rows for stream, count in gave.items()}, varies, found_at)


def _varies(samples: tuple[Sample, ...], stream: str, most: float) -> bool:
    counted = [(sum(sample.rows_in.values()), sample.rows_out.get(stream, 0.0)) for sample in samples]
    ratios = np.array([out / rows for rows, out in counted if rows])
    return len(ratios) >= FEWEST and float(ratios.std()) > most * float(ratios.mean())

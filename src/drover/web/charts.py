"""Line charts over time: a frozen `Chart`, which the template `chart.svg.j2` draws and `Chart.table` states in numbers.

Charts are drawn by our own template because charting libraries need scripts, fetched assets or `style` attributes, all
of which a strict Content-Security-Policy blocks.

Rule 1: every chart has a title, a description in words and a table. Rule 2: a label at its end and a dash pattern
identify a line, never its colour alone. Rule 3: no chart has more points than pixels to show them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from markupsafe import Markup

from drover.load.arrays import Floats
from drover.web.axes import clock_ticks, log_ticks, spread, ticks
from drover.web.formatting import Format, clock
from drover.web.templates import figure_style, render
from drover.web.thinning import ThinnedSeries, interval_means, thin

WIDTH: Final = 592.0  # of the plot, in pixels, as all that follow
HEIGHT: Final = 230.0
RIGHT: Final = 110.0  # beside the plot, for the names of lines
NAMES_APART: Final = 13.0
DIGIT: Final = 7.0  # width of a character on a flag
POINTS: Final = 296  # of a line: two pixels each
HOVERS: Final = 100  # areas that show their values under the pointer
ROWS: Final = 24  # of the table
MANY_MARKS: Final = 40  # more would cover the lines, so they are short
MANY_LINES: Final = 4  # with more, bands are faint
MOST_NODES: Final = 16  # lines of nodes; more would hide one another
LONGEST_FLAG: Final = 30  # characters
NEAR: Final = 0.3  # a limit is in the chart if values reach this fraction of it
COLOURS: Final = 6  # in chart.css; with five dash patterns, 30 lines look different
DASHES: Final = 5


@dataclass(frozen=True, slots=True, eq=False)
class ChartSeries:
    """One line of a chart."""

    name: str
    values: Floats  # (p,) NaN where nothing was measured
    style: int  # chooses colour and dash pattern; the number of the node, if it is about a node

    @property
    def stroke(self) -> str:
        """The CSS classes of the line."""
        return f"stroke{self.style % COLOURS} dash{self.style % DASHES}"

    @property
    def fill(self) -> str:
        """The CSS class of areas and text in the colour of the line."""
        return fill_class(self.style)

    def describe(self, shown: Format) -> str:
        """Return the range, mean and last value in words."""
        known = self.values[np.isfinite(self.values)]
        if not len(known):
            return f"{self.name}: nothing measured"
        least, most, mean, last = (shown(float(each)) for each in (known.min(), known.max(), known.mean(), known[-1]))
        return f"{self.name}: {least} to {most}, {mean} on average, {last} last"


@dataclass(frozen=True, slots=True)
class ChartMark:
    """Something that happened, shown as a vertical line with a flag."""

    time: float  # seconds
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """What a chart shows. Times are seconds from 0 on; each value belongs to the interval that ends at its time."""

    id: str  # unique on its page
    title: str
    times: Floats  # (p,) seconds, rising
    series: Sequence[ChartSeries]
    format: Format  # a value as text, with its unit
    unit: str = ""  # what the values are, if the title does not say so
    limit: float | None = None
    limit_label: str = ""
    marks: Sequence[ChartMark] = ()  # in order of time
    log: bool = False
    warmup: float = 0.0  # seconds at the start, shaded
    time_label: str = "time since the first period shown, h:min:s"

    @property
    def description(self) -> str:
        """The chart in words."""
        return "; ".join(series.describe(self.format) for series in self.series) + "."

    @property
    def end(self) -> float:
        """The last moment."""
        return float(self.times[-1])

    def value_ticks(self) -> tuple[float, ...]:
        """Return the ticks of the value axis, from its lower to its upper end."""
        values = np.concatenate([np.zeros(0), *(series.values for series in self.series)])
        values = values[np.isfinite(values) & (values > 0)]
        if not len(values):
            return ticks(1.0) if not self.log else log_ticks(0.1, 1.0)
        most = float(values.max())
        if self.log:
            return log_ticks(float(values.min()), most)
        in_reach = self.limit is not None and most >= NEAR * self.limit
        return ticks(max(most, self.limit) if in_reach and self.limit is not None else most)

    def intervals(self, most: int) -> Iterator[tuple[float, list[float]]]:
        """Return the end of each of at most `most` intervals, and the mean of each series in it (NaN if unknown)."""
        return interval_means(self.times, [series.values for series in self.series], most)

    def table(self) -> list[list[str]]:
        """Return the end of each interval and the values in it, as text."""
        found = self.intervals(ROWS)
        return [[clock(end), *map(self.format, means)] for end, means in found if not np.isnan(means).all()]

    @property
    def table_note(self) -> str:
        """What the rows of the table are."""
        return "each period" if len(self.times) <= ROWS else f"means over {ROWS} intervals"

    def layout(self) -> ChartLayout:
        """Return what the template draws, in pixels."""
        steps = self.value_ticks()
        scale = _Scale(self.end, steps[0], steps[-1], self.log)
        lines = [(series, thin(self.times, scale.drawable(series.values), POINTS)) for series in self.series]
        band = "band" if len(lines) <= MANY_LINES else "band faint"
        return ChartLayout(
            value_ticks=[(scale.y(step), self.format(step)) for step in steps],
            time_ticks=[(scale.x(time), clock(time)) for time in clock_ticks(self.end)],
            limit=scale.y(self.limit) if self.limit is not None and self.limit <= steps[-1] else None,
            warmup=scale.x(self.warmup),
            marks=list(dict.fromkeys(round(scale.x(mark.time), 1) for mark in self.marks)),
            marks_bottom=0.0 if len(self.marks) > MANY_MARKS else HEIGHT,
            flags=list(_flags([(scale.x(mark.time), mark.label) for mark in self.marks])),
            paths=[path for series, thinned in lines for path in _paths(series, thinned, scale, band)],
            names=list(_names(lines, scale)),
            hovers=list(_hovers(self, scale)),
        )


@dataclass(frozen=True, slots=True)
class ChartLayout:
    """A chart in pixels from the upper left corner of the plot."""

    value_ticks: list[tuple[float, str]]  # y, label
    time_ticks: list[tuple[float, str]]  # x, label
    limit: float | None  # y; None if there is no limit, or if it is above the plot
    warmup: float  # x
    marks: list[float]  # x
    marks_bottom: float  # y
    flags: list[tuple[float, float, str]]  # x, width, label
    paths: list[tuple[str, Markup]]  # CSS classes, path
    names: list[tuple[float, ChartSeries]]  # y
    hovers: list[tuple[float, float, str]]  # x, width, text
    width: float = WIDTH
    height: float = HEIGHT


def fill_class(style: int) -> str:
    """Return the CSS class of areas and text about a node or a line."""
    return f"fill{style % COLOURS}"


def node_series(values: Floats) -> list[ChartSeries]:
    """Return a line for each node of values, (p, n): of many nodes, the busiest, and the maximum of all others."""
    peaks = np.nan_to_num(values).max(axis=0, initial=0.0)  # (n,)
    chosen = sorted(map(int, np.argsort(-peaks, kind="stable")[:MOST_NODES]))
    series = [ChartSeries(f"node {i}", values[:, i], i) for i in chosen]
    others = [i for i in range(values.shape[1]) if i not in chosen]
    if others:
        # fmax ignores NaN, so that a node that is gone does not hide the others.
        series.append(ChartSeries("others, max", np.fmax.reduce(values[:, others], axis=1), MOST_NODES))
    return series


def figure(charts: Sequence[Chart]) -> str:
    """Return charts below one another as the text of an SVG file."""
    return render("figure.svg.j2", charts=charts, style=figure_style())


@dataclass(frozen=True, slots=True)
class _Scale:
    end: float  # seconds
    low: float
    high: float
    log: bool

    def x(self, time: float) -> float:
        return WIDTH * time / self.end

    def y(self, value: float) -> float:
        if self.log:
            share = math.log10(value / self.low) / math.log10(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return HEIGHT * (1 - share)

    def drawable(self, values: Floats) -> Floats:
        """Return values, (p,), with NaN for those that a logarithm does not have."""
        return np.where(values > 0, values, np.nan) if self.log else values


def _flags(places: Sequence[tuple[float, str]]) -> Iterator[tuple[float, float, str]]:
    """Yield position, width and label of each flag; marks whose flags would overlap share one."""
    groups: list[tuple[float, list[str]]] = []
    for x, label in places:
        if groups and x < groups[-1][0] + _flag_width(groups[-1][1]) + 2:
            groups[-1][1].append(label)
        else:
            groups.append((x, [label]))
    for x, labels in groups:
        wide = _flag_width(labels)
        yield min(x, WIDTH + RIGHT - wide), wide, _flag_label(labels)


def _flag_label(labels: Sequence[str]) -> str:
    joined = ", ".join(labels) if len(labels) <= 2 else f"{labels[0]} ... {labels[-1]}"
    return joined if len(joined) <= LONGEST_FLAG else f"{joined[: LONGEST_FLAG - 1]}…"


def _flag_width(labels: Sequence[str]) -> float:
    return DIGIT * len(_flag_label(labels)) + 6


def _paths(series: ChartSeries, thinned: ThinnedSeries, scale: _Scale, band: str) -> Iterator[tuple[str, Markup]]:
    """Yield the parts of a line, each after its band from minimum to maximum; a lone point is a diamond."""
    # A line stops where there was no value for a while, and does not run on through the gap.
    breaks = [0, *(np.flatnonzero(np.diff(thinned.interval) > 2) + 1), len(thinned.interval)]
    for start, stop in pairwise(breaks):
        xs = [scale.x(time) for time in thinned.times[start:stop]]
        low, mean, high = (
            [(x, scale.y(value)) for x, value in zip(xs, values[start:stop], strict=True)]
            for values in (thinned.low, thinned.mean, thinned.high)
        )
        if low != high:
            yield f"{band} {series.fill}", _path([*high, *low[::-1]], "z")
        if len(mean) == 1:
            ((x, y),) = mean
            yield series.fill, _path([(x, y - 3), (x + 3, y), (x, y + 3), (x - 3, y)], "z")
        elif mean:
            yield f"line {series.stroke}", _path(mean)


def _path(points: Sequence[tuple[float, float]], end: str = "") -> Markup:
    """Return a path of relative steps in tenths of a pixel, which is half as long as absolute positions."""
    tenths = [(round(10 * x), round(10 * y)) for x, y in points]
    steps = "".join(f"l{(b[0] - a[0]) / 10:g} {(b[1] - a[1]) / 10:g}" for a, b in pairwise(tenths))
    # Markup keeps the template from cutting a path as if it were a long text.
    return Markup(f"M{tenths[0][0] / 10:g} {tenths[0][1] / 10:g}{steps}{end}")


def _names(lines: Sequence[tuple[ChartSeries, ThinnedSeries]], scale: _Scale) -> Iterator[tuple[float, ChartSeries]]:
    """Yield the names at the ends of lines, moved apart where they would overlap."""
    ends = [(scale.y(float(thinned.mean[-1])), series) for series, thinned in lines if len(thinned.mean)]
    ends.sort(key=lambda end: end[0])
    places = spread([y for y, _ in ends], NAMES_APART, 0.0, HEIGHT)
    return zip(places, (series for _, series in ends), strict=True)


def _hovers(chart: Chart, scale: _Scale) -> Iterator[tuple[float, float, str]]:
    """Yield invisible areas whose tooltip states the values in them."""
    before = 0.0
    for end, means in chart.intervals(HOVERS):
        values = [
            f"{series.name} {chart.format(mean)}"
            for series, mean in zip(chart.series, means, strict=True)
            if not math.isnan(mean)
        ]
        x = scale.x(end)
        yield before, max(x - before, 1.0), f"{clock(end)}: {', '.join(values)}"
        before = x

"""Line charts over time as SVG.

Rule 1: a chart has a title, a description in words and, in `tables`, its numbers. Rule 2: a line is told by the word at
its end and by its dashes, not by its colour alone. Rule 3: no chart has more points than it has pixels to show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from drover.load.arrays import Floats
from drover.web.report.axes import clock_ticks, spread, ticks
from drover.web.report.colours import dash_of, line_of
from drover.web.report.figures import clock
from drover.web.report.markup import Markup, element
from drover.web.report.timeline import Thinned, columns_of, thin

WIDTH: Final = 760.0
LEFT: Final = 58.0
RIGHT: Final = 110.0  # for the words at the ends of lines
TOP: Final = 30.0
PLOT: Final = 230.0  # height of the plot
FOOT: Final = 34.0
ACROSS: Final = WIDTH - LEFT - RIGHT
COLUMNS: Final = 296  # of a thinned series: two pixels each
HOVERS: Final = 100  # places that tell their values to a pointer
APART: Final = 13.0  # between words at the ends of lines
CROWD: Final = 40  # marks
MANY: Final = 4  # lines, from which on bands are faint
LETTER: Final = 7.0  # width of a digit on a flag
NEAR: Final = 0.3  # share of the limit above which the limit is in the picture


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A series with its name; `style` chooses colour and dashes."""

    name: str
    values: Floats  # (p,) not a number where there is nothing
    style: int


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """What a chart shows."""

    id: str
    title: str
    ends: Floats  # (p,) seconds
    lines: Sequence[Line]
    shown: Callable[[float], str]  # a value as text
    limit: float | None = None
    limit_word: str = ""
    marks: Sequence[tuple[float, int]] = ()  # seconds and number of what happened then

    @property
    def top(self) -> float:
        """The largest value that is to be in the picture."""
        values = np.concatenate([line.values for line in self.lines]) if self.lines else np.zeros(1)
        most = float(np.nanmax(values, initial=0.0))
        if self.limit is not None and most >= NEAR * self.limit:
            return max(most, self.limit)
        return most if most > 0 else 1.0

    @property
    def description(self) -> str:
        """The chart in words."""
        return "; ".join(_told(line, self.shown) for line in self.lines) + "."


def _told(line: Line, shown: Callable[[float], str]) -> str:
    known = line.values[np.isfinite(line.values)]
    if not len(known):
        return f"{line.name}: nothing measured"
    least, most, mean, last = (shown(float(each)) for each in (known.min(), known.max(), known.mean(), known[-1]))
    return f"{line.name}: {least} to {most}, {mean} on average, {last} last"


@dataclass(frozen=True, slots=True)
class _Scale:
    begin: float
    end: float  # seconds
    top: float

    def x(self, at: float) -> float:
        return LEFT + ACROSS * (at - self.begin) / (self.end - self.begin) if self.end > self.begin else LEFT + ACROSS

    def y(self, value: float) -> float:
        return TOP + PLOT * (1 - value / self.top)


def draw(chart: Chart) -> Markup:
    """Return a chart as an SVG element."""
    steps = ticks(chart.top)
    scale = _Scale(0.0, float(chart.ends[-1]), steps[-1])
    series = [(line, thin(chart.ends, line.values, COLUMNS)) for line in chart.lines]
    return element(
        "svg",
        element("title", chart.title, id=f"{chart.id}-title"),
        element("desc", chart.description, id=f"{chart.id}-desc"),
        _axes(chart, scale, steps),
        _limit(chart, scale),
        _marks(chart, scale),
        (_curve(line, found, scale, "faint" if len(series) > MANY else "band") for line, found in series),
        _names(series, scale),
        _hovers(chart, scale),
        viewBox=f"0 0 {WIDTH:.0f} {TOP + PLOT + FOOT:.0f}",
        class_="chart",
        role="img",
        aria_labelledby=f"{chart.id}-title {chart.id}-desc",
    )


def _axes(chart: Chart, scale: _Scale, steps: Sequence[float]) -> Iterator[Markup]:
    for step in steps:
        y = scale.y(step)
        yield element("line", x1=LEFT, x2=LEFT + ACROSS, y1=y, y2=y, class_="grid")
        yield element("text", chart.shown(step), x=LEFT - 6, y=y + 4, class_="tick right")
    for at in clock_ticks(scale.begin, scale.end):
        yield element("text", clock(at), x=scale.x(at), y=TOP + PLOT + 16, class_="tick middle")
    yield element("text", "since the first period shown, h:min:s", x=LEFT, y=TOP + PLOT + 31, class_="tick")


def _limit(chart: Chart, scale: _Scale) -> Iterator[Markup]:
    if chart.limit is None:
        return
    if chart.limit <= scale.top:
        y = scale.y(chart.limit)
        yield element("line", x1=LEFT, x2=LEFT + ACROSS, y1=y, y2=y, class_="limit")
        yield element("text", chart.limit_word, x=LEFT + 4, y=y + 13, class_="limit-word")
    else:
        beyond = f"{chart.limit_word} ({chart.shown(chart.limit)}) is above this picture"
        yield element("text", beyond, x=LEFT + ACROSS, y=TOP + PLOT + 31, class_="limit-word right")


def _marks(chart: Chart, scale: _Scale) -> Iterator[Markup]:
    """Yield a line for each mark, and flags with their numbers, one for several that are close together."""
    places = [(scale.x(at), label) for at, label in chart.marks]
    foot = TOP + PLOT if len(places) <= CROWD else TOP  # many lines would be a fog before everything else
    for x in dict.fromkeys(round(x, 1) for x, _ in places):
        yield element("line", x1=x, x2=x, y1=TOP - 6, y2=foot, class_="mark")
    for x, words in _flags(places):
        wide = LETTER * len(words) + 6
        yield element("rect", x=x - wide / 2, y=TOP - 22, width=wide, height=16, rx=3, class_="flag")
        yield element("text", words, x=x, y=TOP - 10, class_="tick middle")


def _flags(places: Sequence[tuple[float, int]]) -> Iterator[tuple[float, str]]:
    """Yield where flags are and what they say; marks that are too close for a flag each share one."""
    apart = LETTER * len(f"{places[-1][1]}-{places[-1][1]}") + 10 if places else 0.0
    groups: list[list[tuple[float, int]]] = []
    for place in places:
        if groups and place[0] - groups[-1][0][0] < apart:
            groups[-1].append(place)
        else:
            groups.append([place])
    for group in groups:
        yield group[0][0], str(group[0][1]) if len(group) == 1 else f"{group[0][1]}-{group[-1][1]}"


def _curve(line: Line, found: Thinned, scale: _Scale, band: str) -> Iterator[Markup]:
    for piece in _pieces(found):
        xs = [scale.x(at) for at in found.at[piece]]
        if (found.high[piece] > found.low[piece]).any():
            there = [(x, scale.y(value)) for x, value in zip(xs, found.high[piece], strict=True)]
            back = [(x, scale.y(value)) for x, value in zip(xs, found.low[piece], strict=True)]
            yield element("path", d=_path([*there, *back[::-1]], "z"), class_=f"{band} fill-{line_of(line.style)}")
        points = [(x, scale.y(value)) for x, value in zip(xs, found.mean[piece], strict=True)]
        if len(points) == 1:
            yield element("circle", cx=points[0][0], cy=points[0][1], r=3, class_=f"fill-{line_of(line.style)}")
        else:
            dashes = dash_of(line.style)
            yield element("path", d=_path(points), class_=f"line {line_of(line.style)}", stroke_dasharray=dashes)


def _pieces(found: Thinned) -> Iterator[slice]:
    """Yield the stretches without a gap: a line does not run on through a time in which there was no such node."""
    breaks = [0, *(np.flatnonzero(np.diff(found.column) > 2) + 1), len(found.column)]
    return (slice(int(a), int(b)) for a, b in pairwise(breaks) if b > a)


def _path(points: Sequence[tuple[float, float]], end: str = "") -> Markup:
    """Return a path in steps of a tenth of a pixel, each from the one before: half as long as places would be."""
    tenths = [(round(10 * x), round(10 * y)) for x, y in points]
    steps = "".join(f"l{(b[0] - a[0]) / 10:g} {(b[1] - a[1]) / 10:g}" for a, b in pairwise(tenths))
    return Markup(f"M{tenths[0][0] / 10:g} {tenths[0][1] / 10:g}{steps}{end}")


def _names(series: Sequence[tuple[Line, Thinned]], scale: _Scale) -> Iterator[Markup]:
    """Yield the names at the ends of lines, moved apart where they would touch."""
    ends = sorted(
        ((scale.y(float(found.mean[-1])), line) for line, found in series if len(found.at)), key=lambda end: end[0]
    )
    for y, (_, line) in zip(spread([place for place, _ in ends], APART, TOP, TOP + PLOT), ends, strict=True):
        yield element("text", line.name, x=LEFT + ACROSS + 8, y=y + 4, class_=f"node fill-{line_of(line.style)}")


def _hovers(chart: Chart, scale: _Scale) -> Iterator[Markup]:
    """Yield invisible columns whose titles are what is measured there."""
    column = columns_of(chart.ends, HOVERS)
    lines = [(line.name, thin(chart.ends, line.values, HOVERS)) for line in chart.lines]
    before = scale.begin
    for each in np.unique(column):
        end = float(chart.ends[column == each][-1])
        values = [
            f"{name} {chart.shown(float(found.mean[found.column == each][0]))}"
            for name, found in lines
            if (found.column == each).any()
        ]
        yield element(
            "rect", element("title", f"{clock(end)}: {', '.join(values)}"), x=scale.x(before), y=TOP,
            width=max(scale.x(end) - scale.x(before), 1.0), height=PLOT, class_="hover",
        )  # fmt: skip
        before = end

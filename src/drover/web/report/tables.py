"""Tables as HTML, each in a region that scrolls by itself and can be reached with the keyboard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from drover.load.arrays import Floats
from drover.web.report.charts import Chart
from drover.web.report.figures import NONE, clock
from drover.web.report.markup import Content, Markup, element
from drover.web.report.timeline import thin

ROWS: Final = 24  # of the table of a chart


@dataclass(frozen=True, slots=True)
class Column:
    """A heading; `kind` is "" for text, "number" or "words" for long text."""

    head: str
    kind: str = ""


def region(label: str, *content: Content) -> Markup:
    """Return content that may be wider than the page."""
    return element("div", *content, class_="scroll", role="region", aria_label=label, tabindex="0")


def table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Content]]) -> Markup:
    """Return a table whose first column heads its rows."""
    head = element("tr", (element("th", each.head, scope="col", class_=each.kind or None) for each in columns))
    body = (element("tr", _cells(columns, row)) for row in rows)
    return region(
        caption, element("table", element("caption", caption), element("thead", head), element("tbody", body))
    )


def _cells(columns: Sequence[Column], row: Sequence[Content]) -> Iterator[Markup]:
    for index, (column, cell) in enumerate(zip(columns, row, strict=True)):
        kind = column.kind or None
        yield element("th", cell, scope="row", class_=kind) if index == 0 else element("td", cell, class_=kind)


def figures_of(chart: Chart) -> Markup:
    """Return the numbers of a chart: of every period if there are few, else means of equal stretches of time."""
    series = [(line.name, thin(chart.ends, line.values, ROWS)) for line in chart.lines]
    used = sorted({int(column) for _, found in series for column in found.column})
    rows = []
    for column in used:
        cells = [_cell(chart, found.mean[found.column == column]) for _, found in series]
        ends = [float(found.at[found.column == column][0]) for _, found in series if (found.column == column).any()]
        rows.append([clock(max(ends)), *cells])
    what = "each period" if len(chart.ends) <= ROWS else f"means of {len(used)} stretches of time"
    head = [Column("until", "number"), *(Column(line.name, "number") for line in chart.lines)]
    return element(
        "details", element("summary", f"{chart.title}: the numbers"), table(f"{chart.title}, {what}", head, rows)
    )


def _cell(chart: Chart, values: Floats) -> str:
    return chart.shown(float(values[0])) if len(values) else NONE

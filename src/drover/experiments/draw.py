"""Figures from rows: PNG for pages, SVG for print, the same bytes for the same rows.

Rule 1: a figure is drawn from rows and panels alone. Rule 2: matplotlib is imported when a figure is drawn: it takes a
second that nobody else should wait.
"""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from drover.experiments.summary import means, select, values_of
from drover.experiments.table import Experiment, Panel, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Style: TypeAlias = dict[str, Any]  # Any: what matplotlib takes is of many types

SETTINGS: Final[Any] = {  # Any: the names of settings are literals
    "svg.hashsalt": "drover",  # names of elements are made of it, by default of chance
    "svg.fonttype": "none",  # text as text: a fifth of the size
    "font.size": 8.0,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
}
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
MARKS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
ACROSS: Final = 3  # panels in a row at most
LEGEND: Final = 3  # names across, for each panel
WIDTH, HEIGHT = 4.4, 3.2  # inches of a panel
DOTS, COARSE = 100, 60  # dots per inch, and those of clouds of points within an SVG


def draw(experiment: Experiment, rows: pl.DataFrame) -> dict[str, bytes]:
    """Return the figure of an experiment, by suffix."""
    import matplotlib as mpl  # noqa: PLC0415 - as in rule 2
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - as in rule 2
    from matplotlib.figure import Figure  # noqa: PLC0415 - as in rule 2

    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=size(len(experiment.panels)), dpi=DOTS, layout="constrained")
        FigureCanvasAgg(figure)  # no window, whatever the environment says
        fill(figure, experiment, rows)
        return {
            "png": _saved(figure, "png", DOTS, {"Software": None}),
            "svg": _saved(figure, "svg", COARSE, {"Date": None}),
        }


def size(panels: int) -> tuple[float, float]:
    """Return the inches of a figure."""
    across = min(panels, ACROSS)
    return WIDTH * across, HEIGHT * math.ceil(panels / across)


def fill(figure: Figure, experiment: Experiment, rows: pl.DataFrame) -> None:
    """Draw every panel in its place."""
    across = min(len(experiment.panels), ACROSS)
    down = math.ceil(len(experiment.panels) / across)
    figure.suptitle(f"{experiment.name}: {experiment.title}", fontsize=9)
    for number, panel in enumerate(experiment.panels):
        axes = figure.add_subplot(down, across, number + 1)
        kept = select(rows, **dict(panel.where))
        (_lines if panel.kind == "lines" else _points)(axes, panel, kept, looks(rows, panel))
        _dress(axes, panel)
    _explain(figure)


def looks(rows: pl.DataFrame, panel: Panel) -> dict[Value, Style]:
    """Return a colour for each line, and a mark for those who see none; by all rows, so that panels agree."""
    names = values_of(rows, panel.line) if panel.line else [""]
    return {
        name: {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKS[number % len(MARKS)],
            "label": str(name) or None,
        }
        for number, name in enumerate(names)
    }


def _explain(figure: Figure) -> None:
    """Put one legend for all panels below them, where it hides nothing; a line of one name looks the same in each."""
    known = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if known:
        across = min(len(known), LEGEND * min(len(figure.axes), ACROSS))
        figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=across)


def _dress(axes: Axes, panel: Panel) -> None:
    axes.set_xlabel(panel.x.replace("_", " "))
    axes.set_ylabel((panel.label or panel.y).replace("_", " "))
    if panel.title:
        axes.set_title(panel.title, fontsize=8)
    if "x" in panel.log:
        axes.set_xscale("log")
    if "y" in panel.log:
        axes.set_yscale("log")


def _lines(axes: Axes, panel: Panel, rows: pl.DataFrame, styles: dict[Value, Style]) -> None:
    found = means(rows, panel)
    for name in values_of(found, panel.line) if panel.line else [""]:
        line = found.filter(pl.col(panel.line) == name) if panel.line else found
        line = line.sort(panel.x)
        x, y, error = (line[column].to_numpy() for column in (panel.x, "mean", "error"))
        axes.errorbar(x, y, yerr=error, markersize=3.5, linewidth=1.1, capsize=1.5, **styles[name])
    if panel.bound:
        limit = means(rows, Panel(x=panel.x, y=panel.bound)).sort(panel.x)
        axes.plot(limit[panel.x], limit["mean"], color="black", linewidth=0.8, label=panel.bound)
    for name, points in panel.printed.items():
        axes.plot(list(points), list(points.values()), "x", color="black", label=f"{name}, as printed")


def _points(axes: Axes, panel: Panel, rows: pl.DataFrame, styles: dict[Value, Style]) -> None:
    # Thousands of points are a picture within the SVG: as shapes they would be megabytes.
    shared: Style = {"rasterized": len(rows) > 500}
    many: Style = {"linestyle": "", "alpha": 0.5, "markersize": 1.2 if len(rows) > 1000 else 2.5}
    for name in values_of(rows, panel.line) if panel.line else [""]:
        points = rows.filter(pl.col(panel.line) == name) if panel.line else rows
        axes.plot(points[panel.x], points[panel.y], **styles[name], **many, **shared)
    if panel.bound:
        limit = rows.sort(panel.x)
        axes.plot(limit[panel.x], limit[panel.bound], color="black", linewidth=0.8, label=panel.bound, **shared)


def _saved(figure: Figure, suffix: str, dots: int, metadata: dict[str, Any]) -> bytes:  # Any: matplotlib's own
    with io.BytesIO() as file:
        figure.savefig(file, format=suffix, dpi=dots, metadata=metadata)
        return file.getvalue()

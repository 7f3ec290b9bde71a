"""Figures of experiments, as PNG and SVG.

Rule 1: a figure depends on rows and panels alone; equal rows give equal bytes. Rule 2: matplotlib is imported when a
figure is drawn, because the import takes a second.
"""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from drover_lab.summary import means, select, values_of
from drover_lab.table import Experiment, Panel, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Style: TypeAlias = dict[str, Any]  # Any: matplotlib's options have many types

SETTINGS: Final[Any] = {  # Any: the names of settings are literals
    "svg.hashsalt": "drover",  # seeds the names of elements, which are random by default
    "svg.fonttype": "none",  # text stays text, which makes files five times smaller
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
ACROSS: Final = 3  # most panels side by side
FEW: Final = 15  # a line with at most this many points gets a marker and an error bar for each
LEGEND: Final = 3  # columns of the legend per panel
# inches of a panel
WIDTH = 4.4
HEIGHT = 3.2
# dots per inch of a PNG, and of rasterized points in an SVG
DOTS = 100
COARSE = 60


def draw(experiment: Experiment, rows: pl.DataFrame) -> dict[str, bytes]:
    """Return the figure of an experiment as bytes, by file suffix."""
    import matplotlib as mpl  # noqa: PLC0415 - as in rule 2
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - as in rule 2
    from matplotlib.figure import Figure  # noqa: PLC0415 - as in rule 2

    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=size(len(experiment.panels)), dpi=DOTS, layout="constrained")
        FigureCanvasAgg(figure)  # never opens a window, whatever backend the environment sets
        fill(figure, experiment, rows)
        return {
            "png": _saved(figure, "png", DOTS, {"Software": None}),
            "svg": _saved(figure, "svg", COARSE, {"Date": None}),
        }


def shape(panels: int) -> tuple[int, int]:
    """Return the columns and rows of panels; four panels are two by two."""
    across = 2 if panels == 4 else min(panels, ACROSS)
    return across, math.ceil(panels / across)


def size(panels: int) -> tuple[float, float]:
    """Return the size of a figure in inches."""
    across, down = shape(panels)
    return WIDTH * across, HEIGHT * down


def fill(figure: Figure, experiment: Experiment, rows: pl.DataFrame) -> None:
    """Draw every panel."""
    across, down = shape(len(experiment.panels))
    figure.suptitle(f"{experiment.name}: {experiment.title}", fontsize=9)
    for number, panel in enumerate(experiment.panels):
        axes = figure.add_subplot(down, across, number + 1)
        kept = select(rows, **dict(panel.where))
        (_lines if panel.kind == "lines" else _points)(axes, panel, kept, line_styles(rows, panel))
        _label_axes(axes, panel)
    _add_legend(figure)


def line_styles(rows: pl.DataFrame, panel: Panel) -> dict[Value, Style]:
    """Return colour and marker of each line; chosen from all rows, so that panels agree."""
    names = values_of(rows, panel.line) if panel.line else [""]
    return {
        name: {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKS[number % len(MARKS)],
            "label": str(name) or None,
        }
        for number, name in enumerate(names)
    }


def _add_legend(figure: Figure) -> None:
    """Add one legend for all panels below them, where it hides nothing."""
    known = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if known:
        across = min(len(known), LEGEND * min(len(figure.axes), ACROSS))
        figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=across)


def _label_axes(axes: Axes, panel: Panel) -> None:
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
        if len(x) <= FEW:
            axes.errorbar(x, y, yerr=error, markersize=3.5, linewidth=1.1, capsize=1.5, **styles[name])
        else:  # markers and bars of many points would take half a megabyte as shapes
            axes.plot(x, y, linewidth=1.1, markersize=3.5, markevery=FEW // 3, **styles[name])
            axes.fill_between(x, y - error, y + error, alpha=0.15, linewidth=0, color=styles[name]["color"])
    if panel.bound:
        limit = means(rows, Panel(x=panel.x, y=panel.bound)).sort(panel.x)
        axes.plot(limit[panel.x], limit["mean"], color="black", linewidth=0.8, label=panel.bound)
    for name, points in panel.printed.items():
        axes.plot(list(points), list(points.values()), "x", color="black", label=f"{name}, as printed")


def _points(axes: Axes, panel: Panel, rows: pl.DataFrame, styles: dict[Value, Style]) -> None:
    # Thousands of points are rasterized within the SVG; as shapes they would take megabytes.
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

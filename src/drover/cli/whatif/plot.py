"""An answer as a figure: how busy every node is, variant by variant, and latency over time, with what happens marked.

Rule 1: matplotlib is imported when a figure is drawn: it takes a second that nobody else should wait.
Rule 2: equal answers give equal bytes.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from drover.cli.whatif.answer import Answer, Result
from drover.cli.whatif.words import event_nodes
from drover.errors import DroverError, shorten
from drover.load.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SETTINGS: Final[dict[str, Any]] = {  # Any: matplotlib's settings are of many types
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
METADATA: Final[dict[str, dict[str, Any]]] = {".png": {"Software": None}, ".svg": {"Date": None}}
NAMED: Final = len(COLOURS)  # nodes that have a colour and a name each; more are all grey
WIDTH, HEIGHT = 8.0, 2.2  # inches of a panel


def demand_figure(path: str) -> None:
    """Refuse the name of a file that no figure can be drawn in."""
    if Path(path).suffix.lower() not in METADATA:
        raise DroverError(f"plot is {shorten(path)}, but a figure is a .png or a .svg file. Name one of these.")
    if not Path(path).parent.is_dir():
        raise DroverError(f"plot is {shorten(path)}, but there is no such folder. Make it, or name another.")


def write_figure(answer: Answer, path: str) -> None:
    """Draw an answer in a file."""
    data = draw(answer, Path(path).suffix.lower())
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DroverError(f"plot is {shorten(path)}, but must be writable ({reason}). Name another file.") from error


def draw(answer: Answer, suffix: str) -> bytes:
    """Return a figure in the format of a suffix."""
    import matplotlib as mpl  # noqa: PLC0415 - as in rule 1
    from cycler import cycler  # noqa: PLC0415 - as in rule 1
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - as in rule 1
    from matplotlib.figure import Figure  # noqa: PLC0415 - as in rule 1

    settings: Any = {**SETTINGS, "axes.prop_cycle": cycler(color=COLOURS)}  # Any: the names of settings are literals
    with mpl.rc_context(settings), io.BytesIO() as file:
        panels = len(answer.results) + 1
        figure = Figure(figsize=(WIDTH, HEIGHT * panels), dpi=110, layout="constrained")
        FigureCanvasAgg(figure)  # no window, whatever the environment says
        found = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
        for result, axes in zip(answer.results, found[:-1], strict=True):
            _utilisation(axes, result, answer.scenario.seconds)
            _mark(axes, answer)
        _latency(found[-1], answer)
        _mark(found[-1], answer, named=True)
        figure.savefig(file, format=suffix[1:], metadata=METADATA[suffix])
        return file.getvalue()


def _utilisation(axes: Axes, result: Result, seconds: float) -> None:
    nodes = result.outcome.nodes
    count = len(result.utilisation)
    for node in range(count):
        one = nodes.filter(pl.col("node") == node).sort("begin")
        style: dict[str, Any] = {"label": f"node {node}"} if count <= NAMED else {"color": "#999999", "alpha": 0.5}
        _steps(axes, one["begin"].to_numpy(), one["utilisation"].to_numpy(), seconds, style)
    axes.set_ylim(0, 1.05)
    axes.set_ylabel("utilisation")
    axes.set_title(result.variant.name, fontsize=8, loc="left")
    if count <= NAMED:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _steps(axes: Axes, begin: Floats, values: Floats, end: float, style: dict[str, Any]) -> None:
    """Draw values, (h,), that hold from one time to the next, the last up to the end."""
    times, heights = np.append(begin, end), np.append(values, values[-1:])
    axes.plot(times, heights, linewidth=1.1, drawstyle="steps-post", **style)


def _latency(axes: Axes, answer: Answer) -> None:
    for result in answer.results:
        periods = result.outcome.periods
        values = periods["latency_p99"].to_numpy()
        if np.isfinite(values).any():
            style: dict[str, Any] = {"label": result.variant.name}
            _steps(axes, periods["begin"].to_numpy(), values, answer.scenario.seconds, style)
    axes.set_yscale("log")
    axes.set_ylabel("latency, s")
    axes.set_xlabel("time, s")
    axes.set_title("99th percentile of latency, period by period", fontsize=8, loc="left")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _mark(axes: Axes, answer: Answer, *, named: bool = False) -> None:
    """Shade the warm-up and draw a line at everything that happens; what happens at one time is named together."""
    scenario = answer.scenario
    happens: dict[float, list[str]] = {}
    for scale in scenario.scales:
        happens.setdefault(scale.since, []).append(f"{scale.source} x {scale.factor:g}")
    for what, node in zip(scenario.cluster.happenings, event_nodes(scenario), strict=True):
        happens.setdefault(what.at, []).append(f"{type(what).__name__.lower()} {node}")
    axes.axvspan(0.0, scenario.warmup, color="#dddddd", alpha=0.5, linewidth=0)
    axes.set_xlim(0.0, scenario.seconds)
    place: Any = axes.get_xaxis_transform()  # Any: matplotlib's own
    for at, words in happens.items():
        axes.axvline(at, color="black", linewidth=0.8, linestyle="--")
        if named:
            axes.text(at, 0.97, "\n".join(f" {word}" for word in words), transform=place, va="top", fontsize=7)

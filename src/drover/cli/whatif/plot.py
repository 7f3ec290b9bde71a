"""`drover simulate --plot`: utilisation of nodes in each variant, and latency, over simulated time.

Rule 1: equal answers give equal bytes. Rule 2: an SVG file comes from the charts of the report. A PNG file needs
matplotlib, from the extra `lab`, which is imported only then because it takes a second.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from drover.cli.whatif.answer import SimulationReport, VariantResult
from drover.cli.whatif.scenario import Scenario
from drover.cli.whatif.text import event_nodes
from drover.errors import DroverError, shorten
from drover.load.arrays import Floats
from drover.web.charts import Chart, ChartMark, ChartSeries, figure, node_series
from drover.web.formatting import percent, seconds

FORMATS: Final = (".png", ".svg")
TIME: Final = "simulated time, h:min:s"
PANEL: Final = (8.0, 2.4)  # inches, width and height of a chart in a PNG file


def demand_figure(path: str) -> None:
    """Raise DroverError if `path` cannot hold a figure."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise DroverError(f"plot is {shorten(path)}, but a figure is a .png or a .svg file. Name one of these.")
    if suffix == ".png" and find_spec("matplotlib") is None:
        raise DroverError(
            f"plot is {shorten(path)}, but a .png file needs matplotlib, which is not installed. "
            "Name a .svg file, or install it with `pip install drover[lab]`."
        )
    if not Path(path).parent.is_dir():
        raise DroverError(f"plot is {shorten(path)}, but there is no such folder. Make it, or name another.")


def write_figure(answer: SimulationReport, path: str) -> None:
    """Draw an answer into a file."""
    charts = list(charts_of(answer))
    data = png(charts) if Path(path).suffix.lower() == ".png" else figure(charts).encode()
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DroverError(f"plot is {shorten(path)}, but must be writable ({reason}). Name another file.") from error


def charts_of(answer: SimulationReport) -> Iterator[Chart]:
    """Yield the utilisation of nodes in each variant, and the latency of all variants."""
    scenario = answer.scenario
    marks = _marks(scenario)
    for number, result in enumerate(answer.results):
        yield Chart(
            id=f"utilisation-{number}",
            title=result.variant.name,
            times=_ends(result),
            series=node_series(_utilisation(result)),
            format=percent,
            unit="utilisation",
            limit=1.0,
            limit_label="fully busy",
            marks=marks,
            warmup=scenario.warmup,
            time_label=TIME,
        )
    latencies = [result.outcome.periods["latency_p99"].to_numpy() for result in answer.results]
    yield Chart(
        id="latency",
        title="Latency, 99th percentile of each period",
        times=_ends(answer.results[0]),
        series=[
            ChartSeries(result.variant.name, values, style)
            for style, (result, values) in enumerate(zip(answer.results, latencies, strict=True))
        ],
        format=seconds,
        marks=marks,
        log=True,
        warmup=scenario.warmup,
        time_label=TIME,
    )


def _ends(result: VariantResult) -> Floats:
    periods = result.outcome.periods
    ends: Floats = (periods["begin"] + periods["seconds"]).to_numpy()
    return ends


def _utilisation(result: VariantResult) -> Floats:
    """Return the utilisation, (p, n), of every node in every period."""
    values: Floats = result.outcome.nodes.sort("begin", "node")["utilisation"].to_numpy()
    return values.reshape(len(result.outcome.periods), len(result.utilisation))


def _marks(scenario: Scenario) -> list[ChartMark]:
    marks = [ChartMark(scale.since, f"{scale.source} x {scale.factor:g}") for scale in scenario.scales]
    for event, node in zip(scenario.cluster.node_events, event_nodes(scenario), strict=True):
        marks.append(ChartMark(event.at, f"{type(event).__name__.lower()} {node}"))
    return sorted(marks, key=lambda mark: mark.time)


def png(charts: Sequence[Chart]) -> bytes:
    """Return charts below one another as a PNG file."""
    from matplotlib import style  # noqa: PLC0415 - as in rule 2
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - as in rule 2
    from matplotlib.figure import Figure  # noqa: PLC0415 - as in rule 2

    with style.context(["tableau-colorblind10", {"font.size": 8.0}]), io.BytesIO() as file:
        drawing = Figure(figsize=(PANEL[0], PANEL[1] * len(charts)), dpi=110, layout="constrained")
        FigureCanvasAgg(drawing)  # draws without a window, whatever the environment says
        panels = drawing.subplots(len(charts), 1, squeeze=False)[:, 0]
        for axes, chart in zip(panels, charts, strict=True):
            _draw(axes, chart)
        drawing.savefig(file, format="png", metadata={"Software": None})
        return file.getvalue()


def _draw(axes: Any, chart: Chart) -> None:  # Any: matplotlib is not always installed
    for series in chart.series:
        axes.plot(chart.times, series.values, label=series.name, linewidth=1.1)
    if chart.log and any(np.nanmax(series.values, initial=0.0) > 0 for series in chart.series):
        axes.set_yscale("log")
    elif chart.limit is not None:
        axes.set_ylim(0.0, 1.05 * chart.limit)
    axes.set_xlim(0.0, chart.end)
    axes.set_title(chart.title, loc="left")
    axes.set_ylabel(chart.unit)
    axes.set_xlabel(chart.time_label.partition(",")[0] + ", s")
    axes.grid(alpha=0.3)
    axes.axvspan(0.0, chart.warmup, color="#dddddd", alpha=0.5, linewidth=0)
    for mark in chart.marks:
        axes.axvline(mark.time, color="black", linewidth=0.8, linestyle="--")
        axes.text(mark.time, 0.97, f" {mark.label}", transform=axes.get_xaxis_transform(), va="top")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)

"""Charts and rows of the report's sections, where a template cannot compute them itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from drover.control.settings import Control, settings_to_json
from drover.web.charts import Chart, ChartMark, ChartSeries, node_series
from drover.web.formatting import NONE, number, percent, seconds, size
from drover.web.report.model import ReportModel


@dataclass(frozen=True, slots=True)
class NodeSummary:
    """The loads of one node over its capacity (NaN if unknown), and what is on it now."""

    node: int
    last: float
    mean: float
    least: float
    most: float
    units: int
    state_bytes: float


def load_chart(report: ReportModel) -> Chart:
    """Return the loads of nodes over time, with their capacity and the plan changes."""
    line = report.timeline
    return Chart(
        id="loads",
        title="Load of each node",
        times=line.times,
        series=node_series(line.loads),
        format=percent,
        limit=1.0,
        limit_label="capacity",
        marks=_marks(report),
    )


def batch_chart(report: ReportModel) -> Chart:
    """Return the seconds per batch over time."""
    line = report.timeline
    series = [
        ChartSeries("mean", line.metrics["batch_seconds"], 0),
        ChartSeries("slowest", line.metrics["slowest_batch"], 1),
        ChartSeries("nodes, slowest", line.metrics["slowest_node"], 2),
    ]
    return Chart("batches", "Time per batch", line.times, series, seconds, marks=_marks(report))


def replication_chart(report: ReportModel) -> Chart:
    """Return to how many nodes a source goes, over time."""
    line = report.timeline
    series = [ChartSeries("nodes", line.metrics["replication"], 0)]
    return Chart("replication", "Nodes that receive each source", line.times, series, number)


def routed_chart(report: ReportModel) -> Chart:
    """Return the bytes that the router sends per second, over time."""
    line = report.timeline
    rate = line.metrics["routed_bytes"] / np.diff(line.times, prepend=0.0)
    return Chart("routed", "Bytes routed per second", line.times, [ChartSeries("bytes", rate, 1)], size)


def _marks(report: ReportModel) -> list[ChartMark]:
    return [ChartMark(report.timeline.time_of(change.period), str(change.number)) for change in report.changes]


def node_summaries(report: ReportModel) -> Iterator[NodeSummary]:
    """Yield a row for each node."""
    for i, loads in enumerate(report.timeline.loads.T):
        known = loads[np.isfinite(loads)]
        if not len(known):  # the node existed for less than a period
            known = np.array([np.nan])
        mine = [unit for unit in report.units if unit.node == i]
        state = float(np.nansum([unit.state_bytes for unit in mine]))
        yield NodeSummary(i, loads[-1], known.mean(), known.min(), known.max(), len(mine), state)


def setting_rows(settings: Control) -> Iterator[tuple[str, str]]:
    """Yield the name of each setting and its value as text."""
    for name, value in settings_to_json(settings).items():
        yield name, _setting(value) or NONE


def _setting(value: Any) -> str:  # Any: JSON
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)

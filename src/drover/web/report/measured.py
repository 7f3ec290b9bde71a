"""The sections about what was measured over time: node loads, batch time, replication."""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.web.report.charts import Chart, Line, draw
from drover.web.report.figures import NONE, number, percent, seconds, size
from drover.web.report.markup import Content, element
from drover.web.report.story import Story
from drover.web.report.tables import Column, figures_of, region, table

MOST_LINES: Final = 16  # nodes with a line each; more would hide one another
NOTHING: Final = "No period was measured yet."


def figure(chart: Chart, caption: str) -> Content:
    """Return a chart with a caption and its numbers."""
    return (
        element("figure", region(chart.title, draw(chart)), element("figcaption", caption)),
        figures_of(chart),
    )


def node_loads(story: Story) -> Content:
    """Return the loads of nodes over time, with the capacity and the changes of plan."""
    line = story.timeline
    if not len(line.periods):
        return element("p", NOTHING)
    peaks = np.nanmax(np.nan_to_num(line.loads), axis=0, initial=0.0)  # (n,)
    chosen = sorted(np.argsort(-peaks, kind="stable")[:MOST_LINES])
    lines = [Line(f"node {i}", line.loads[:, i], int(i)) for i in chosen]
    if left := [i for i in range(line.nodes) if i not in chosen]:
        rest = np.where(np.isfinite(line.loads[:, left]), line.loads[:, left], -np.inf).max(axis=1)
        lines.append(Line("others, most", np.where(np.isfinite(rest), rest, np.nan), MOST_LINES))
    marks = [(line.at(change.period), change.number) for change in story.changes]
    chart = Chart("loads", "Load of each node", line.ends, lines, percent, 1.0, "capacity", marks)
    caption = (
        "Busy seconds per second over capacity, as the loop saw them: means over its window of periods. "
        "Numbered flags are changes of plan; the table of moves has them under the same numbers. "
        "Time is that of periods; what passed between two runs does not count."
    )
    return figure(chart, caption), _nodes(story)


def _nodes(story: Story) -> Content:
    line = story.timeline
    units = story.units
    rows = []
    for i in range(line.nodes):
        known = line.loads[:, i][np.isfinite(line.loads[:, i])]
        mine = [unit for unit in units if unit.node == i]
        now = line.loads[-1, i]
        rows.append([
            f"node {i}",
            percent(now) if np.isfinite(now) else NONE,
            *([percent(value) for value in (known.mean(), known.min(), known.max())] if len(known) else [NONE] * 3),
            str(len(mine)),
            size(float(np.nansum([unit.state_bytes for unit in mine]))),
        ])  # fmt: skip
    heads = ("last load", "mean", "least", "most", "units now", "state now")
    return table("Nodes", [Column("node"), *(Column(head, "number") for head in heads)], rows)


def batch_time(story: Story) -> Content:
    """Return how long batches took, over time."""
    line = story.timeline
    if not len(line.periods):
        return element("p", NOTHING)
    lines = [
        Line("mean", line.figures["batch_seconds"], 0),
        Line("slowest", line.figures["slowest_batch"], 1),
        Line("slowest, nodes", line.figures["slowest_node"], 2),
    ]
    marks = [(line.at(change.period), change.number) for change in story.changes]
    chart = Chart("batches", "Seconds per batch", line.ends, lines, seconds, marks=marks)
    return figure(
        chart,
        "Of the batches of each period: the mean, the slowest, and the longest that the nodes took in one. The rest of "
        "a batch is routing, sinks and the commit.",
    )


def replication(story: Story) -> Content:
    """Return to how many nodes a source goes, and what that is in bytes."""
    line = story.timeline
    if not len(line.periods):
        return element("p", NOTHING)
    lengths = np.diff(line.ends, prepend=0.0)
    nodes = Chart(
        "replication", "Nodes that a source goes to", line.ends, [Line("nodes", line.figures["replication"], 0)], number
    )
    routed = line.figures["routed_bytes"] / lengths
    sent = Chart("routed", "Bytes routed per second", line.ends, [Line("bytes", routed, 1)], size)
    return (
        figure(nodes, "A stream goes once to each node that has a reader of it; the mean over all sources with rows."),
        figure(sent, "What the router sent to nodes, copies included."),
    )

"""What a batch did, as the JSON object that stands under `drover` in `lastProgress`.

Rule 1: seconds are by the clock on the wall; busy seconds are CPU time, and those are what load is counted in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from drover.flow.families.herded import RESULTS
from drover.flow.node import Sample
from drover.placement.plan import Plan
from drover.spark.batch import Result


def describe(
    batch: int, plan: Plan, result: Result, seconds: Mapping[str, float], notes: Mapping[str, Any]
) -> dict[str, Any]:  # Any: JSON
    """Return the figures of a batch; `notes` are those of its commit."""
    rows_in: Counter[str] = Counter()
    for routed in result.routed:
        rows_in.update(routed.rows)
    sent: dict[tuple[str, int], Counter[str]] = {}  # of sources, by stream and node
    for routed in result.routed:
        for edge in routed.edges:
            sums = sent.setdefault((edge.stream, edge.node), Counter())
            sums.update({"frames": edge.frames, "bytes": edge.bytes})
    busy, wall = [0.0] * plan.nodes, [0.0] * plan.nodes
    slowest: dict[int, float] = {}  # node task per hop
    for report in result.reports:
        busy[report.place.node] += report.busy
        wall[report.place.node] += report.seconds
        slowest[report.place.hop] = max(report.seconds, slowest.get(report.place.hop, 0.0))
    measured = {
        "routing": max((routed.seconds for routed in result.routed), default=0.0),
        "nodes": sum(slowest.values()),
        **seconds,
    }
    return {
        "batch": batch,
        "sparkBatch": notes["spark_batch"],
        "plan": plan.number,
        "nodes": plan.nodes,
        "hops": 1 + max(slowest, default=0),
        "seconds": {name: round(value, 4) for name, value in measured.items()},
        "rowsIn": dict(rows_in),
        "routed": [{"stream": stream, "node": node, **sums} for (stream, node), sums in sorted(sent.items())],
        "rows": {stream: rows.height for stream, rows in result.rows.items() if not stream.startswith(RESULTS)},
        "deadLetters": {source: rows.height for source, rows in result.dead.items()},
        "watermarks": dict(notes["now"]),
        "parked": dict(notes["parked"]),
        "busy": [round(value, 4) for value in busy],
        "wall": [round(value, 4) for value in wall],
        "loaded": sum(report.loaded for report in result.reports),
        "samples": [_sample(sample) for report in result.reports for sample in report.samples],
    }


def _sample(sample: Sample) -> dict[str, Any]:  # Any: JSON
    return {**asdict(sample), "edges": [edge._asdict() for edge in sample.edges]}

"""Figures of batches, as a handle reports them."""

from __future__ import annotations

from typing import Any


def entry(batch: int, rows: int, busy: list[float], node: int = 0) -> dict[str, Any]:
    sample = {"operator": "counts", "node": node, "hop": 0, "rows_in": rows, "busy": 0.2, "state_bytes": 1500}
    idle = {"operator": "small", "node": 1, "hop": 0, "rows_in": 0, "busy": 0.0, "state_bytes": 0}
    return {
        "batch": batch,
        "plan": 1,
        "nodes": len(busy),
        "hops": 2,
        "seconds": {"routing": 0.1, "nodes": 0.2, "compute": 0.5, "sinks": 0.1, "commit": 0.0},
        "rowsIn": {"east": rows},
        "rows": {"suspects": 2},
        "watermarks": {"east": 1_714_564_800_000_000},
        "busy": busy,
        "samples": [idle, sample],
    }

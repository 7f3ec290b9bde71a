"""The result of a simulation: tables and a summary.

Rule 1: tables have a row per period, per period and node, per output, or per move. The summary covers the time after
the warm-up. Rule 2: load is ideal load, which the arrived tuples would cause if none had to wait. Its deviation and
correlation are over the nodes that are alive.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from drover.sim.table_files import DEFAULT_FORMAT, write_table

TABLES: Final = ("periods", "nodes", "outputs", "moves")


@dataclass(frozen=True, slots=True, eq=False)
class SimulationResult:
    """The tables and the summary of a run.

    `periods`: begin, seconds, tuples in, out and lost, latencies, latency ratio, tuples queued, moves and load moved,
    deviation and correlation of node loads over the window that ends there, nodes overloaded.
    `nodes`: begin, node, utilisation (fraction of the time it was busy), load (busy seconds per second), queued.
    `outputs`: tuples and latencies of each output after the warm-up.
    `moves`: time, unit, source, target, load, seconds suspended, bytes.
    """

    summary: Mapping[str, float]
    periods: pl.DataFrame
    nodes: pl.DataFrame
    outputs: pl.DataFrame
    moves: pl.DataFrame
    places: tuple[int, ...]  # node of each unit at the end

    def write(self, folder: Path, form: str = DEFAULT_FORMAT) -> tuple[Path, ...]:
        """Write every table and the summary into a folder; return the files."""
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / "summary.json"]
        written[0].write_text(json.dumps(self.summary_json(), indent=2) + "\n", encoding="utf-8")
        written.extend(write_table(getattr(self, name), folder, name, form) for name in TABLES)
        return tuple(written)

    def summary_json(self) -> dict[str, float | None]:
        """Return the summary for JSON: an unknown number is null."""
        return {name: value if math.isfinite(value) else None for name, value in self.summary.items()}

"""The recorder: it turns the counts of periods into the result of a run.

Rule 1: it stores a few numbers per period and node, and no tuples. Rule 2: loads are computed at the end, many periods
at a time, from the arrivals and the places of units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np
import polars as pl

from drover.load.arrays import Flags, Floats, Ints
from drover.load.series import node_series
from drover.placement.score import mean_correlation
from drover.sim.histogram import percentiles
from drover.sim.model import Model
from drover.sim.outcome import SimulationResult
from drover.sim.world import BUCKETS, SimulationCounts

SHARES: Final = (0.5, 0.9, 0.95, 0.99, 0.999)
NAMES: Final = ("latency_p50", "latency_p90", "latency_p95", "latency_p99", "latency_p999")
STRETCH: Final = 256  # periods whose loads are computed at once


@dataclass(frozen=True, slots=True)
class PeriodRow:
    """The measurements of one period."""

    begin: float  # seconds
    seconds: float
    arrived: Floats  # (d,)
    worked: Floats  # (n,) seconds
    queued: Floats  # (n,) tuples at the end
    figures: dict[str, float]
    places: Ints  # (units,) at the end
    alive: Flags  # (n,) at the end


@dataclass(frozen=True, slots=True)
class RecordedMove:
    """The move of a unit to another node."""

    time: float  # seconds: time of its suspension
    unit: str
    source: int
    target: int
    load: float  # busy seconds per second, mean over the window
    suspended: float  # seconds
    bytes: float


@dataclass(slots=True)
class Recorder:
    """Records the periods and moves of a run."""

    model: Model
    capacity: Floats  # (n,) of all nodes, later ones included
    window: int  # periods over which deviation and correlation are taken
    warmup: float  # seconds
    rows: list[PeriodRow] = field(default_factory=list)
    moves: list[RecordedMove] = field(default_factory=list)
    counted: int = 0  # moves that belong to a closed period
    totals: dict[str, Floats] = field(default_factory=dict)  # (y,) by output, after the warm-up

    def close_period(
        self,
        span: tuple[float, float],
        counts: SimulationCounts,
        queued: Floats,
        lost: float,
        places: Ints,
        alive: Flags,
    ) -> None:
        """Record a period; `span` is its begin and end."""
        begin, end = span
        out, latency, work = (float(each.sum()) for each in (counts.out, counts.latency, counts.work))
        moved = self.moves[self.counted :]
        self.counted = len(self.moves)
        figures = {
            "tuples_in": float(counts.arrived.sum()),
            "tuples_out": out,
            "tuples_lost": float(lost),
            "queued": float(queued.sum()),
            "latency_mean": latency / out if out else np.nan,
            **dict(zip(NAMES, percentiles(counts.seen, SHARES), strict=True)),
            "latency_max": float(counts.longest.max(initial=0.0)) if out else np.nan,
            "latency_ratio": latency / work if work else np.nan,
            "moves": float(len(moved)),
            "moved_load": float(sum(move.load for move in moved)),
        }
        self.rows.append(
            PeriodRow(begin, end - begin, counts.arrived, counts.worked, queued, figures, places.copy(), alive.copy())
        )
        if begin >= self.warmup:
            for name in ("out", "latency", "work"):
                self.totals[name] = self.totals.get(name, 0.0) + getattr(counts, name)
            self.totals["longest"] = np.maximum(self.totals.get("longest", 0.0), counts.longest)

    def outcome(self, kept: Floats, served: float) -> SimulationResult:
        """Return the result; `kept`, (y, BUCKETS), are the latencies after the warm-up."""
        deviation, correlation, loads = self._loads()
        periods = pl.DataFrame(
            {
                "begin": [row.begin for row in self.rows],
                "seconds": [row.seconds for row in self.rows],
                **{name: [row.figures[name] for row in self.rows] for name in (self.rows[0].figures)},
                "load_std": deviation,
                "load_correlation": correlation,
                "overloaded": (loads > self.capacity).sum(axis=1),
            }
        )
        nodes = self._nodes(loads)
        outputs = self._outputs(kept)
        return SimulationResult(
            self._summary(periods, loads, kept, served),
            periods,
            nodes,
            outputs,
            _moves_table(self.moves),
            tuple(int(node) for node in self.rows[-1].places),
        )

    def _unit_loads(self) -> Iterator[tuple[range, int, Floats]]:
        """Yield stretches of periods with ideal loads, (units, periods), that start a window earlier."""
        profile = self.model.profile
        model = self.model
        for start in range(0, len(self.rows), STRETCH):
            first = max(0, start - self.window + 1)
            rows = self.rows[first : start + STRETCH]
            arrived = np.array([row.arrived / row.seconds for row in rows]).reshape(len(rows), -1)
            found = profile.loads({name: arrived[:, k] for k, name in enumerate(model.sources)})
            values = np.array([np.broadcast_to(found[name], len(rows)) for name in model.operators])
            yield range(start, first + len(rows)), first, node_series(values, model.unit_of, len(model.units))

    def _loads(self) -> tuple[Floats, Floats, Floats]:
        """Return deviation and correlation of node loads in the window of each period, and (periods, n) loads.

        Deviation is the mean over the nodes alive. The whole window is attributed by the plan of its last period.
        """
        count = len(self.rows)
        n = len(self.capacity)
        deviation = np.full(count, np.nan)
        correlation = np.full(count, np.nan)
        loads = np.zeros((count, n))
        for stretch, first, values in self._unit_loads():
            for t in stretch:
                begin = max(0, t - self.window + 1)
                nodes = node_series(values[:, begin - first : t + 1 - first], self.rows[t].places, n)
                loads[t] = nodes[:, -1]
                used = nodes[self.rows[t].alive]
                if used.shape[1] > 1 and len(used) > 1:
                    deviation[t] = used.std(axis=1).mean()
                    correlation[t] = mean_correlation(used)
        return deviation, correlation, loads

    def _nodes(self, loads: Floats) -> pl.DataFrame:
        count, n = loads.shape
        worked = np.array([row.worked / row.seconds for row in self.rows]).reshape(count, n)
        return pl.DataFrame(
            {
                "begin": np.repeat([row.begin for row in self.rows], n),
                "node": np.tile(np.arange(n), count),
                "utilisation": worked.ravel(),
                "load": loads.ravel(),
                "queued": np.array([row.queued for row in self.rows]).ravel(),
            }
        )

    def _outputs(self, kept: Floats) -> pl.DataFrame:
        y = len(self.model.outputs)
        none = np.zeros(y)
        out, latency, work, longest = (self.totals.get(name, none) for name in ("out", "latency", "work", "longest"))
        shares = np.array([percentiles(counts, SHARES) for counts in kept]).reshape(y, len(SHARES))
        with np.errstate(invalid="ignore", divide="ignore"):
            return pl.DataFrame(
                {
                    "output": self.model.outputs,
                    "tuples": out,
                    "latency_mean": latency / out,
                    **{name: shares[:, index] for index, name in enumerate(NAMES)},
                    "latency_max": np.where(out > 0, longest, np.nan),
                    "processing_mean": work / out,
                    "latency_ratio": latency / work,
                },
                schema_overrides={"output": pl.String},
            )

    def _summary(self, periods: pl.DataFrame, loads: Floats, kept: Floats, served: float) -> dict[str, float]:
        measured = np.array([row.begin >= self.warmup for row in self.rows], dtype=np.bool_)
        after = periods.filter(pl.Series(measured))
        out, latency, work = (float(np.sum(self.totals.get(name, 0.0))) for name in ("out", "latency", "work"))
        used = loads[measured].T
        used = used[self.rows[-1].alive]
        busy = np.array([row.worked / row.seconds for row in self.rows])[measured].mean(axis=0)  # (n,)
        counts = kept.sum(axis=0) if len(kept) else np.zeros(BUCKETS)
        varied = used.shape[1] > 1
        return {
            "seconds": float(after["seconds"].sum()),
            "tuples_in": float(after["tuples_in"].sum()),
            "tuples_out": out,
            "tuples_lost": float(after["tuples_lost"].sum()),
            "queued": float(periods["queued"][-1]),
            "queued_mean": _number(after["queued"].mean()),
            "queued_max": _number(after["queued"].max()),
            "latency_mean": latency / out if out else np.nan,
            **dict(zip(NAMES, percentiles(counts, SHARES), strict=True)),
            "latency_max": float(np.max(self.totals.get("longest", np.zeros(1)), initial=0.0)) if out else np.nan,
            "processing_mean": work / out if out else np.nan,
            "latency_ratio": latency / work if work else np.nan,
            "utilisation_mean": float(busy.mean()),
            "utilisation_max": float(busy.max()),
            "load_mean": float(used.mean()) if used.size else np.nan,
            "load_std": float(used.std(axis=1).mean()) if varied and used.size else np.nan,
            "load_correlation": mean_correlation(used) if varied and len(used) > 1 else np.nan,
            "overload_time": float((loads[measured] > self.capacity).mean()) if used.size else np.nan,
            "moves": float(after["moves"].sum()),
            "moved_load": float(after["moved_load"].sum()),
            "invocations": float(served),
        }


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


_MOVES: Final = {
    "time": pl.Float64,
    "unit": pl.String,
    "source": pl.Int64,
    "target": pl.Int64,
    "load": pl.Float64,
    "suspended": pl.Float64,
    "bytes": pl.Float64,
}


def _moves_table(moves: list[RecordedMove]) -> pl.DataFrame:
    return pl.DataFrame([asdict(move) for move in moves], schema=_MOVES)

"""drover beside Spark and Flink on the same files, in processor seconds; equal results demanded.

Each peer first runs in all forms that an expert might choose. Spark has its default state store, and RocksDB with its
changelog, both with 2 and 4 shuffle partitions. Flink has its state on the heap and in RocksDB. After a few batches,
the form that took the least processor time goes on, and the others stop; a form that is far behind stops at once. Both
engines of drover go on.

Flink runs in a process of its own: see `benchmarks/flink_home.py`. That needs PyPI, Maven Central and a JDK once, so
this benchmark is not a part of CI.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from benchmarks.compare import Outcome, same_totals
from benchmarks.feed import Feed
from benchmarks.flink_home import flink_home
from benchmarks.flink_side import FlinkSide
from benchmarks.peer_workloads import WORKLOADS, Workload
from benchmarks.processor import cpu_seconds
from benchmarks.sides import Side, say, scratch, spark_session

ENGINES = ("shuffle", "resident")
SLOTS = {"spark.master": "local[4]"}  # two resident nodes stay in two of them
HEAT, HEAT_WARM_UP = 7, 4  # batches until the peers' best forms are known; a window of the joins holds four
WARM_UP = 40  # batches, so that each system's Java has compiled most of what it runs: a stream runs for days
HOPELESS = 3.0  # times the processor seconds of another form of the same peer, in all batches so far
TARGETS = {
    "join": {"spark": 9.0, "flink": 9.0},
    "aggregate": {"flink": 3.0},
    "queries": {"flink": 1.0},
    "band": {"flink": 1.3, "spark": 4.0},
}


@dataclass
class Field:
    """The sides that still run, and the processor seconds of each batch."""

    groups: dict[str, list[Side]]  # by peer
    busy: dict[str, list[float]] = field(default_factory=dict)  # by side
    started: list[Side] = field(default_factory=list)

    def sides(self) -> list[Side]:
        return [side for group in self.groups.values() for side in group]

    def start(self, spark: SparkSession) -> None:
        for side in self.sides():
            side.start(spark)
            self.started.append(side)

    def run(self, batches: range, heat: Sequence[str] = ()) -> None:
        """Run batches on all sides; stop hopeless forms of the peers in `heat`."""
        for batch in batches:
            for side in self.sides():
                before = self._processor(side)
                side.step(batch)
                self.busy.setdefault(side.name, []).append(self._processor(side) - before)
            say(f"batch {batch}: {', '.join(f'{side.name} {self.busy[side.name][-1]:.2f}' for side in self.sides())}")
            for peer in heat:
                least = min(sum(self.busy[side.name]) for side in self.groups[peer])
                self._keep(peer, [one for one in self.groups[peer] if sum(self.busy[one.name]) <= HOPELESS * least])

    def _processor(self, side: Side) -> float:
        if isinstance(side, FlinkSide):
            return side.cpu_seconds()
        flinks = sum(each.cpu_seconds() for each in self.sides() if isinstance(each, FlinkSide))
        return cpu_seconds() - flinks

    def typical(self, side: Side, first: int) -> float:
        return statistics.median(self.busy[side.name][first:])

    def keep_best(self, peers: Sequence[str], first: int) -> None:
        """Stop all but the best side of each of these peers."""
        for peer in peers:
            self._keep(peer, [min(self.groups[peer], key=lambda side: self.typical(side, first))])

    def _keep(self, peer: str, sides: list[Side]) -> None:
        for side in self.groups[peer]:
            if side not in sides:
                side.stop()
                self.started.remove(side)
        self.groups[peer] = sides

    def stop(self) -> None:
        for side in self.started:
            side.stop()


def compare(spark: SparkSession, workload: Workload, batches: int, warm_up: int) -> Outcome:
    with scratch() as folder:
        feed = Feed(folder, workload.types)
        workload.write(feed, batches)
        racing = Field(
            {
                "drover": [workload.drover(f"drover {engine}", feed, engine) for engine in ENGINES],
                "spark": list(workload.spark_sides(feed)),
                "flink": list(workload.flink_sides(feed, flink_home(), batches)),
            }
        )
        try:
            racing.start(spark)
            racing.run(range(HEAT), ("spark", "flink"))
            # One that stopped earlier has fewer batches, and so those before its windows were full.
            heat = {name: statistics.median(taken[HEAT_WARM_UP:] or taken) for name, taken in racing.busy.items()}
            racing.keep_best(("spark", "flink"), HEAT_WARM_UP)
            racing.run(range(HEAT, batches))
            same_totals(racing.sides())
            return _outcome(workload, racing, heat, warm_up)
        finally:
            racing.stop()


def _outcome(workload: Workload, racing: Field, heat: Mapping[str, float], warm_up: int) -> Outcome:
    outcome = Outcome(workload.name)
    name = workload.name
    busy = {side.name: racing.typical(side, warm_up) for side in racing.sides()}
    outcome.figures = {f"{name}: processor seconds per batch, {side}": each for side, each in busy.items()}
    outcome.figures |= {
        f"{name}: rows per processor second, {side}": round(workload.rows / each) for side, each in busy.items()
    }
    outcome.figures |= {f"{name}: given up, {side}": each for side, each in heat.items() if side not in busy}
    # Windows close in some batches only: a median may miss what that costs, and a mean does not.
    outcome.figures |= {
        f"{name}: mean processor seconds, {side}": statistics.mean(racing.busy[side][warm_up:]) for side in busy
    }
    ours = min(busy[side.name] for side in racing.groups["drover"])
    for peer in ("spark", "flink"):
        outcome.ratios[f"{name}_{peer}"] = busy[racing.groups[peer][0].name] / ours
        if peer in TARGETS[name]:
            outcome.targets[f"{name}_{peer}"] = TARGETS[name][peer]
    return outcome


def bench(quick: bool) -> Outcome:
    batches, warm_up = (HEAT + 2, HEAT) if quick else (60, WARM_UP)
    whole = Outcome("peers")
    flink_home()  # an error before anything else has taken its time
    with spark_session("peers", SLOTS) as spark:
        for workload in WORKLOADS:
            say(f"{workload.name}: {workload.rows} rows per batch")
            part = compare(spark, workload, batches, warm_up)
            whole.ratios |= part.ratios
            whole.targets |= part.targets
            whole.figures |= part.figures
    return whole

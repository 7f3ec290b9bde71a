"""Flink as a side of a comparison: a process of its own that reads the same files and counts its own results.

Rule 1: a batch is done when its last row has passed all operators and a checkpoint is complete, as for drover and
Spark.
Rule 2: the last row of every batch and source has the same event time, by which Flink's watermark tells the end.
Rule 3: settings that an expert would choose are in SETTINGS. Mini-batches are off: they help groups without windows,
which no workload has. With them on, a join had not reached the end of its first batch after a minute; why is not known.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pyspark.sql import SparkSession

from benchmarks.feed import Feed
from benchmarks.flink_home import FlinkHome
from benchmarks.processor import cpu_seconds
from benchmarks.sides import Totals

MEMORY = "-Xmx4g"
SQL_TYPES = {"timestamp": "TIMESTAMP_LTZ(3)", "bigint": "BIGINT", "string": "STRING", "double": "DOUBLE"}
SETTINGS: Mapping[str, str] = {
    "pipeline.object-reuse": "true",
    "pipeline.auto-watermark-interval": "20 ms",
    "table.local-time-zone": "UTC",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "execution.checkpointing.interval": "10 h",  # our program starts one per batch
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.buffer-timeout.interval": "10 ms",
    "restart-strategy.type": "none",  # a fault must be seen
    "rest.port": "0",
    "taskmanager.memory.network.min": "256 mb",
    "taskmanager.memory.network.max": "256 mb",
    "taskmanager.memory.managed.size": "1 gb",
}
HEAP = {"state.backend.type": "hashmap"}
ROCKSDB = {"state.backend.type": "rocksdb", "execution.checkpointing.incremental": "true"}


@dataclass
class FlinkSide:
    """One Flink job; `query` gives rows (label, a, b), and `totals_of` names their sums."""

    name: str
    feed: Feed
    home: FlinkHome
    query: str
    totals_of: Callable[[Mapping[int, Sequence[float]]], Totals]  # label -> count, sum of a, sum of b
    last_times: Callable[[int], int]  # batch -> milliseconds of its last row
    delay: int = 0  # milliseconds by which an operator holds watermarks back
    settings: Mapping[str, str] = field(default_factory=dict)
    statements: Sequence[str] = ()
    options: tuple[str, ...] = ()
    poll: str = "20 ms"
    process: subprocess.Popen[str] | None = None

    def start(self, spark: SparkSession | None) -> None:
        del spark
        folder = self.feed.folder / "flink" / self.name.replace(" ", "-")
        folder.mkdir(parents=True)
        (folder / "job.sql").write_text("\n;\n".join(self._script(folder)), encoding="utf-8")
        command = self.home.command((MEMORY, *self.options), str(folder / "job.sql"))
        with (folder / "log").open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder
            )
        self._answer("ready")

    def _script(self, folder: Path) -> list[str]:
        settings = {**SETTINGS, "execution.checkpointing.dir": (folder / "checkpoints").as_uri(), **self.settings}
        found = [f"SET '{key}' = '{value}'" for key, value in settings.items()]
        return [*found, *(self._table(source) for source in self.feed.types), *self.statements, self.query]

    def _table(self, source: str) -> str:
        columns = [column.split() for column in self.feed.types[source].split(", ")]
        listed = ", ".join(f"`{name}` {SQL_TYPES[kind]}" for name, kind in columns)
        return (
            f"CREATE TABLE `{source}` ({listed}, WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND) WITH ("
            f"'connector' = 'filesystem', 'path' = 'file://{self.feed.shown(self.name, source)}', "
            f"'format' = 'parquet', 'parquet.utc-timezone' = 'true', 'source.monitor-interval' = '{self.poll}')"
        )

    def _answer(self, end: str) -> list[str]:
        """Return the lines of output before the line `end`."""
        lines: list[str] = []
        for line in self._pipe("stdout"):
            if line.strip() == end:
                return lines
            lines.append(line.strip())
        log = self.feed.folder / "flink" / self.name.replace(" ", "-") / "log"
        said = log.read_text(encoding="utf-8").splitlines()
        causes = [line for line in said if line.startswith(("Caused by", "Exception in")) or not line.startswith("\t")]
        raise RuntimeError("\n".join([f"the Flink process of {self.name!r} has ended:", *causes[-20:]]))

    def _pipe(self, name: str) -> IO[str]:
        assert self.process is not None
        pipe: IO[str] = getattr(self.process, name)
        return pipe

    def ask(self, order: str) -> list[str]:
        self._pipe("stdin").write(order + "\n")
        self._pipe("stdin").flush()
        return self._answer("done")

    def step(self, batch: int) -> float:
        begun = time.monotonic()
        self.feed.show(self.name, batch)
        self.ask(f"wait {self.last_times(batch) - 1 - self.delay}")
        return time.monotonic() - begun

    def cpu_seconds(self) -> float:
        return 0.0 if self.process is None else cpu_seconds(self.process.pid)

    def totals(self) -> Totals:
        sums: dict[int, list[float]] = {}
        for line in self.ask("totals"):
            _, label, *values = line.split()
            before = sums.get(int(label), [0.0] * len(values))
            sums[int(label)] = [one + float(two) for one, two in zip(before, values, strict=True)]
        return self.totals_of(sums)

    def stop(self) -> None:
        if self.process is not None:
            self._pipe("stdin").close()
            self.process.wait(60)
            self.process = None

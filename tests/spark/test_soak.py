"""Many batches, as fast as they go: what a run keeps, on disk and in memory, does not grow with its age."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from drover.control.engine_choice import EngineChoice
from drover.flow.state.layout import COMMITS, STATE
from drover.network.model import Network
from drover.placement.plan import units_of
from drover.spark.handle import Handle
from drover.spark.run import run
from drover.spark.sinks import Tail
from tests.spark.runs import COLUMNS, chaos_network

BATCHES = int(
    os.environ.get("SOAK_BATCHES", "300")
)  # on each engine; together, half an hour of batches of three seconds
EVERY = 30  # batches between two looks
ROWS = 40  # per source and batch
PATIENCE = 60.0  # seconds that a batch may take on a busy machine


@dataclass(frozen=True, slots=True)
class Look:
    """What there was after some batches."""

    state: int  # files
    commits: int  # files
    plans: int  # files
    sparks: int  # files of Spark's own log
    workers: float  # MB, of the largest Python worker
    here: float  # MB, of this process


def count(folder: Path) -> int:
    return sum(1 for path in folder.rglob("*") if path.is_file())


def resident(pid: int | str) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def workers() -> Iterator[float]:
    """Yield the MB of the Python workers of this process: children of a daemon below it."""
    daemons = set()
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            parents[int(path.name)] = int((path / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        if b"drover.spark.daemon" in command:
            daemons.add(int(path.name))

    def is_below(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    yield from (resident(pid) for pid in daemons if parents[pid] in daemons and is_below(pid))


def look(checkpoint: Path) -> Look:
    state, commits, plans, sparks = (count(checkpoint / name) for name in (STATE, COMMITS, "plans", "spark"))
    return Look(state, commits, plans, sparks, max(workers(), default=0.0), resident("self"))


def ticking(spark: SparkSession, seed: int) -> DataFrame:
    """Rows that come as fast as they are taken, a second of event time in every batch."""
    options = {"rowsPerBatch": ROWS, "numPartitions": 1, "advanceMillisPerBatch": 1000, "startTimestamp": 1_000_000}
    rows = spark.readStream.format("rate-micro-batch").options(**options).load()
    made: dict[str, str] = {
        "ts": f"timestamp + make_dt_interval(0, 0, 0, (value % {ROWS}) / {ROWS}.0)",
        "key": f"CAST(pmod(xxhash64(value, {seed}), 5) AS INT)",
        "tag": "CAST(value % 3 AS STRING)",
        "amount": "value",
        "price": "value / 7.0D",
    }
    return rows.selectExpr(*(f"CAST({made[name]} AS {kind}) AS {name}" for name, kind in COLUMNS.items()))


def observe(handle: Handle, network: Network, checkpoint: Path) -> list[Look]:
    looks: list[Look] = []
    units = units_of(network)
    seen = 0
    deadline = time.monotonic() + EVERY * PATIENCE
    while seen < BATCHES:
        progress: list[dict[str, Any]] = handle.batches
        batch = progress[-1]["batch"] if progress else 0
        if batch >= seen + EVERY:
            seen = batch
            deadline = time.monotonic() + EVERY * PATIENCE
            looks.append(look(checkpoint))
            handle.move(units[len(looks) % len(units)], len(looks) % handle.plan.nodes)
        assert handle.isActive, handle.exception()
        assert time.monotonic() < deadline, f"no batch after {batch}"
        time.sleep(0.05)
    return looks


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is measured as Linux tells it")
@pytest.mark.parametrize("engine", [EngineChoice.SHUFFLE, EngineChoice.RESIDENT])
def test_files_and_memory_stay_flat(spark: SparkSession, tmp_path: Path, engine: EngineChoice) -> None:
    network = chaos_network(f"soak-{engine}")
    sinks = {stream: Tail() for stream in network.outputs}
    sources = {"a": ticking(spark, 1), "b": ticking(spark, 2)}
    handle = run(network, sources, sinks, checkpoint=str(tmp_path), nodes=2, engine=engine)
    try:
        looks = observe(handle, network, tmp_path)
    finally:
        handle.stop()
    assert all(sink.count > BATCHES for sink in sinks.values())
    settled = looks[len(looks) // 2]
    last = looks[-1]
    assert max(one.state for one in looks) < 150
    assert max(one.commits for one in looks) < 150
    assert max(one.plans for one in looks) < 40
    assert last.sparks < 1.2 * settled.sparks + 20
    assert last.workers - settled.workers < 60
    assert last.here - settled.here < 60
    assert len(handle.batches) <= 100

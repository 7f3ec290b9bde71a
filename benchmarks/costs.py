"""Where the processor seconds of a batch of drover go: by process, and in Java by the purpose of threads.

drover runs alone, with the questions of `peers` on both engines. The kernel counts the seconds of every thread, so this
costs nothing and leaves out nothing; it says who works, not on which line. For lines, attach py-spy to a worker, or
start Java with Flight Recorder.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.compare import Outcome
from benchmarks.feed import Feed
from benchmarks.peer_workloads import WORKLOADS, Workload
from benchmarks.processor import SYSTEM, TICK, USER, processes
from benchmarks.sides import say, scratch, spark_session

ENGINES = ("resident", "shuffle")
SLOTS = {"spark.master": "local[4]"}
# How names of Java's threads begin, and what these threads do. The kernel keeps 15 characters of a name.
THREADS: Mapping[str, str] = {
    "C1 Compiler": "Java: compilers",
    "C2 Compiler": "Java: compilers",
    "Sweeper": "Java: compilers",
    "GC Thread": "Java: garbage collection",
    "G1 ": "Java: garbage collection",
    "VM Thread": "Java: garbage collection",
    "Executor task": "Java: tasks, which read rows and hand them to Python",
    "stdout writer": "Java: tasks, which read rows and hand them to Python",
    "stream execut": "Java: the query's thread, which lists, plans and commits",
    "Thread-": "Java: calls from Python",
}
OTHERS = "Java: scheduler and all others"
DRIVER = "driver's Python"
WORKERS = "workers' Python: nodes and routers"


def purpose(thread: str) -> str:
    """Return what a thread of Java does."""
    return next((what for begin, what in THREADS.items() if thread.startswith(begin)), OTHERS)


def spent() -> dict[str, float]:
    """Return the seconds that this process and its descendants have spent so far, by part."""
    found: dict[str, float] = defaultdict(float)
    for pid, fields in processes().items():
        if Path(f"/proc/{pid}/comm").read_text().strip() == "java":
            for thread, seconds in _threads(pid):
                found[purpose(thread)] += seconds
        else:
            found[DRIVER if pid == os.getpid() else WORKERS] += (int(fields[USER]) + int(fields[SYSTEM])) / TICK
    return found


def _threads(pid: int) -> Iterator[tuple[str, float]]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            head, _, rest = (task / "stat").read_text().rpartition(")")
        except OSError:  # it has ended meanwhile; its seconds are lost, but threads that work do not end
            continue
        fields = rest.split()
        yield head.partition("(")[2], (int(fields[USER]) + int(fields[SYSTEM])) / TICK


def measure(spark: SparkSession, workload: Workload, engine: str, batches: int, warm_up: int) -> dict[str, float]:
    """Return the processor seconds per batch of each part."""
    with scratch() as folder:
        feed = Feed(folder, workload.types)
        workload.write(feed, batches)
        side = workload.drover(f"drover {engine}", feed, engine)
        side.start(spark)
        try:
            for batch in range(warm_up):
                side.step(batch)
            before = spent()
            for batch in range(warm_up, batches):
                side.step(batch)
            after = spent()
        finally:
            side.stop()
    return {part: (after[part] - before[part]) / (batches - warm_up) for part in sorted(after)}


def bench(quick: bool) -> Outcome:
    """Measure every question on both engines, a session each, so that none profits from what another compiled."""
    batches, warm_up = (8, 6) if quick else (60, 30)
    outcome = Outcome("costs")
    for workload in WORKLOADS:
        for engine in ENGINES:
            with spark_session("costs", SLOTS) as spark:
                found = measure(spark, workload, engine, batches, warm_up)
            say(f"{workload.name}, {engine}: {sum(found.values()):.3f} processor seconds per batch")
            outcome.figures[f"{workload.name}, {engine}: whole"] = sum(found.values())
            outcome.figures |= {f"{workload.name}, {engine}: {part}": seconds for part, seconds in found.items()}
    return outcome

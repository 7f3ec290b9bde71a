"""A run on a local cluster that loses one of its executors; started by test_lost_executors.py with a folder.

ELASTIC_HAPPENS is what happens between two batches:

- `lost`: the executor of node 0 is killed. The one that replaces it is kept from starting until a period has passed.
- `replaced`: the executor of node 0 is killed, and Spark replaces it.
- `released`: dynamic allocation releases an executor, because there is nothing to do.

At its end, `seen.json` has what the control loop saw and did.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from drover.control.executors import ExecutorFacts, ExecutorStatus
from drover.spark.closed import ExecutorWatch
from drover.spark.handle import Handle
from drover.spark.run import run
from drover.spark.session import session
from drover.spark.sinks import Files
from tests.spark.chaos.processes import RunProcess, processes_of
from tests.spark.runs import chaos_network, ordered_batches, sources_of, write_files

BATCHES: Final = 12
PATIENCE: Final = 90.0  # seconds until something must have happened
# Units move only because they have to: the policy does not get its turn.
CONTROL: Final = {"mode": "auto", "period": 0.05, "warm_up": 60, "capacity": 1.0}
RELEASING: Final = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.initialExecutors": "3",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.executorIdleTimeout": "3s",
    "spark.dynamicAllocation.shuffleTracking.timeout": "3s",
}


def executor_processes() -> dict[str, RunProcess]:
    """Return the processes of executors, by Spark's name for them."""
    return {one.executor: one for one in processes_of(os.getsid(0)) if one.executor is not None}


def wait_until(happened: Callable[[], Any]) -> Any:  # Any: what a caller waits for
    """Wait until something is true, and return it."""
    end = time.monotonic() + PATIENCE
    while not (found := happened()):
        if time.monotonic() > end:
            raise AssertionError("it did not happen")
        time.sleep(0.02)
    return found


class ElasticRun:
    """A run whose batches are fed by hand."""

    def __init__(self, folder: Path, happens: str) -> None:
        self.folder = folder
        self.network = chaos_network()
        self.batches = [dict(batch) for batch in ordered_batches(self.network, BATCHES, 15)]
        self.fed = 0
        more = RELEASING if happens == "released" else {}
        spark = session("elastic", os.environ["ELASTIC_MASTER"], {"spark.driver.memory": "1g", **more})
        self.handle: Handle = run(
            self.network,
            sources_of(spark, self.network, folder),
            {stream: Files(str(folder / "out" / stream)) for stream in self.network.outputs},
            checkpoint=str(folder / "checkpoint"),
            trigger={"processingTime": "0 seconds"},
            nodes=int(os.environ["ELASTIC_NODES"]),
            engine=os.environ["VICTIM_ENGINE"],
            control=CONTROL,
        )

    @property
    def watch(self) -> ExecutorWatch:
        return self.handle.control._watch

    def executors(self, status: ExecutorStatus) -> list[ExecutorFacts]:
        assert self.watch.executors is not None
        return [one for one in self.watch.executors.found() if one.status is status]

    def feed(self, count: int) -> None:
        """Run so many batches, one by one, and let the control loop see each of them."""
        for batch in self.batches[self.fed : self.fed + count]:
            write_files(self.folder, batch, self.fed)
            self.fed += 1
            self.handle.processAllAvailable()
            self.handle.control.wait()

    def nodes_by_executor(self) -> dict[str, list[int]]:
        assert self.watch.executors is not None
        found: dict[str, list[int]] = {}
        for node, executor in sorted(self.watch.executors.ran_on(self.watch._newest).items()):
            found.setdefault(executor, []).append(node)
        return found

    def kill_executor_of_node_0(self) -> tuple[str, list[int]]:
        """Kill it, and return its name and its nodes."""
        ran = self.nodes_by_executor()
        name = next(executor for executor, nodes in ran.items() if 0 in nodes)
        os.kill(executor_processes()[name].pid, signal.SIGKILL)
        return name, ran[name]

    def wait_for(self, name: str, status: ExecutorStatus) -> None:
        """Wait until Spark says this of an executor."""
        wait_until(lambda: name in {one.name for one in self.executors(status)})


def lose(one: ElasticRun) -> dict[str, Any]:  # Any: JSON
    """Lose an executor; until a period has passed, no other one replaces it."""
    before = set(executor_processes())
    name, nodes = one.kill_executor_of_node_0()
    newer: RunProcess = wait_until(lambda: [each for key, each in executor_processes().items() if key not in before])[0]
    os.kill(newer.pid, signal.SIGSTOP)  # it has not registered: Java takes longer to start
    one.wait_for(name, ExecutorStatus.LOST)
    one.feed(2)
    closed = sorted(one.handle.control.closed())
    places = sorted(set(one.handle.plan.node_of.values()))
    os.kill(newer.pid, signal.SIGCONT)
    one.wait_for(str(newer.executor), ExecutorStatus.ACTIVE)
    return {"executor": name, "nodes": nodes, "closed": closed, "places": places}


def replaced(one: ElasticRun) -> dict[str, Any]:  # Any: JSON
    """Lose an executor that Spark replaces."""
    name, nodes = one.kill_executor_of_node_0()
    one.wait_for(name, ExecutorStatus.LOST)
    one.feed(2)
    return {"executor": name, "nodes": nodes, "closed": sorted(one.handle.control.closed())}


def release(one: ElasticRun) -> dict[str, Any]:  # Any: JSON
    """Wait until Spark has released an executor."""
    gone: list[ExecutorFacts] = wait_until(lambda: one.executors(ExecutorStatus.RELEASED))
    one.feed(2)
    return {"executor": gone[0].name, "reason": gone[0].reason, "closed": sorted(one.handle.control.closed())}


HAPPENINGS: Final = {"lost": lose, "replaced": replaced, "released": release}


def main(folder: Path, happens: str) -> None:
    one = ElasticRun(folder, happens)
    one.feed(4)
    before = one.handle.plan
    seen = HAPPENINGS[happens](one)
    one.feed(BATCHES)  # what is left
    seen |= {
        "before": dict(before.node_of),
        "after": dict(one.handle.plan.node_of),
        "open again": sorted(one.handle.control.closed()) == [],
        "reasons": [record.reason for record in one.handle.control.records if "need a node" in record.reason],
        "failure": one.handle.control.status.failure,
        "batches": len(one.handle.batches),
    }
    one.handle.stop()
    seen["error"] = str(one.handle.exception() or "")
    (folder / "seen.json").write_text(json.dumps(seen), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), os.environ["ELASTIC_HAPPENS"])

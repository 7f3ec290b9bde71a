"""What Spark's status store says of executors, and of the tasks that ran on them.

The store has the data of Spark's REST interface (`allexecutors`, `taskList`), and it exists also where Spark's page is
switched off. Java turns it into JSON, because every call from Python to Java takes a third of a millisecond.

Rule 1: a local master has no executors that it could lose.
Rule 2: Spark names its own decisions. For any other reason, an executor is lost.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from drover.control.executors import ExecutorFacts, ExecutorStatus
from drover.flow.worker import TaskId
from drover.spark.slots import has_fixed_slots

DRIVER: Final = "driver"  # Spark's own name for it, among the executors
# The words of `ExecutorKilled` and of `ExecutorAllocationManager` in Spark 4. With both, dynamic allocation gives an
# executor back; with the second, its blocks were moved first. Where heartbeats are missing, Spark says that instead.
RELEASES: Final = frozenset({"Executor killed by driver.", "Executor decommission: spark scale down"})
MOST_TASKS: Final = 100_000  # of a stage; Spark keeps no more


class SparkExecutors:
    """The executors of a Spark application."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext  # Any: Spark's own objects behind it have no types
        java = context._jvm
        self._context = context._jsc.sc()
        self._store = self._context.statusStore()
        self._json = java.com.fasterxml.jackson.databind.ObjectMapper()
        self._json.registerModule(java.com.fasterxml.jackson.module.scala.DefaultScalaModule())

    def names(self) -> set[str]:
        """Return the names of the executors that are there; the status store may learn of it a moment later."""
        return set(str(self._context.getExecutorIds().mkString(" ")).split())

    def found(self) -> list[ExecutorFacts]:
        """Return the executors that are there, and those that are gone."""
        return read_executors(self._json.writeValueAsString(self._store.executorList(False)))

    def ran_on(self, tasks: Mapping[int, TaskId]) -> dict[int, str]:
        """Return the executor of each node, from the task that ran it; without those that Spark has forgotten."""
        by_task: dict[int, str] = {}
        for stage in sorted({task.stage for task in tasks.values()}):
            by_task |= self._tasks(stage)
        return {node: by_task[task.number] for node, task in tasks.items() if task.number in by_task}

    def _tasks(self, stage: int) -> dict[int, str]:
        """Return the executor of each task of a stage."""
        try:
            # More than one if shuffle files were lost.
            attempts = int(self._store.lastStageAttempt(stage).attemptId()) + 1
        except Py4JError:  # Spark keeps only the newest stages
            return {}
        texts = [
            self._json.writeValueAsString(self._store.taskList(stage, attempt, MOST_TASKS))
            for attempt in range(attempts)
        ]
        return {task: executor for text in texts for task, executor in read_tasks(text).items()}


def executors_of(spark: SparkSession) -> SparkExecutors | None:
    """Return the executors of a session; None if they cannot be lost."""
    return None if has_fixed_slots(str(spark.sparkContext.master)) else SparkExecutors(spark)


def read_executors(text: str) -> list[ExecutorFacts]:
    """Return executors from the JSON of Spark's summaries, without the driver."""
    rows: list[dict[str, Any]] = json.loads(text)  # Any: JSON
    return [
        ExecutorFacts(row["id"], row["maxTasks"], _status(row), row["removeReason"] or "")
        for row in rows
        if row["id"] != DRIVER
    ]


def _status(row: Mapping[str, Any]) -> ExecutorStatus:  # Any: JSON
    if row["isActive"]:
        return ExecutorStatus.ACTIVE
    # Spark never releases an executor that works. It kills one that works if somebody asks it to.
    released = row["removeReason"] in RELEASES and not row["activeTasks"]
    return ExecutorStatus.RELEASED if released else ExecutorStatus.LOST


def read_tasks(text: str) -> dict[int, str]:
    """Return the executor of each task, from the JSON of Spark's tasks."""
    rows: Collection[dict[str, Any]] = json.loads(text)  # Any: JSON
    return {row["taskId"]: row["executorId"] for row in rows}

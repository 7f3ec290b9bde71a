"""What Spark says of its executors, and of the tasks that ran on them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from drover.control.executors import ExecutorFacts, ExecutorStatus
from drover.flow.worker import TaskId
from drover.spark.executors import SparkExecutors, executors_of, read_executors, read_tasks
from drover.spark.tasks import task_id


def summary(reason: str | None, *, name: str = "1", active_tasks: int = 0) -> dict[str, Any]:  # Any: JSON
    """Return what Spark writes of an executor that is gone for this reason; None if it is there."""
    return {
        "id": name,
        "isActive": reason is None,
        "maxTasks": 2,
        "activeTasks": active_tasks,
        "removeReason": reason,
    }


@pytest.mark.parametrize(
    ("reason", "active_tasks", "status"),
    [
        pytest.param(None, 2, ExecutorStatus.ACTIVE, id="it works"),
        pytest.param("Executor killed by driver.", 0, ExecutorStatus.RELEASED, id="dynamic allocation has released it"),
        pytest.param("Executor decommission: spark scale down", 0, ExecutorStatus.RELEASED, id="and moved its blocks"),
        pytest.param("Executor killed by driver.", 1, ExecutorStatus.LOST, id="it was killed while a task ran"),
        pytest.param("Executor decommission: Executor 1 is decommissioned.", 0, ExecutorStatus.LOST, id="by the host"),
        pytest.param("Executor heartbeat timed out after 120000 ms", 0, ExecutorStatus.LOST, id="it was silent"),
        pytest.param("Command exited with code 137", 0, ExecutorStatus.LOST, id="it was killed"),
        pytest.param("Worker shutting down", 0, ExecutorStatus.LOST, id="its machine is gone"),
    ],
)
def test_spark_says_why_an_executor_is_gone(reason: str | None, active_tasks: int, status: ExecutorStatus) -> None:
    text = json.dumps([summary(None, name="driver"), summary(reason, active_tasks=active_tasks)])
    assert read_executors(text) == [ExecutorFacts("1", 2, status, reason or "")]


def test_tasks_have_executors() -> None:
    rows = [{"taskId": 7, "index": 0, "executorId": "2"}, {"taskId": 8, "index": 1, "executorId": "1"}]
    assert read_tasks(json.dumps(rows)) == {7: "2", 8: "1"}


def test_a_local_master_has_no_executors_to_lose() -> None:
    context = SimpleNamespace(master="local[2]")
    session: Any = SimpleNamespace(sparkContext=context)  # Any: takes the place of a session
    assert executors_of(session) is None


def test_spark_knows_the_executor_of_a_task_by_its_numbers(spark: SparkSession) -> None:
    assert task_id() is None, "outside of Spark"
    stage, number = spark.sparkContext.parallelize([0], 1).map(lambda _: task_id()).collect()[0] or (-1, -1)
    executors = SparkExecutors(spark)
    assert executors.found() == [], "in local mode, the driver runs tasks"
    tasks = {3: TaskId(stage, number), 4: TaskId(stage, number + 1000), 5: TaskId(stage + 1000, number + 1001)}
    assert executors.ran_on(tasks) == {3: "driver"}

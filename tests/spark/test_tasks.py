"""What Spark runs in its workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable

from pyspark import cloudpickle

from drover.flow.schedule import Schedule
from drover.flow.worker import Assignment, PackedNetwork
from drover.spark import tasks

AS_SPARK_DOES: Callable[[object], bytes] = cloudpickle.dumps


def test_every_task_of_a_worker_finds_the_same_cache() -> None:
    assignment = Assignment(0, PackedNetwork("f", b""), Schedule(1, 1, {}, {}, {}), {}, {}, "root")
    for task in (tasks.RouterTask(assignment, tasks.SourceLayout({})), tasks.NodeTask(assignment, 0)):
        arrived = pickle.loads(AS_SPARK_DOES(task))
        assert arrived == task
        assert arrived.__call__.__globals__["CACHE"] is tasks.CACHE

"""The time of the tasks of a batch, as Spark counts it: for drover's nodes and for Spark's partitions alike.

Rule 1: only stages with as many tasks as nodes count; stages that read the sources have one task per file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery


@dataclass
class TaskTimes:
    """The seconds of each task, added up over the stages of a batch, (nodes,)."""

    spark: SparkSession
    query: StreamingQuery
    nodes: int
    seen: set[int] = field(default_factory=set)  # jobs

    def take(self) -> list[float]:
        """Return the seconds of the tasks of the batch that has just ended."""
        context = self.spark.sparkContext
        scala = context._jsc.sc()  # Spark has these figures in its status store, and no Python for it
        scala.listenerBus().waitUntilEmpty()
        tracker = context.statusTracker()
        found = [0.0] * self.nodes
        jobs = {int(job) for job in tracker.getJobIdsForGroup(str(self.query.runId))} - self.seen
        self.seen |= jobs
        for job in sorted(jobs):
            info = tracker.getJobInfo(job)
            for stage in () if info is None else info.stageIds:
                known = tracker.getStageInfo(stage)
                if known is not None and known.numTasks == self.nodes and known.numCompletedTasks == self.nodes:
                    for index, seconds in self._tasks(stage, known.currentAttemptId):
                        found[index] += seconds
        return found

    def _tasks(self, stage: int, attempt: int) -> list[tuple[int, float]]:
        tasks = self.spark.sparkContext._jsc.sc().statusStore().taskList(stage, attempt, self.nodes)
        rows = [tasks.apply(k) for k in range(tasks.size())]
        return [(task.index(), task.taskMetrics().get().executorRunTime() / 1000) for task in rows]

"""Spark's executors, which come and go, and the tasks that ran on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from drover.control.executors import ExecutorFacts, ExecutorStatus
from drover.flow.worker import NodeReport, TaskId


@dataclass(slots=True)
class SimulatedExecutors:
    """Executors with one slot each; Spark never uses a name twice."""

    facts: list[ExecutorFacts] = field(default_factory=lambda: [ExecutorFacts(str(number), 1) for number in range(2)])
    tasks: list[str] = field(default_factory=list)  # the executor of each task

    def names(self) -> set[str]:
        return {one.name for one in self.facts if one.status is ExecutorStatus.ACTIVE}

    def found(self) -> list[ExecutorFacts]:
        return self.facts

    def ran_on(self, tasks: Mapping[int, TaskId]) -> dict[int, str]:
        return {node: self.tasks[task.number] for node, task in tasks.items()}

    def resize(self, slots: int, status: ExecutorStatus = ExecutorStatus.LOST) -> None:
        """Start executors, or let the first ones go, until there are so many."""
        active = [one.name for one in self.facts if one.status is ExecutorStatus.ACTIVE]
        gone = active[: max(0, len(active) - slots)]
        new = [ExecutorFacts(str(len(self.facts) + number), 1) for number in range(slots - len(active))]
        kept = [replace(one, status=status, reason="simulated") if one.name in gone else one for one in self.facts]
        self.facts = [*kept, *new]

    def ran(self, report: NodeReport) -> NodeReport:
        """Return the report of a node as that of a task on one of the executors."""
        active = [one.name for one in self.facts if one.status is ExecutorStatus.ACTIVE]
        self.tasks.append(active[report.place.node % len(active)])
        return replace(report, task=TaskId(0, len(self.tasks) - 1))

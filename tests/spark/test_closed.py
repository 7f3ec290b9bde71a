"""Which nodes are closed when Spark loses executors, as batches go by."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest
from py4j.protocol import Py4JError

from drover.control.executors import ExecutorFacts, ExecutorStatus
from drover.flow.schedule import HopNode
from drover.flow.worker import NodeReport, TaskId
from drover.spark.closed import ExecutorWatch
from tests.simulation.executors import SimulatedExecutors


def watch(executors: int) -> tuple[ExecutorWatch, SimulatedExecutors]:
    found = SimulatedExecutors([ExecutorFacts(str(number), 1) for number in range(executors)])
    made = ExecutorWatch(found)
    made.begin()
    return made, found


def ran(executors: SimulatedExecutors, nodes: int) -> dict[int, TaskId]:
    """Run a batch: node i runs on the executor with number i among those that are active."""
    reports = [executors.ran(NodeReport(HopNode(0, node), (), (), (), {})) for node in range(nodes)]
    return {report.place.node: report.task for report in reports if report.task is not None}


def test_nodes_of_a_lost_executor_are_closed_until_another_one_comes(caplog: pytest.LogCaptureFixture) -> None:
    made, executors = watch(3)
    made.look(ran(executors, 3))
    assert made.closed(3, ()) == set()
    executors.resize(2)
    with caplog.at_level(logging.WARNING):
        made.look(ran(executors, 3))  # by now, every node has run elsewhere
    assert made.closed(3, ()) == {0}
    assert made.closed(3, {1}) == {0, 1}
    assert caplog.messages == ["executor 0 was lost: node 0 ran on it (simulated). Slots that nobody has replaced: 1"]
    caplog.clear()
    made.look({})
    assert made.closed(3, ()) == {0}
    assert caplog.messages == []
    executors.resize(3)
    made.look(ran(executors, 3))
    assert made.closed(3, ()) == set()


def test_an_executor_that_is_lost_after_a_batch_has_the_nodes_of_this_batch() -> None:
    made, executors = watch(2)
    made.look(ran(executors, 2))
    executors.facts.reverse()  # nodes change places
    tasks = ran(executors, 2)
    executors.facts.reverse()
    executors.resize(1)
    made.look(tasks)
    assert made.closed(2, ()) == {1}


def test_a_node_without_work_in_a_batch_ran_where_it_had_work_last() -> None:
    made, executors = watch(2)
    made.look(ran(executors, 2))
    made.look({})
    made.look({})
    executors.resize(1)
    made.look({})
    assert made.closed(2, ()) == {0}


def test_a_loss_that_the_status_store_does_not_have_yet_is_seen_later() -> None:
    made, executors = watch(2)
    made.look(ran(executors, 2))
    late = SimulatedExecutors(executors.facts, executors.tasks)
    executors.resize(1)
    made.executors = LateStore(executors, late)
    made.look(ran(executors, 2))  # by now, every node has run elsewhere
    assert made.closed(2, ()) == set()
    made.executors = executors
    made.look({})
    assert made.closed(2, ()) == {0}


def test_a_released_executor_closes_nothing() -> None:
    made, executors = watch(3)
    made.look(ran(executors, 3))
    executors.resize(1, ExecutorStatus.RELEASED)
    made.look(ran(executors, 3))
    assert made.closed(3, ()) == set()
    assert made.lost == ()


def test_without_executors_to_lose_only_drained_nodes_are_closed() -> None:
    made = ExecutorWatch(None)
    made.begin()
    made.look({0: TaskId(0, 0)})
    assert made.closed(3, {1}) == {1}


class LateStore:
    """Executors of which some are gone, though the status store has all of them."""

    def __init__(self, now: SimulatedExecutors, before: SimulatedExecutors) -> None:
        self.names = now.names
        self.found = before.found
        self.ran_on = before.ran_on


class StoppedExecutors:
    """Executors of a Spark that was stopped since the run began."""

    def names(self) -> set[str]:
        raise Py4JError("it was stopped")

    def found(self) -> list[ExecutorFacts]:
        return [ExecutorFacts("0", 1)]

    def ran_on(self, tasks: Mapping[int, TaskId]) -> dict[int, str]:
        return dict.fromkeys(tasks, "0")


def test_a_spark_that_was_stopped_does_not_break_the_control_loop(caplog: pytest.LogCaptureFixture) -> None:
    made = ExecutorWatch(StoppedExecutors())
    made.begin()
    made.look({0: TaskId(0, 0)})
    assert made.closed(2, ()) == set()
    assert caplog.messages == ["cannot ask Spark for its executors: it was stopped"]

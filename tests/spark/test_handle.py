"""The handle without Spark: what it passes on, and how a run ends."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock, PropertyMock, call

import pytest
from pyspark.errors import StreamingQueryException

from drover.errors import DroverError
from drover.placement.plan import Plan
from drover.spark.facts import BatchFacts, BatchSeconds
from drover.spark.handle import Handle


class Parts:
    """A handle and the objects behind it, which note their calls in one list."""

    def __init__(self, *, closes: bool = False) -> None:
        self.all = MagicMock()
        self.query = self.all.query
        self.driver = self.all.driver
        self.control = self.all.control
        self.queries = self.all.queries
        self.endpoint = self.all.endpoint
        self.query.isActive = False
        self.query.awaitTermination.return_value = None
        self.query.exception.return_value = None
        self.driver.failure = None
        self.driver.history = []
        self.driver.planner.parked = {}
        behind: Any = (self.query, self.driver, self.control, self.queries, self.endpoint)
        self.handle = Handle(self.all.spark, *behind, closes=closes)

    @property
    def calls(self) -> list[str]:
        return [name for name, _, _ in self.all.mock_calls]


ENDED = ["endpoint.close", "control.close", "driver.close"]


def facts(batch: int, spark_batch: int) -> BatchFacts:
    return BatchFacts(batch, spark_batch, 1, 2, 1, BatchSeconds(0.5, 0.1, 0.0), {"a": 5})


def test_progress_joins_sparks_figures_and_drovers_for_the_same_batch() -> None:
    assert Parts().handle.lastProgress is None
    parts = Parts()
    parts.driver.history = [facts(3, 7), facts(4, 8)]
    parts.query.lastProgress = {"batchId": 7, "name": "n"}
    found = parts.handle.lastProgress
    assert found is not None
    assert (found["name"], found["drover"]["batch"]) == ("n", 3), "Spark has not reported batch 8 yet"
    parts.query.lastProgress = None
    assert (parts.handle.lastProgress or {})["drover"]["batch"] == 4
    assert [each["batch"] for each in parts.handle.batches] == [3, 4]
    parts.query.recentProgress = [{"batchId": 7, "name": "n"}]
    recent = parts.handle.recentProgress
    assert [(each.get("name"), each["drover"]["batch"]) for each in recent] == [("n", 3), (None, 4)]


def test_calls_are_passed_on() -> None:
    parts = Parts()
    handle = parts.handle
    handle.spread("j", 3)
    handle.apply("p3")
    handle.explain("a")
    handle.mode("auto")
    handle.drain(1, empty=False)
    handle.drop("q", tenant="t")
    handle.queries("t")
    handle.results("q")
    handle.resume("a")
    assert parts.all.mock_calls == [
        call.control.spread("j", 3),
        call.control.approve("p3"),
        call.control.explain("a"),
        call.control.change(mode="auto"),
        call.control.drain(1, empty=False),
        call.queries.drop(("q",), tenant="t", every=False),
        call.queries.table("t"),
        call.queries.results("q"),
        call.driver.planner.resume("a"),
    ]
    assert handle.proposal is parts.control.proposal()
    assert handle.decisions is parts.control.records
    assert handle.parked is parts.driver.parked
    assert handle.plan is parts.driver.planner.plan


def test_one_query_is_submitted_like_a_list_of_one() -> None:
    parts = Parts()
    one = {"name": "q"}
    parts.handle.submit(one)
    parts.handle.submit([one], atomic=True)
    assert parts.queries.submit.mock_calls == [call([one], atomic=False), call([one], atomic=True)]


def test_scaling_replans() -> None:
    parts = Parts()
    parts.handle.scale(3)
    (change,) = parts.driver.planner.replan.call_args.args
    assert change(Plan(1, 2, {"a": 1})).nodes == 3


def test_listeners_get_json_or_facts() -> None:
    parts = Parts()
    seen: list[object] = []
    parts.handle.listen(seen.append)
    parts.handle.on_batch(seen.append)
    batch = facts(3, 7)
    for listener in (args.args[0] for args in parts.driver.listen.call_args_list):
        listener(batch)
    first, second = seen
    assert isinstance(first, dict)
    assert first["batch"] == 3
    assert second is batch


def test_a_run_that_ends_by_itself_closes_its_windows_once() -> None:
    parts = Parts(closes=True)
    assert parts.handle.awaitTermination()
    assert parts.calls == ["query.awaitTermination", "driver.close_windows", *ENDED]
    parts.all.reset_mock()
    assert parts.handle.awaitTermination()
    assert "driver.close_windows" not in parts.calls


def test_a_timeout_ends_nothing() -> None:
    parts = Parts(closes=True)
    parts.query.awaitTermination.return_value = False
    assert not parts.handle.awaitTermination(5)
    assert parts.all.mock_calls == [call.query.awaitTermination(5)]


def test_an_error_of_the_driver_is_raised_rather_than_sparks() -> None:
    parts = Parts()
    parts.query.awaitTermination.side_effect = StreamingQueryException("Spark's words")
    parts.driver.failure = DroverError("the table is gone")
    with pytest.raises(DroverError, match="the table is gone"):
        parts.handle.awaitTermination()
    assert parts.calls[-3:] == ENDED


def test_a_failure_while_windows_close_is_raised() -> None:
    parts = Parts()
    parts.driver.failure = ValueError("no room")
    with pytest.raises(DroverError, match="no room"):
        parts.handle.awaitTermination()
    other = Parts(closes=True)
    other.driver.close_windows.side_effect = ValueError("no room")
    with pytest.raises(DroverError, match="no room"):
        other.handle.awaitTermination()
    assert other.calls[-3:] == ENDED


def test_stopping_releases_everything_and_hides_later_failures() -> None:
    parts = Parts(closes=True)
    parts.handle.stop()
    assert parts.calls[0] == "driver.finish"
    assert {"query.stop", "driver.release"} <= set(parts.calls)
    assert parts.calls[-3:] == ENDED
    parts.driver.failure = ValueError("stopped in the middle")
    assert parts.handle.exception() is None
    assert parts.handle.awaitTermination(), "it was stopped on purpose"
    assert "driver.close_windows" not in parts.calls


def test_stopping_after_java_has_ended_is_one_error() -> None:
    parts = Parts()
    parts.query.stop.side_effect = ConnectionRefusedError("nobody there")
    type(parts.query).isActive = PropertyMock(side_effect=ConnectionRefusedError("nobody there"))
    with pytest.raises(ConnectionRefusedError):
        parts.handle.stop()


def test_the_exception_of_a_run() -> None:
    parts = Parts()
    assert parts.handle.exception() is None
    parts.driver.failure = DroverError("the sink refuses")
    assert str(parts.handle.exception()) == "the sink refuses"
    parts.query.exception.return_value = StreamingQueryException("Spark's words")
    assert str(parts.handle.exception()) == "the sink refuses"
    assert parts.calls[-3:] == ENDED


def test_all_available_rows_are_processed_and_windows_closed() -> None:
    parts = Parts()
    parts.handle.processAllAvailable()
    assert parts.calls == ["query.processAllAvailable", "driver.close_windows"]
    parts.query.processAllAvailable.side_effect = StreamingQueryException("Spark's words")
    with pytest.raises(DroverError, match="Spark's words"):
        parts.handle.processAllAvailable()

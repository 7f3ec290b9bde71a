"""The driver's order of work, without Spark: what a batch computes is made up, the checkpoint is real."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import drover
from drover.control.failing import FailurePolicy, OnFailure
from drover.errors import DroverError, LockedError
from drover.flow.node import Failure
from drover.flow.parking import HeldInput
from drover.flow.planlog import read_plan
from drover.flow.schedule import HopNode
from drover.flow.state.commits import latest
from drover.flow.state.storage import open_root
from drover.flow.worker import Assignment, NodeReport
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark import driver as module
from drover.spark.batch import BatchResult
from drover.spark.caller import ask
from drover.spark.commit_notes import notes_of
from drover.spark.driver import HISTORY, INTERRUPTED, Driver
from drover.spark.facts import BatchFacts
from drover.spark.planner import Planner
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.service import QueryService
from drover.spark.tasks import RouterReport

SECOND = 1_000_000
ROWS: Any = SimpleNamespace(sparkSession=SimpleNamespace(createDataFrame=lambda *_: ROWS))  # Any: a DataFrame
READING: Any = SimpleNamespace(layout=None, frame=SimpleNamespace(schema=None))  # Any: UnifiedSources


def network() -> Network:
    net = drover.Builder("n")
    net.source("s", {"ts": "timestamp", "k": "bigint"}, time="ts").filter("f", "k > 0").output()
    return net.build()


@dataclass
class Engine:
    """Takes the place of Spark: returns made-up results, and writes down what happens in which order."""

    happened: list[str] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    broken: str = ""  # what fails: compute or sink
    held_bytes: int = 100
    still: bool = False  # whether event time stands still

    def run(self, _rows: object, _layout: object, assignment: Assignment, meanwhile: Callable[[], None]) -> BatchResult:
        meanwhile()
        fs, root = open_root(assignment.root)
        assert read_plan(fs, root, assignment.batch) is not None  # the plan is in the log before the batch begins
        self.happened.append(f"compute {assignment.batch}")
        self.assignments.append(assignment)
        if self.broken == "compute":
            raise ValueError("no batch")
        parking = assignment.parking
        failures = tuple(Failure(*item) for item in self.failures.items() if item[0] not in parking.parked)
        held = tuple(HeldInput(name, 7, self.held_bytes) for name in parking.holding)
        report = NodeReport(HopNode(0, 0), (), failures, (), {}, held=held)
        found = {"f": pl.DataFrame({"k": [assignment.batch]})}
        reached = 0 if self.still else assignment.batch * SECOND
        return BatchResult(found, {}, {"s": reached}, (report,), (RouterReport({"s": 1}, (), 0.1),))

    def close(self) -> None: ...

    def write(self, _rows: pl.DataFrame, batch: int, _spark: object) -> None:
        self.happened.append(f"sink {batch}")
        if self.broken == "sink":
            raise ValueError("no sink")


@pytest.fixture
def engine() -> Engine:
    return Engine()


def made(root: Path, engine: Engine, **options: Any) -> Driver:
    found = network()
    queries = QueryService(found, QueryCatalog(found, str(root), {}))
    planner = Planner(str(root), Plan(1, 2, {"f": 0}))
    return Driver(found, READING, {"f": (engine,)}, str(root), planner, queries, engine=engine, **options)


@pytest.fixture
def driver(tmp_path: Path, engine: Engine) -> Iterator[Driver]:
    found = made(tmp_path, engine)
    found.open()
    yield found
    found.close()


def test_a_batch_is_computed_delivered_committed_and_then_published(driver: Driver, engine: Engine) -> None:
    seen: list[BatchFacts] = []

    def listen(facts: BatchFacts) -> None:
        assert latest(*open_root(driver.root)).batch == facts.batch  # it is committed by now
        seen.append(facts)

    driver.listen(listen)
    driver.process(ROWS, 0)
    assert engine.happened == ["compute 0", "sink 0"]
    (facts,) = seen
    assert driver.history == [facts]
    assert (facts.batch, facts.spark_batch, facts.plan, facts.rows_in, facts.rows_out) == (0, 0, 1, {"s": 1}, {"f": 1})
    assert facts.queries is None


def test_a_batch_that_is_in_the_state_is_not_run_again(driver: Driver, engine: Engine) -> None:
    driver.process(ROWS, 0)
    driver.process(ROWS, 0)
    assert engine.happened == ["compute 0", "sink 0"]


def test_a_batch_that_does_not_follow_is_refused(driver: Driver) -> None:
    driver.process(ROWS, 0)
    with pytest.raises(DroverError, match="rows after Spark's batch 0 would be lost"):
        driver.process(ROWS, 2)


@pytest.mark.parametrize("broken", ["compute", "sink"])
def test_a_failure_commits_nothing_and_ends_the_run(driver: Driver, engine: Engine, broken: str) -> None:
    driver.process(ROWS, 0)
    engine.broken = broken
    with pytest.raises(ValueError, match=r"no \w+"):
        driver.process(ROWS, 1)
    assert isinstance(driver.failure, ValueError)
    assert driver.checkpoint.batch == latest(*open_root(driver.root)).batch == 0
    engine.broken = ""
    with pytest.raises(DroverError, match="has failed before"):
        driver.process(ROWS, 1)
    assert engine.happened.count("compute 1") == 1


def test_a_batch_without_rows_runs_only_if_the_watermark_has_moved(driver: Driver, engine: Engine) -> None:
    driver.close_windows(ROWS.sparkSession)
    assert engine.happened == []
    driver.process(ROWS, 0)
    assert driver.wait_for_windows()
    driver.close_windows(ROWS.sparkSession)
    driver.process(ROWS, 1)
    assert [facts.spark_batch for facts in driver.history] == [0, 0, 1]
    assert [facts.batch for facts in driver.history] == [0, 1, 2]


def test_an_operator_that_failed_holds_its_input_until_it_is_resumed(driver: Driver, engine: Engine) -> None:
    engine.failures = {"f": "ValueError: no"}
    driver.process(ROWS, 0)
    assert engine.happened == ["compute 0", "compute 0", "sink 0"]  # the attempt that failed is thrown away
    assert engine.assignments[-1].parking.holding == {"f"}
    assert driver.parked == {"f": "ValueError: no"}
    engine.failures = {}
    driver.process(ROWS, 1)
    assert engine.assignments[-1].parking.names == {"f"}
    held = driver.planner.parked["f"]
    assert (held.since, held.rows, held.bytes, held.frozen) == (0, 7, 100, None)
    driver.planner.resume("f")
    driver.process(ROWS, 2)
    assert engine.assignments[-1].parking.names == set()
    assert engine.assignments[-1].parking.working_off == {"f"}
    assert driver.parked == {}
    with pytest.raises(DroverError, match=r"'f' is not parked\. Parked: none"):
        driver.planner.resume("f")


def test_a_resume_needs_no_rows(driver: Driver, engine: Engine) -> None:
    engine.failures = {"f": "ValueError: no"}
    engine.still = True
    driver.process(ROWS, 0)
    driver.close_windows(ROWS.sparkSession)
    engine.failures = {}
    driver.close_windows(ROWS.sparkSession)
    assert [facts.batch for facts in driver.history] == [0, 1]
    driver.planner.resume("f")
    assert driver.wait_for_windows()
    driver.close_windows(ROWS.sparkSession)
    assert driver.parked == {}


def test_a_batch_is_repeated_with_what_it_parked(tmp_path: Path, engine: Engine) -> None:
    driver = made(tmp_path, engine)
    driver.open()
    engine.failures = {"f": "ValueError: no"}
    engine.broken = "sink"
    with pytest.raises(ValueError, match="no sink"):
        driver.process(ROWS, 0)
    driver.close()
    engine.failures = {}  # it is mended, but the batch has begun
    engine.broken = ""
    spark_did(tmp_path, begun=0, done=-1)
    again = made(tmp_path, engine)
    again.open()
    again.planner.resume("f")
    again.process(ROWS, 0)
    assert engine.assignments[-1].parking.holding == {"f"}
    again.process(ROWS, 1)
    assert engine.assignments[-1].parking.working_off == {"f"}
    again.close()


@pytest.mark.parametrize("begun", [0, 1], ids=["no batch has begun", "a batch has begun"])
def test_an_operator_of_a_stopped_run_is_resumed_by_the_next_run(tmp_path: Path, engine: Engine, begun: int) -> None:
    engine.failures = {"f": "ValueError: no"}
    engine.still = True
    driver = made(tmp_path, engine)
    driver.open()
    driver.process(ROWS, 0)
    driver.close_windows(ROWS.sparkSession)
    driver.close()
    spark_did(tmp_path, begun=begun, done=0)
    with pytest.raises(DroverError, match=r"operator 'g' is not parked\. Parked: f"):
        ask(str(tmp_path), "resume", operator="g")
    answer = ask(str(tmp_path), "resume", operator="f")
    assert (answer["operator"], answer["rows"], answer["running"]) == ("f", 7, False)
    assert [one["operator"] for one in ask(str(tmp_path), "status")["parked"]] == ["f"]
    assert ask(str(tmp_path), "explain", unit="f")["text"].startswith("f is parked since batch 0")
    engine.failures = {}
    again = made(tmp_path, engine)
    again.open()
    if begun:
        again.process(ROWS, 1)
        assert again.parked == {"f": "ValueError: no"}
    assert again.wait_for_windows()
    again.close_windows(ROWS.sparkSession)
    assert again.parked == {}
    again.close()


def test_a_resume_that_fails_keeps_what_is_held(driver: Driver, engine: Engine) -> None:
    engine.failures = {"f": "ValueError: no"}
    driver.process(ROWS, 0)
    driver.process(ROWS, 1)
    engine.failures = {"f": "ValueError: still no"}
    driver.planner.resume("f")
    driver.process(ROWS, 2)
    held = driver.planner.parked["f"]
    assert (held.reason, held.since, held.frozen) == ("ValueError: still no", 0, None)
    assert engine.assignments[-1].parking.holding == {"f"}


def test_an_operator_that_holds_too_much_stops_the_run_after_the_commit(tmp_path: Path, engine: Engine) -> None:
    driver = made(tmp_path, engine, policy=FailurePolicy(hold_bytes=99))
    driver.open()
    engine.failures = {"f": "ValueError: no"}
    text = r"'f' is parked \(ValueError: no\) and holds 100 bytes of input, but may hold 99\. .*--resume f; .*: skip"
    with pytest.raises(DroverError, match=text):
        driver.process(ROWS, 0)
    assert driver.checkpoint.batch == 0
    driver.close()


def test_a_failed_operator_stops_the_run_if_the_user_wants_that(tmp_path: Path, engine: Engine) -> None:
    driver = made(tmp_path, engine, policy=FailurePolicy(OnFailure.STOP))
    driver.open()
    engine.failures = {"f": "ValueError: no"}
    with pytest.raises(DroverError, match="on_failure is stop: f: ValueError: no"):
        driver.process(ROWS, 0)
    assert engine.happened == ["compute 0"]
    driver.close()


def test_a_listener_that_raises_is_not_called_again(driver: Driver) -> None:
    heard: list[int] = []

    def fail(facts: BatchFacts) -> None:
        heard.append(facts.batch)
        raise ValueError("no more")

    driver.listen(fail)
    driver.listen(lambda facts: heard.append(-facts.batch))
    driver.process(ROWS, 0)
    driver.process(ROWS, 1)
    assert heard == [0, 0, -1]


def test_the_history_is_limited(driver: Driver) -> None:
    for batch in range(HISTORY + 2):
        driver.process(ROWS, batch)
    assert [facts.batch for facts in driver.history] == list(range(2, HISTORY + 2))


def test_after_finish_a_batch_waits_for_the_end_and_is_interrupted(driver: Driver, engine: Engine) -> None:
    errors: list[BaseException] = []

    def process() -> None:
        try:
            driver.process(ROWS, 0)
        except InterruptedError as error:
            errors.append(error)

    driver.finish()
    waiting = threading.Thread(target=process)
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()  # returning would let Spark commit the offsets of rows that nobody has processed
    driver.release()
    waiting.join(10)
    assert [str(error) for error in errors] == [INTERRUPTED]
    assert engine.happened == []
    assert not driver.wait_for_windows()


def test_a_checkpoint_has_one_driver_at_a_time(tmp_path: Path, engine: Engine, driver: Driver) -> None:
    second = made(tmp_path, engine)
    with pytest.raises(LockedError):
        second.open()
    driver.close()
    second.open()
    second.close()
    with pytest.raises(DroverError, match="the run has ended"):
        second.process(ROWS, 0)


def spark_did(root: Path, begun: int, done: int) -> None:
    """Write the files that Spark would have written."""
    for folder, last in (("offsets", begun), ("commits", done)):
        (root / "spark" / folder).mkdir(parents=True, exist_ok=True)
        for batch in range(last + 1):
            (root / "spark" / folder / str(batch)).write_text("v1\n{}")
    (root / "spark" / "metadata").touch()


@pytest.mark.parametrize("done", [0, 1], ids=["Spark repeats the batch", "Spark goes on"])
def test_the_next_run_continues_where_the_last_one_ended(tmp_path: Path, engine: Engine, done: int) -> None:
    first = made(tmp_path, engine)
    first.open()
    first.process(ROWS, 0)
    first.process(ROWS, 1)
    first.planner.replan(lambda plan: plan.move("f", 1))
    first.close()
    spark_did(tmp_path, begun=1, done=done)
    second = made(tmp_path, engine)
    second.open()
    for batch in range(done + 1, 3):
        second.process(ROWS, batch)
    assert engine.happened == [f"{what} {batch}" for batch in range(3) for what in ("compute", "sink")]
    assert second.history[-1].plan == 2  # the move that no batch of the first run has used
    assert notes_of(second.checkpoint).spark_batch == 2
    second.close()


def test_a_batch_that_died_after_its_plan_is_repeated_with_that_plan(tmp_path: Path, engine: Engine) -> None:
    first = made(tmp_path, engine)
    first.open()
    first.process(ROWS, 0)
    engine.broken = "compute"
    with pytest.raises(ValueError, match="no batch"):
        first.process(ROWS, 1)
    first.close()
    spark_did(tmp_path, begun=1, done=0)
    engine.broken = ""
    second = made(tmp_path, engine)
    second.open()
    second.planner.replan(lambda plan: plan.move("f", 1))  # must wait for the batch after it
    second.process(ROWS, 1)
    second.process(ROWS, 2)
    assert [facts.plan for facts in second.history] == [1, 2]
    second.close()


def test_old_files_are_swept_now_and_then(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[int] = []
    monkeypatch.setattr(module, "sweep", lambda *_: swept.append(driver.checkpoint.batch))
    for batch in range(2 * module.SWEEP_EVERY + 1):
        driver.process(ROWS, batch)
    assert swept == [0, module.SWEEP_EVERY, 2 * module.SWEEP_EVERY]

"""Quarantine: what two deaths of a batch have in common, and which members of a family are at fault."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from drover.flow.breadcrumbs import FOLDER, read_breadcrumbs
from drover.spark.batch import WorkerDiedError, worker_death
from drover.spark.quarantine import MOST_DEATHS, REASON, Quarantine, Suspect, faulty_members

DIED = WorkerDiedError("a worker died", 1)


def left_behind(root: Path, batch: int, hop: int, node: int, name: str) -> None:
    """Write what a worker that died leaves."""
    (root / FOLDER).mkdir(exist_ok=True)
    text = f'{{"batch": {batch}, "hop": {hop}, "node": {node}, "kind": "operator", "name": "{name}", "since": 1.0}}'
    (root / FOLDER / f"{batch:012}-{hop}-{node}-x.json").write_text(text, encoding="utf-8")


def test_only_what_ran_at_two_deaths_of_one_batch_is_suspect(tmp_path: Path) -> None:
    quarantine = Quarantine(str(tmp_path))
    left_behind(tmp_path, 5, 0, 1, "f")
    assert quarantine.suspects(5, DIED) == frozenset()
    left_behind(tmp_path, 6, 0, 1, "f")
    assert quarantine.suspects(6, DIED) == frozenset()
    left_behind(tmp_path, 5, 0, 1, "g")
    assert quarantine.suspects(5, DIED) == frozenset()
    left_behind(tmp_path, 5, 0, 1, "f")
    assert Quarantine(str(tmp_path)).suspects(5, DIED) == {Suspect("operator", "f", 1)}  # also after a restart


def test_tasks_that_spark_stopped_are_not_suspect(tmp_path: Path) -> None:
    quarantine = Quarantine(str(tmp_path))
    found = []
    for _ in range(2):
        left_behind(tmp_path, 5, 0, 0, "innocent")
        left_behind(tmp_path, 5, 0, 1, "f")
        found.append(quarantine.suspects(5, DIED))
    assert found == [frozenset(), {Suspect("operator", "f", 1)}]
    assert read_breadcrumbs(str(tmp_path)) == []


def test_deaths_without_a_trace_are_not_tried_for_ever(tmp_path: Path) -> None:
    quarantine = Quarantine(str(tmp_path))
    for _ in range(MOST_DEATHS - 1):
        assert quarantine.suspects(5, DIED) == frozenset()
    with pytest.raises(WorkerDiedError):
        quarantine.suspects(5, DIED)


def test_a_committed_batch_is_forgotten(tmp_path: Path) -> None:
    quarantine = Quarantine(str(tmp_path))
    quarantine.forget(4)
    left_behind(tmp_path, 5, 0, 1, "f")
    quarantine.suspects(5, DIED)
    quarantine.forget(5)
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_damaged_note_of_deaths_does_not_count(tmp_path: Path) -> None:
    quarantine = Quarantine(str(tmp_path))
    left_behind(tmp_path, 5, 0, 1, "f")
    quarantine.suspects(5, DIED)
    (note,) = (tmp_path / FOLDER).glob("deaths-*")
    note.write_text("[[", encoding="utf-8")
    left_behind(tmp_path, 5, 0, 1, "f")
    assert quarantine.suspects(5, DIED) == frozenset()


def test_trials_find_the_members_at_fault() -> None:
    faulty = {13, 77}
    trials: list[int] = []

    def dies_with(chosen: Collection[int]) -> bool:
        trials.append(len(chosen))
        return bool(faulty & set(chosen))

    assert faulty_members(list(range(100)), dies_with) == dict.fromkeys(faulty, REASON)
    assert len(trials) < 40
    assert 100 not in trials  # that all of them together kill the worker is known


@pytest.mark.parametrize(
    ("text", "node"),
    [
        pytest.param("Task 3 in stage 7.0 failed 1 times: Python worker exited unexpectedly (crashed)", 3, id="killed"),
        pytest.param("ExecutorLostFailure (executor 2 exited)", None, id="the executor is lost"),
        pytest.param(
            "Task 0 in stage 14.0 failed 1 times: java.io.IOException: Broken pipe\n"
            "\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)\n"
            "\tat java.base/java.io.DataOutputStream.flush(DataOutputStream.java:128)\n"
            "\tat org.apache.spark.api.python.PythonWorkerFactory.stopWorker(PythonWorkerFactory.scala:523)\n",
            0,
            id="an idle worker and its daemon were killed",
        ),
        pytest.param(
            "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            '  File "pyspark/serializers.py", line 602, in read_int\n    length = stream.read(4)\nKeyboardInterrupt\n',
            None,
            id="interrupted",
        ),
    ],
)
def test_deaths_are_recognised_in_the_words_of_spark(text: str, node: int | None) -> None:
    found = worker_death(text)
    assert found is not None
    assert found.node == node


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Task 3 in stage 7.0 failed 1 times: No space left on device", id="a full disk"),
        pytest.param(
            "failed 1 times: java.io.IOException: No space left on device\n"
            "\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)\n"
            "\tat org.apache.spark.shuffle.sort.BypassMergeSortShuffleWriter.write(Bypass.java:153)\n"
            "\tat org.apache.spark.api.python.BasePythonRunner.compute(PythonRunner.scala:637)\n",
            id="a full disk below a worker",
        ),
        pytest.param(
            "Traceback (most recent call last):\nValueError: KeyboardInterrupt\n", id="an error of a function"
        ),
    ],
)
def test_other_errors_are_no_deaths(text: str) -> None:
    assert worker_death(text) is None

"""The parts of `python -m benchmarks costs` that run without Java."""

from __future__ import annotations

import pytest

from benchmarks.costs import DRIVER, OTHERS, purpose, spent


@pytest.mark.parametrize(
    ("thread", "does"),
    [
        pytest.param("C2 CompilerThre", "Java: compilers", id="a compiler, cut by the kernel"),
        pytest.param("G1 Young RemSet", "Java: garbage collection", id="a collector's helper"),
        pytest.param("Executor task l", "Java: tasks, which read rows and hand them to Python", id="a task"),
        pytest.param("Thread-4", "Java: calls from Python", id="a call of py4j"),
        pytest.param("dag-scheduler-e", OTHERS, id="whatever else"),
    ],
)
def test_threads_of_java_are_told_apart_by_their_names(thread: str, does: str) -> None:
    assert purpose(thread) == does


def test_this_process_counts_as_the_driver() -> None:
    before = spent()[DRIVER]
    sum(number * number for number in range(3_000_000))
    assert spent()[DRIVER] > before

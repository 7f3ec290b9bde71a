from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drover.errors import DroverError
from drover.spark.worker_python import check_workers, has_drover, missing


def spark_on(master: str, python: str, error: Exception | None = None) -> Any:
    """Return something like a session; a task on it raises `error`."""

    class Tasks:
        def map(self, _: Callable[[object], str]) -> Tasks:
            return self

        def collect(self) -> list[str]:
            if error is not None:
                raise error
            return ["drover"]

    context = SimpleNamespace(master=master, pythonExec=python, parallelize=lambda *_: Tasks())
    return SimpleNamespace(sparkContext=context)


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A Python without drover."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nexec env -u PYTHONPATH {sys.executable} -I -S "$@"\n')
    path.chmod(0o700)
    return str(path)


def test_a_local_python_without_drover_is_refused_with_the_way_out(bare: str) -> None:
    with pytest.raises(DroverError) as caught:
        check_workers(spark_on("local[2]", bare))
    assert str(caught.value) == missing(bare, "this machine")
    assert "Set PYSPARK_PYTHON to a Python that can" in str(caught.value)
    assert sys.executable in str(caught.value)


def test_the_python_of_the_driver_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drover.spark.worker_python.subprocess.run", lambda *_, **__: pytest.fail("it costs time"))
    has_drover.cache_clear()
    check_workers(spark_on("local[*]", sys.executable))
    check_workers(spark_on("local", "no-such-python"))  # Spark says that better


def test_another_python_with_drover_will_do(tmp_path: Path) -> None:
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    path.chmod(0o700)
    check_workers(spark_on("local[2]", str(path)))


def test_an_executor_without_drover_is_refused_and_other_errors_are_left_to_the_run() -> None:
    lacking = RuntimeError("Job aborted ... ModuleNotFoundError: No module named 'drover'\n at java.lang.Thread")
    with pytest.raises(DroverError, match="on the executors, which cannot import drover"):
        check_workers(spark_on("spark://host:7077", "python3", lacking))
    check_workers(spark_on("spark://host:7077", "python3", RuntimeError("lost an executor")))
    check_workers(spark_on("yarn", "python3"))

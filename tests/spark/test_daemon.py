"""The process that workers are forked from."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType

import pytest

from drover.spark.daemon import GONE, quiet, silence_broken_pipe

PLANNED = """
from drover.spark.replay import replay
from drover.spark.session import session

spark = session("planned", "local[1]")
query = replay(spark, spark.sql("SELECT now() AS ts"), time="ts").writeStream.format("noop").start()
query.processAllAvailable()
query.stop()
spark.stop()
"""
THREADS = "import os, drover.spark.daemon; print(len(os.listdir('/proc/self/task')))"


def break_off(*_: object) -> int:
    raise BrokenPipeError


def fail(*_: object) -> int:
    raise OSError("disk full")


def test_a_worker_whose_java_has_gone_ends_without_a_word() -> None:
    assert quiet(break_off)("socket", True) == GONE


def test_all_else_is_as_spark_has_it() -> None:
    assert quiet(lambda *args: 7 if args[1] else 0)("socket", True) == 7
    with pytest.raises(OSError, match="disk full"):
        quiet(fail)("socket", True)


def daemon_like(name: str) -> ModuleType:
    main = ModuleType("__main__")
    main.__spec__ = ModuleSpec(name, None)
    main.worker = FunctionType(break_off.__code__, main.__dict__)  # type: ignore[attr-defined]  # one of its own
    return main


def test_a_planner_of_sparks_own_daemon_is_made_quiet_once() -> None:
    main = daemon_like("pyspark.daemon")
    silence_broken_pipe(main)
    assert main.worker("socket", True) == GONE
    quieted = main.worker
    silence_broken_pipe(main)
    assert main.worker is quieted


def test_no_other_process_is_touched() -> None:
    main = daemon_like("some.program")
    silence_broken_pipe(main)
    with pytest.raises(BrokenPipeError):
        main.worker()


@pytest.mark.slow
def test_spark_imports_what_makes_its_planners_quiet() -> None:
    found = subprocess.run([sys.executable, "-c", PLANNED], capture_output=True, text=True, check=True, timeout=280)
    assert found.stderr == ""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_it_has_no_threads_that_a_fork_would_copy_half() -> None:
    found = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "1"

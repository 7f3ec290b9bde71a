"""The process that workers are forked from."""

from __future__ import annotations

import subprocess
import sys

import pytest

from drover.spark.daemon import GONE, quiet

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


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_it_has_no_threads_that_a_fork_would_copy_half() -> None:
    found = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "1"

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from signal import SIGINT, SIGTERM

import pytest

from tests.spark.chaos.processes import RunProcess, ignores, kill_all, process_of, processes_of, send
from tests.spark.chaos.strikes import Role, Way

PROGRAM = """\
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], process_group=0)
print("ready", flush=True)
child.wait()
time.sleep(60)
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found as Linux tells them")


@pytest.fixture
def leader() -> Iterator[int]:
    """A process with a session of its own and a child in another group."""
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        kill_all(process.pid)


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 10
    while process_of(pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def state_of(pid: int) -> str:
    found = process_of(pid)
    return "" if found is None else found.state


@pytest.mark.parametrize(
    ("pid", "group", "command", "role"),
    [
        pytest.param(7, 7, b"python\0-m\0x", Role.DRIVER, id="the driver leads the session"),
        pytest.param(8, 7, b"java\0org.apache.spark.deploy.SparkSubmit\0pyspark-shell", Role.JAVA, id="its Java"),
        pytest.param(9, 7, b"java\0x.CoarseGrainedExecutorBackend\0--driver-url", Role.EXECUTOR, id="an executor"),
        pytest.param(10, 10, b"python\0-m\0drover.spark.daemon", Role.DAEMON, id="the daemon leads a group"),
        pytest.param(11, 10, b"python\0-m\0drover.spark.daemon", Role.WORKER, id="a worker is in that group"),
        pytest.param(12, 7, b"chmod\0x", None, id="something else"),
    ],
)
def test_the_role_of_a_process(pid: int, group: int, command: bytes, role: Role | None) -> None:
    assert RunProcess(pid, group, 7, "S", command).role is role


def test_an_executor_has_the_name_that_spark_gave_it() -> None:
    command = b"java\0x.CoarseGrainedExecutorBackend\0--driver-url\0spark://d\0--executor-id\x0012\0--cores\x001"
    assert RunProcess(9, 7, 7, "S", command).executor == "12"
    assert RunProcess(7, 7, 7, "S", b"python\0-m\0x").executor is None


def test_processes_of_a_session_are_found_after_their_parent_has_died(leader: int) -> None:
    found = {one.pid: one for one in processes_of(leader)}
    assert found[leader].role is Role.DRIVER
    (child,) = found.keys() - {leader}
    assert found[child].group == child
    send(leader, Way.KILL, 0.0)
    wait_for_end(leader)
    assert [one.pid for one in processes_of(leader)] == [child]
    assert [one.pid for one in kill_all(leader)] == [child]
    wait_for_end(child)


def test_ignored_signals_are_reported(leader: int) -> None:
    assert ignores(leader, SIGINT)
    assert not ignores(leader, SIGTERM)
    send(leader, Way.INTERRUPT, 0.0)
    assert process_of(leader) is not None


def test_a_process_goes_on_after_a_pause(leader: int) -> None:
    send(leader, Way.PAUSE, 0.05)
    assert state_of(leader) not in {"", "T"}


@pytest.mark.parametrize("way", [Way.KILL, Way.TERMINATE, Way.FREEZE])
def test_a_process_ends(leader: int, way: Way) -> None:
    send(leader, way, 0.05)
    wait_for_end(leader)

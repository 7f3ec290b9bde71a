"""The processes of a run, as Linux tells of them: the driver, its Java, executors and Python workers.

Rule 1: every process of a run is in the session of its driver, whoever its parent is by now. So nothing is missed when
parents have died.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.spark.chaos.strikes import Role, Way

PROC: Final = Path("/proc")
DEAD: Final = frozenset("ZX")  # states of processes that are gone but for their exit code


@dataclass(frozen=True, slots=True)
class RunProcess:
    """One process of a run."""

    pid: int
    group: int
    session: int
    state: str  # one letter, as in /proc
    command: bytes

    @property
    def role(self) -> Role | None:
        """What it is to the run; None for a shell or another helper."""
        if self.pid == self.session:
            return Role.DRIVER
        if b"org.apache.spark.deploy.SparkSubmit" in self.command:
            return Role.JAVA
        if b"CoarseGrainedExecutorBackend" in self.command:
            return Role.EXECUTOR
        if b"drover.spark.daemon" in self.command:
            # The daemon has a group of its own, which its workers are in.
            return Role.DAEMON if self.pid == self.group else Role.WORKER
        return None

    @property
    def executor(self) -> str | None:
        """The name that Spark has given an executor; None for any other process."""
        words = self.command.split(b"\0")
        return words[words.index(b"--executor-id") + 1].decode() if b"--executor-id" in words else None


def process_of(pid: int) -> RunProcess | None:
    """Return a process; None if there is no such process, or nothing but its exit code."""
    with contextlib.suppress(OSError):
        # The name of a program, in brackets, may have blanks and brackets.
        fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        state, _parent, group, session = fields[:4]
        if state not in DEAD:
            return RunProcess(pid, int(group), int(session), state, (PROC / str(pid) / "cmdline").read_bytes())
    return None


def processes_of(session: int) -> Iterator[RunProcess]:
    """Yield the processes of the run whose driver began this session."""
    for path in PROC.glob("[0-9]*"):
        found = process_of(int(path.name))
        if found is not None and found.session == session:
            yield found


def ignores(pid: int, number: signal.Signals) -> bool:
    """Return whether a process ignores a signal."""
    for line in (PROC / str(pid) / "status").read_text(encoding="utf-8").splitlines():
        if line.startswith("SigIgn:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def send(pid: int, way: Way, pause: float) -> None:
    """Send the signals of a way; between two of them, wait for `pause` seconds."""
    first, *second = {
        Way.KILL: (signal.SIGKILL,),
        Way.TERMINATE: (signal.SIGTERM,),
        Way.INTERRUPT: (signal.SIGINT, signal.SIGINT),
        Way.PAUSE: (signal.SIGSTOP, signal.SIGCONT),
        Way.FREEZE: (signal.SIGSTOP, signal.SIGKILL),
    }[way]
    os.kill(pid, first)
    for number in second:
        time.sleep(pause)
        with contextlib.suppress(ProcessLookupError):  # the first signal was enough, or Spark has ended it meanwhile
            os.kill(pid, number)


def kill_all(session: int) -> list[RunProcess]:
    """Kill what is left of a run, and return it."""
    left = list(processes_of(session))
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    return left

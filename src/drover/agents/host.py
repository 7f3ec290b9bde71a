"""Starts and stops operators for an agent: it reports them as lines on its output, and can lock each one.

Rule 1: an operator is locked before it is reported as started, and unlocked after it is reported as stopped.
Rule 2: a fence is a folder with one lock file per running operator. The system releases the locks when a process dies.
Agents that share a fence cannot run an operator twice, even if everything else fails. They must share a machine, or a
file system that supports such locks.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from drover.errors import StateError
from drover.hierarchy.messages import Action, Start

Report = Callable[[dict[str, object]], None]


class Host:
    """The operators of one node."""

    def __init__(self, operators: Sequence[str], report: Report, fence: Path | None = None) -> None:
        self._names = operators
        self._report = report
        self._fence = fence
        self._running: dict[int, int | None] = {}  # by operator: descriptor of its lock file, or None
        try:
            if fence is not None:
                fence.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(str(fence), "a folder", str(error.strerror), "Set --fence to a folder.") from error

    def apply(self, actions: Iterable[Action]) -> None:
        """Start and stop operators, in order."""
        for action in actions:
            names = [self._names[operator] for operator in action.operators]
            if isinstance(action, Start):
                for operator in action.operators:
                    self._acquire(operator)
                self._report({"started": names})
            else:
                self._report({"stopped": names})
                for operator in action.operators:
                    self._release(operator)

    def close(self) -> None:
        """Stop all operators."""
        running = list(self._running)
        try:
            if running:
                self._report({"stopped": [self._names[operator] for operator in running]})
        finally:
            for operator in running:
                self._release(operator)

    def _acquire(self, operator: int) -> None:
        self._running[operator] = None if self._fence is None else self._lock(self._fence, operator)

    def _lock(self, fence: Path, operator: int) -> int:
        path = fence / f"{operator}.lock"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            way_out = "Correct its permissions, or allow more open files (ulimit -n): each running operator needs one."
            raise StateError(str(path), "a file to lock", str(error.strerror), way_out) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            name = self._names[operator]
            way_out = "Stop the process that runs it; the lock file does not name it."
            raise StateError(str(path), f"{name} to run nowhere else", "a lock of another process", way_out) from error
        return descriptor

    def _release(self, operator: int) -> None:
        descriptor = self._running.pop(operator)
        if descriptor is not None:
            os.close(descriptor)

"""What runs operators on behalf of an agent: whoever reads its lines, behind a fence if one is asked for.

Rule 1: `stop` returns when operators have stopped, and `start` only if nobody else runs them.
Rule 2: a fence is a folder of lock files, one for each operator that runs; the system lets go of them when a process
dies. Agents on one machine, or on a disk that passes locks on, could not run an operator twice if all else were wrong.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from drover.errors import StateError
from drover.hierarchy.messages import Action, Start

Tell = Callable[[dict[str, object]], None]


class Host:
    """Operators of one node."""

    def __init__(self, operators: Sequence[str], tell: Tell, fence: Path | None = None) -> None:
        self._names, self._tell, self._fence = operators, tell, fence
        self._running: dict[int, int | None] = {}  # by operator: the open file whose lock is held, if there is a fence
        try:
            if fence is not None:
                fence.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(str(fence), "a folder", str(error.strerror), "Name a folder for --fence.") from error

    def do(self, actions: Iterable[Action]) -> None:
        """Start and stop operators, in order."""
        for action in actions:
            names = [self._names[operator] for operator in action.operators]
            if isinstance(action, Start):
                for operator in action.operators:
                    self._enter(operator)
                self._tell({"started": names})
            else:
                self._tell({"stopped": names})
                for operator in action.operators:
                    self._leave(operator)

    def close(self) -> None:
        """Stop everything."""
        running = list(self._running)
        try:
            if running:
                self._tell({"stopped": [self._names[operator] for operator in running]})
        finally:
            for operator in running:
                self._leave(operator)

    def _enter(self, operator: int) -> None:
        self._running[operator] = None if self._fence is None else self._locked(self._fence, operator)

    def _locked(self, fence: Path, operator: int) -> int:
        path = fence / f"{operator}.lock"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            way_out = "Correct its rights, or allow more open files (ulimit -n): each operator that runs has one."
            raise StateError(str(path), "a file to lock", str(error.strerror), way_out) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            name, way_out = self._names[operator], "Stop whoever runs it; its file tells no more than that."
            raise StateError(str(path), f"{name} to run nowhere else", "that it does", way_out) from error
        return descriptor

    def _leave(self, operator: int) -> None:
        descriptor = self._running.pop(operator)
        if descriptor is not None:
            os.close(descriptor)

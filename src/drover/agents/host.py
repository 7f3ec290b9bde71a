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
        self._held: dict[int, int] = {}  # by operator: the open file whose lock is held
        if fence is not None:
            fence.mkdir(parents=True, exist_ok=True)

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
        if self._held:
            self._tell({"stopped": [self._names[operator] for operator in self._held]})
        for operator in list(self._held):
            self._leave(operator)

    def _enter(self, operator: int) -> None:
        if self._fence is None:
            return
        path = self._fence / f"{operator}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            name, way_out = self._names[operator], "Stop whoever runs it; its file tells no more than that."
            raise StateError(str(path), f"{name} to run nowhere else", "that it does", way_out) from error
        self._held[operator] = descriptor

    def _leave(self, operator: int) -> None:
        descriptor = self._held.pop(operator, None)
        if descriptor is not None:
            os.close(descriptor)

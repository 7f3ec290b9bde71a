"""The operators of one node: which ones its runner has, which it still has to stop, and the lock of each.

Rule 1: an operator is locked before the runner is told to start it. It is unlocked when the runner has acknowledged
that it has stopped, not when the runner is told to stop it.
Rule 2: a hand-over leaves after the operators are unlocked. The receiver can lock them at once.
Rule 3: a fence is a folder with one lock file per running operator. The system releases the locks when a process dies.
Agents that share a fence cannot run an operator twice, even if everything else fails. They must share a machine, or a
file system that supports such locks.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from drover.agents.runner import NodeRunner, Report, Warn
from drover.agents.stop_ledger import StopLedger, StopRequest, refusal
from drover.errors import StateError
from drover.hierarchy.messages import Action, Message, Start

SLOW: Final = 10.0  # seconds after which a missing acknowledgement is reported
WARNINGS: Final = 100  # ignored acknowledgements that are reported; more could fill a disk


class Host:
    """The operators of one node, from `begin` on."""

    def __init__(
        self, operators: Sequence[str], runner: NodeRunner, report: Report, warn: Warn, fence: Path | None = None
    ) -> None:
        self.runner = runner
        self._names = operators
        self._report = report
        self._warn = warn
        self._fence = fence
        self._running: dict[int, int | None] = {}  # by operator: descriptor of its lock file, or None
        self._ledger = StopLedger(0)
        self._again: set[tuple[str, int]] = set()  # open requests, and their operators that were started since
        self._slow: set[str] = set()  # requests whose delay was reported
        self._ignored = 0
        try:
            if fence is not None:
                fence.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(str(fence), "a folder", str(error.strerror), "Set --fence to a folder.") from error

    def begin(self, life: int, stopped: Iterable[int], now: float) -> None:
        """Begin a life of the agent; `stopped` holds the operators of hand-overs without an answer.

        The runner may still have them, if the agent died before it could tell or before the acknowledgement came.
        """
        self._ledger = StopLedger(life)
        operators = tuple(sorted(stopped))
        if operators:
            for operator in operators:
                self._running[operator] = self._lock_again(operator)
            self._stop(operators, now)

    def apply(self, actions: Iterable[Action], messages: Iterable[Message], now: float) -> list[Message]:
        """Tell the runner to start and stop operators, in order; return the messages that may leave now."""
        for action in actions:
            if isinstance(action, Start):
                for operator in action.operators:
                    self._start(operator)
                self.runner.start(self._named(action.operators))
            else:
                self._stop(action.operators, now)
        return self._ledger.hold_back(messages)

    def acknowledge(self, number: str) -> list[Message]:
        """Unlock what the runner has stopped; return the hand-overs that may leave now."""
        ended, messages = self._ledger.acknowledge(number)
        if ended is None:
            if self._ignored < WARNINGS:
                self._ignored += 1
                self._warn(refusal(number, self._ledger.open))
            return []
        self._report({"stopped": self._named(ended.operators), "request": number})
        for operator in ended.operators:
            if (number, operator) in self._again:
                self._again.remove((number, operator))
            else:
                self._release(operator)
        return messages

    def stop_all(self, now: float) -> None:
        """Tell the runner to stop everything that it still runs."""
        stopping = self._ledger.unstopped - {operator for _, operator in self._again}
        operators = tuple(operator for operator in self._running if operator not in stopping)
        if operators:
            self._stop(operators, now)

    def report_slow(self, now: float) -> None:
        """Report each request that waits for long, once."""
        for request in self._ledger.overdue(now - SLOW):
            if request.number not in self._slow:
                self._slow.add(request.number)
                self._warn(
                    f"the runner has not acknowledged request {request.number} for {SLOW:g} s: stop "
                    f"{', '.join(self._named(request.operators))}. They stay on this node, and it takes part in no "
                    f"other round. Stop them, and acknowledge by: stopped {request.number}."
                )

    def unacknowledged(self) -> list[str]:
        """Return the operators that the runner was told to stop and may still run."""
        return self._named(sorted(self._ledger.unstopped))

    def close(self) -> None:
        """Release all locks."""
        for operator in list(self._running):
            self._release(operator)

    def _start(self, operator: int) -> None:
        """Lock an operator, unless it is locked.

        A restarted agent may learn that nobody took an operator before its runner has acknowledged the stop. That
        acknowledgement must not unlock it.
        """
        self._again |= {(one.number, operator) for one in self._ledger.open.values() if operator in one.operators}
        if self._running.get(operator) is None:
            self._running[operator] = self._lock(operator)

    def _stop(self, operators: Sequence[int], now: float) -> None:
        request: StopRequest = self._ledger.request(operators, now)
        self.runner.stop(self._named(operators), request.number)

    def _named(self, operators: Iterable[int]) -> list[str]:
        return [self._names[operator] for operator in operators]

    def _lock(self, operator: int) -> int | None:
        if self._fence is None:
            return None
        descriptor = self._open(self._fence, operator)
        if not _locked(descriptor):
            path = self._fence / f"{operator}.lock"
            name = self._names[operator]
            way_out = "Stop the process that runs it; the lock file does not name it."
            raise StateError(str(path), f"{name} to run nowhere else", "a lock of another process", way_out)
        return descriptor

    def _lock_again(self, operator: int) -> int | None:
        """Lock an operator of a hand-over, unless its receiver has: then the hand-over has arrived and been taken."""
        if self._fence is None:
            return None
        descriptor = self._open(self._fence, operator)
        return descriptor if _locked(descriptor) else None

    def _open(self, fence: Path, operator: int) -> int:
        path = fence / f"{operator}.lock"
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            way_out = "Correct its permissions, or allow more open files (ulimit -n): each running operator needs one."
            raise StateError(str(path), "a file to lock", str(error.strerror), way_out) from error

    def _release(self, operator: int) -> None:
        descriptor = self._running.pop(operator)
        if descriptor is not None:
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Lock a file and return True; if another process has locked it, close it and return False."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return False
    return True

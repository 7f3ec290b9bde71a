"""What goes wrong at the storage calls of a run, and when.

Rule 1: every call asks `before`, in order. So a fault is a number of calls from now, and a seed replays it exactly.
Rule 2: a run that has died makes no more calls: each of them raises again, whatever handler makes it.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from enum import StrEnum

from tests.simulation.clock import VirtualClock


class RunDiedError(BaseException):
    """The end of a run whose process dies. No handler for errors catches it."""


class WorkerKilledError(BaseException):
    """The end of a Python worker in the middle of a task. The run goes on."""


class FaultKind(StrEnum):
    """What happens at a storage call."""

    KILL = "the process is killed"
    POWER = "the power is cut"
    FULL = "the disk is full"
    BROKEN = "the disk reports an error"
    SLOW = "the disk is slow"
    WORKER = "a worker is killed"


ERRORS = {FaultKind.FULL: errno.ENOSPC, FaultKind.BROKEN: errno.EIO}
DEADLY = frozenset({FaultKind.KILL, FaultKind.POWER})
SLOWNESS = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that lasts for some calls, from a number of calls from now on."""

    kind: FaultKind
    after: int
    calls: int = 1


@dataclass(slots=True)
class Faults:
    """Counts storage calls, and lets them fail as drawn."""

    clock: VirtualClock
    calls: int = 0
    dead: FaultKind | None = None
    death: str = ""  # what happened, and at which call
    in_task: bool = False  # whether the calls are those of a worker
    worker_dead: bool = False
    trace: list[str] | None = None  # every call, if wanted
    _next: Fault | None = None
    _at: int = 0
    _left: int = 0  # calls that the fault still lasts
    struck: list[Fault] = field(default_factory=list)  # faults that came true

    def plan(self, fault: Fault | None) -> None:
        """Let a fault happen; it replaces the one before."""
        self._next = fault
        self._left = 0
        self._at = 0 if fault is None else self.calls + fault.after

    def before(self, call: str, path: str, *, writes: bool) -> None:
        """Count a call, and raise if it is to fail."""
        if self.dead is not None:
            raise RunDiedError(self.death)
        if self.worker_dead:
            raise WorkerKilledError
        self.calls += 1
        if self.trace is not None:
            self.trace.append(f"{call} {path}")
        fault = self._next
        if fault is None or self.calls < self._at or (fault.kind is FaultKind.WORKER and not self.in_task):
            return
        if not self._left:
            self.struck.append(fault)
            self._left = fault.calls
        self._left -= 1
        if not self._left or fault.kind not in ERRORS:
            self._next = None
        self._strike(fault.kind, f"{call} {path}", writes=writes)

    def _strike(self, kind: FaultKind, what: str, *, writes: bool) -> None:
        if kind in DEADLY:
            self.dead = kind
            self.death = f"{kind} at call {self.calls}: {what}"
            raise RunDiedError(self.death)
        if kind is FaultKind.WORKER:
            self.worker_dead = True
            raise WorkerKilledError
        if kind is FaultKind.SLOW:
            self.clock.advance(SLOWNESS)
        elif writes or kind is FaultKind.BROKEN:
            raise OSError(ERRORS[kind], os.strerror(ERRORS[kind]), what)

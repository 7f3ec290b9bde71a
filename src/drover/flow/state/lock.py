"""One run per checkpoint.

Rule 1: the system keeps the lock, not the file: it ends with the process that holds it, however that dies.
Rule 2: the file only says who; nobody deletes it, since a lock on a deleted file keeps nobody out.
Rule 3: programs that the holder starts do not get the lock; only a plain `fork` would share it.

This works on a disk of this machine, and on network disks that pass `flock` on. On object stores and HDFS there is
no lock: a lease there needs a clock and renewal, and is left out. Two runs are then kept from mixing their state by
the commits alone, which notice a batch that somebody else committed and a link that does not fit.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Self

from pyarrow.fs import FileSystem

from drover.errors import LockedError, StateError
from drover.flow.state.layout import LOCK
from drover.flow.state.storage import join, local_path

NO_LOCK = "This file system has no lock that ends with its run: make sure that no other run uses the checkpoint."


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lock, as the next one will be told."""

    pid: int
    host: str
    since: str  # a time as people write it; the caller has the clock

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class Lock:
    """A checkpoint held by this process, until `release` or its end; a context manager.

    `note` is empty, or says why there is no lock on this file system.
    """

    def __init__(self, descriptor: int | None, note: str = "") -> None:
        self._descriptor = descriptor
        self.note = note

    def release(self) -> None:
        """Let the next run in; a second call does nothing."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def hold(fs: FileSystem, root: str, holder: Holder) -> Lock:
    """Take the lock of a checkpoint, or raise LockedError with who has it."""
    path = local_path(fs, join(root, LOCK))
    if path is None:
        return Lock(None, NO_LOCK)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StateError(
            str(path), "to open it", str(error), "Correct the path of the checkpoint or its rights."
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(holder)).encode("ascii"), 0)
    except BlockingIOError as error:
        who = _read(descriptor)
        os.close(descriptor)
        raise LockedError(
            root, "a checkpoint that no run works on", who, "Stop that run first, or give this one another checkpoint."
        ) from error
    except OSError as error:
        os.close(descriptor)
        raise StateError(str(path), "to lock it", str(error), "Put the checkpoint on a disk that has locks.") from error
    return Lock(descriptor)


def holder(fs: FileSystem, root: str) -> Holder | None:
    """Return who works on a checkpoint, or None if nobody does or if it cannot be told; nobody is kept out by asking.

    The lock is tried only if the file names a process that is alive: a run that begins just then would be refused.
    """
    path = local_path(fs, join(root, LOCK))
    try:
        descriptor = -1 if path is None else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    if descriptor < 0:
        return None
    who = _holder(descriptor)
    try:
        if who is None or (who.host == socket.gethostname() and not _lives(who.pid)):
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return who
    finally:
        os.close(descriptor)
    return None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _holder(descriptor: int) -> Holder | None:
    """Return who the file says holds the lock; None if it says nobody, or not yet who."""
    try:
        said = json.loads(os.pread(descriptor, 4096, 0))
        return Holder(int(said["pid"]), str(said["host"]), str(said["since"]))
    except (ValueError, KeyError, TypeError):
        return None


def _read(descriptor: int) -> str:
    """Return who the file says holds the lock, as well as it can be told."""
    who = _holder(descriptor)
    # Between taking the lock and saying who, the file is empty.
    return "that another run does, which has just begun" if who is None else f"that {who} does"

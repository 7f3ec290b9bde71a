"""One run per checkpoint.

Rule 1: the operating system holds the lock, not the file. It ends with its process, however that dies.
Rule 2: the file only names the process. Nobody deletes the file: a lock on a deleted file keeps nobody out.
Rule 3: programs that the process starts do not inherit the lock, as with every file that Python opens; only a plain
`fork` would share it.

This works on a local disk, and on network disks that support `flock`. Object stores and HDFS have no such lock, and a
lease would need a clock and renewal. There, only the commits keep two runs from mixing their state: they detect a batch
that another run has committed, and a link that does not fit.
"""

from __future__ import annotations

import contextlib
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
    """The process that holds the lock, as the error of a second run names it."""

    pid: int
    host: str
    since: str  # a time, formatted by the caller, who has the clock

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
        """Release the checkpoint for the next run; a second call does nothing."""
        if self._descriptor is not None:
            # The file only names the process, so a disk that refuses the call must not keep the lock.
            with contextlib.suppress(OSError):
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
    """Take the lock of a checkpoint; LockedError names the process that has it."""
    path = local_path(fs, join(root, LOCK))
    if path is None:
        return Lock(None, NO_LOCK)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise StateError(
            str(path), "to open it", str(error), "Correct the path of the checkpoint or its rights."
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        who = _read(descriptor)
        os.close(descriptor)
        raise LockedError(
            root, "a checkpoint that no run works on", who, "Stop that run first, or give this one another checkpoint."
        ) from error
    except OSError as error:
        os.close(descriptor)
        raise StateError(str(path), "to lock it", str(error), "Put the checkpoint on a disk that has locks.") from error
    try:
        # Not before the lock is held: this would erase the name of another holder.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(holder)).encode("ascii"), 0)
    except OSError as error:
        os.close(descriptor)
        raise StateError(str(path), "to write it", str(error), "Free space, and start again.") from error
    return Lock(descriptor)


def holder(fs: FileSystem, root: str) -> Holder | None:
    """Return the process that uses a checkpoint, or None if there is none or the file system has no locks.

    This tries the lock only if the file names a live process: while it is tried, a new run would be refused.
    """
    path = local_path(fs, join(root, LOCK))
    if path is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
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
        os.kill(pid, 0)  # signal 0 only checks that the process exists
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # a process of another user
        return True
    return True


def _holder(descriptor: int) -> Holder | None:
    """Return the process that the file names; None if it names none, or none yet."""
    try:
        said = json.loads(os.pread(descriptor, 4096, 0))
        return Holder(int(said["pid"]), str(said["host"]), str(said["since"]))
    except (ValueError, KeyError, TypeError):
        return None


def _read(descriptor: int) -> str:
    """Return the holder of the lock as words for an error."""
    who = _holder(descriptor)
    # A new holder takes the lock first and writes its name afterwards: in between, the file is empty.
    return "that another run does, which has just begun" if who is None else f"that {who} does"

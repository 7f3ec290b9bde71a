from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from drover.errors import LockedError, StateError
from drover.flow.state.lock import Holder, hold, holder
from tests.flow.state.faults import broken

LOCAL = LocalFileSystem()
ME = Holder(42, "here", "2024-05-01 12:00")
THIS = Holder(os.getpid(), socket.gethostname(), "today")
PROGRAM = """
import sys, time
from pyarrow.fs import LocalFileSystem
from drover.flow.state.lock import Holder, hold
lock = hold(LocalFileSystem(), sys.argv[1], Holder(77, "other-host", "yesterday"))
print("held", flush=True)
time.sleep(600)
"""


@contextmanager
def other_run(root: Path) -> Iterator[None]:
    """A process that holds the lock, and is killed at the end of the block: nothing is tidied up."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(root)], stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield
        finally:  # a test that fails must not wait for the process
            process.kill()


def test_a_second_run_is_told_who_was_first(tmp_path: Path) -> None:
    with other_run(tmp_path):
        with pytest.raises(LockedError) as caught:
            hold(LOCAL, str(tmp_path), ME)
        for word in (str(tmp_path), "process 77 on other-host, since yesterday", "another checkpoint"):
            assert word in str(caught.value)
    with hold(LOCAL, str(tmp_path), ME) as lock:
        assert lock.note == ""


def test_of_many_runs_one_gets_in(tmp_path: Path) -> None:
    racing = PROGRAM.replace("time.sleep(600)", "sys.stdin.read()")
    command = [sys.executable, "-c", racing, str(tmp_path)]
    runs = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(5)
    ]
    said = [run.stdout.readline() for run in runs if run.stdout is not None]
    assert sorted(said) == ["", "", "", "", "held\n"]
    for run in runs:
        run.communicate()
    assert sorted(run.returncode for run in runs) == [0, 1, 1, 1, 1]


def test_a_lock_ends_with_its_block(tmp_path: Path) -> None:
    root = tmp_path / "new" / "root"
    with hold(LOCAL, str(root), ME) as lock:
        with pytest.raises(LockedError, match="process 42 on here"):
            hold(LOCAL, str(root), ME)
        lock.release()
        lock.release()
    hold(LOCAL, str(root), ME).release()
    assert (root / "lock").read_bytes() == b""


def test_a_disk_that_fails_does_not_keep_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, length: int) -> None:  # noqa: ARG001 - the signature of ftruncate
        raise OSError(5, "Input/output error")

    lock = hold(LOCAL, str(tmp_path), ME)
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", refuse)
        lock.release()
    hold(LOCAL, str(tmp_path), ME).release()


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"pid": "x", "host": 1, "since": null}'])
def test_who_holds_the_lock_may_not_be_told_yet(tmp_path: Path, text: str) -> None:
    with hold(LOCAL, str(tmp_path), ME):
        (tmp_path / "lock").write_text(text)
        with pytest.raises(LockedError, match="another run does, which has just begun"):
            hold(LOCAL, str(tmp_path), ME)


def test_a_place_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match=r"file/lock: expected to open it, but found .*File exists.*Correct the path"):
        hold(LOCAL, str(tmp_path / "file"), ME)


def test_a_disk_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:  # noqa: ARG001 - the signature of flock
        opened.append(descriptor)
        raise OSError(37, "No locks available")

    opened: list[int] = []
    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(StateError, match=r"/lock: expected to lock it, but found .*No locks.*a disk that has locks"):
        hold(LOCAL, str(tmp_path), ME)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


def test_other_file_systems_have_no_lock_and_say_so(tmp_path: Path) -> None:
    with hold(broken(None, kind="s3")[0], str(tmp_path), ME) as lock:
        assert "make sure that no other run" in lock.note
        hold(broken(None, kind="s3")[0], str(tmp_path), ME).release()


def test_a_shorter_name_replaces_a_longer_one(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("x" * 500)
    with hold(LOCAL, str(tmp_path), THIS):
        assert json.loads((tmp_path / "lock").read_text()) == asdict(THIS)


def test_the_file_of_the_lock_is_no_program(tmp_path: Path) -> None:
    with hold(LOCAL, str(tmp_path), THIS):
        assert (tmp_path / "lock").stat().st_mode & 0o111 == 0


def test_programs_that_the_process_starts_do_not_inherit_the_lock(tmp_path: Path) -> None:
    with hold(LOCAL, str(tmp_path), THIS) as lock, subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False):
        lock.release()
        hold(LOCAL, str(tmp_path), ME).release()


@pytest.mark.parametrize(
    "who",
    [
        pytest.param(THIS, id="this process"),
        pytest.param(ME, id="a process of another machine, which cannot be asked whether it lives"),
    ],
)
def test_who_uses_a_checkpoint_can_be_asked(tmp_path: Path, who: Holder) -> None:
    with hold(LOCAL, str(tmp_path), who):
        assert holder(LOCAL, str(tmp_path)) == who
    assert holder(LOCAL, str(tmp_path)) is None


def test_asking_creates_nothing_and_keeps_nobody_out(tmp_path: Path) -> None:
    assert holder(LOCAL, str(tmp_path)) is None
    assert holder(broken(None, kind="s3")[0], str(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "lock").write_text(json.dumps(asdict(THIS)))  # as a run leaves it that was killed
    assert holder(LOCAL, str(tmp_path)) is None
    hold(LOCAL, str(tmp_path), ME).release()


@pytest.mark.parametrize("pid", [pytest.param(None, id="one that has ended"), pytest.param(10**30, id="no number")])
def test_a_process_that_is_gone_is_no_holder(tmp_path: Path, pid: int | None) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    with hold(LOCAL, str(tmp_path), replace(THIS, pid=ended.pid if pid is None else pid)):
        assert holder(LOCAL, str(tmp_path)) is None


def test_a_process_of_another_user_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, signal: int) -> None:
        assert (pid, signal) == (THIS.pid, 0), "no signal may reach the process"
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", refuse)
    with hold(LOCAL, str(tmp_path), THIS):
        assert holder(LOCAL, str(tmp_path)) == THIS

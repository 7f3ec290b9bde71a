from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from drover.errors import LockedError, StateError
from drover.flow.state.lock import Holder, hold
from tests.flow.state.faults import broken

LOCAL = LocalFileSystem()
ME = Holder(42, "here", "2024-05-01 12:00")
PROGRAM = """
import sys, time
from pyarrow.fs import LocalFileSystem
from drover.flow.state.lock import Holder, hold
lock = hold(LocalFileSystem(), sys.argv[1], Holder(77, "other-host", "yesterday"))
print("held", flush=True)
time.sleep(600)
"""


def other_run(root: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(root)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_run_is_told_who_was_first(tmp_path: Path) -> None:
    with other_run(tmp_path) as process:
        with pytest.raises(LockedError) as caught:
            hold(LOCAL, str(tmp_path), ME)
        for word in (str(tmp_path), "process 77 on other-host, since yesterday", "another checkpoint"):
            assert word in str(caught.value)
        process.kill()  # as kill -9 does: nothing is tidied up
        process.wait()
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


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"pid": "x", "host": 1, "since": null}'])
def test_who_holds_the_lock_may_not_be_told_yet(tmp_path: Path, text: str) -> None:
    with hold(LOCAL, str(tmp_path), ME):
        (tmp_path / "lock").write_text(text)
        with pytest.raises(LockedError, match="another run does, which has just begun"):
            hold(LOCAL, str(tmp_path), ME)


def test_a_place_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="expected to open it"):
        hold(LOCAL, str(tmp_path / "file"), ME)


def test_other_file_systems_have_no_lock_and_say_so(tmp_path: Path) -> None:
    with hold(broken(None, kind="s3")[0], str(tmp_path), ME) as lock:
        assert "make sure that no other run" in lock.note
        hold(broken(None, kind="s3")[0], str(tmp_path), ME).release()

"""The address of an endpoint: private, complete, and valid only for the process that holds the checkpoint."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from drover.control import history
from drover.errors import DroverError
from drover.flow.state.lock import Holder, hold
from drover.flow.state.storage import open_root
from drover.spark.endpoint_file import FOLDER, NAME, EndpointAddress, read, working, write

HERE = socket.gethostname()
MINE = Holder(os.getpid(), HERE, "2026-01-01 00:00:00")


def address(machine: str = HERE) -> EndpointAddress:
    return EndpointAddress(4711, "secret", os.getpid(), machine)


def test_the_file_is_private_and_read_back(tmp_path: Path) -> None:
    path = write(tmp_path, address())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read(str(tmp_path), MINE) == address()
    assert [file.name for file in path.parent.iterdir()] == [NAME]
    assert "secret" not in repr(address())


def test_the_address_of_another_process_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, address())
    assert read(str(tmp_path), Holder(MINE.pid + 1, HERE, MINE.since)) is None


@pytest.mark.parametrize("content", ["", "[]", '{"port": 1}', "{"])
def test_a_file_that_no_run_wrote_is_ignored(tmp_path: Path, content: str) -> None:
    assert read(str(tmp_path), MINE) is None
    write(tmp_path, address()).write_text(content, encoding="ascii")
    assert read(str(tmp_path), MINE) is None


def test_a_run_on_another_machine_cannot_be_reached(tmp_path: Path) -> None:
    write(tmp_path, address("elsewhere"))
    with pytest.raises(DroverError, match="is on machine elsewhere"):
        read(str(tmp_path), Holder(MINE.pid, "elsewhere", MINE.since))


def test_only_a_held_checkpoint_has_a_process(tmp_path: Path) -> None:
    assert working(str(tmp_path)) is None
    with hold(*open_root(str(tmp_path)), MINE):
        assert working(str(tmp_path)) == MINE
    assert working(str(tmp_path)) is None


def test_the_folder_is_that_of_the_control_loop() -> None:
    assert FOLDER == history.FOLDER

"""Breadcrumbs: what a worker ran when it died, and nothing of a worker that lives."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drover.flow.breadcrumbs import FOLDER, breadcrumbs, read_breadcrumbs, sweep_breadcrumbs
from drover.flow.schedule import HopNode

DIES = """
import os, signal, sys, time
from drover.flow.breadcrumbs import breadcrumbs
from drover.flow.schedule import HopNode
with breadcrumbs(sys.argv[1], 7, HopNode(1, 2), "0-a", time.time) as mark:
    mark("operator", "a_rather_long_name")
    mark("family", "f")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_place_that_ends_leaves_nothing(tmp_path: Path) -> None:
    with breadcrumbs(str(tmp_path), 7, HopNode(0, 1), "0-a", time.time) as mark:
        assert read_breadcrumbs(str(tmp_path)) == []
        mark("operator", "a_rather_long_name")
        mark("operator", "b")
        (crumb,) = read_breadcrumbs(str(tmp_path), 7)
        assert (crumb.batch, crumb.hop, crumb.node, crumb.kind, crumb.name) == (7, 0, 1, "operator", "b")
        assert read_breadcrumbs(str(tmp_path), 8) == []
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_place_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with breadcrumbs(str(tmp_path), 7, HopNode(0, 1), "0-a", time.time) as mark:
            mark("operator", "b")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert read_breadcrumbs(str(tmp_path)) == []


def test_a_worker_that_dies_leaves_what_it_ran_last(tmp_path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=False, env=dict(os.environ))
    assert died.returncode < 0
    (crumb,) = read_breadcrumbs(str(tmp_path))
    assert (crumb.batch, crumb.hop, crumb.node, crumb.kind, crumb.name) == (7, 1, 2, "family", "f")
    sweep_breadcrumbs(str(tmp_path), 6)
    assert len(read_breadcrumbs(str(tmp_path))) == 1
    sweep_breadcrumbs(str(tmp_path), 7)
    assert read_breadcrumbs(str(tmp_path)) == []


def test_what_is_not_a_breadcrumb_is_ignored(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "000000000007-0-1-0-a.json").write_text('{"batch": ', encoding="utf-8")
    (tmp_path / FOLDER / "notes.txt").write_text("mine", encoding="utf-8")
    assert read_breadcrumbs(str(tmp_path)) == []
    sweep_breadcrumbs(str(tmp_path), 100)
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_written_does_not_stop_the_batch(tmp_path: Path) -> None:
    (tmp_path / FOLDER).touch()  # a file where the folder should be
    with breadcrumbs(str(tmp_path), 7, HopNode(0, 1), "0-a", time.time) as mark:
        mark("operator", "b")
    assert read_breadcrumbs(str(tmp_path)) == []

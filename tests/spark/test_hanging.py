"""The watch over a batch: what takes long is named, and what is quick is not."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from drover.flow.breadcrumbs import breadcrumbs, read_breadcrumbs
from drover.flow.schedule import HopNode
from drover.spark.hanging import LONG, describe_running, log_unfinished_work, long_running, watched
from tests.spark.test_quarantine import left_behind


def test_what_has_run_for_long_is_named(tmp_path: Path) -> None:
    with breadcrumbs(str(tmp_path), 4, HopNode(0, 1), "0-a", time.time) as mark:
        mark("operator", "slow")
        assert long_running(str(tmp_path), time.time()) == []
        ((crumb, seconds),) = long_running(str(tmp_path), time.time() + LONG + 50)
    assert describe_running(crumb, seconds) == "node 1 has been running operator slow for 60 s in batch 4"


def test_a_batch_that_takes_long_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    later = time.time() + 100
    with breadcrumbs(str(tmp_path), 4, HopNode(0, 1), "0-a", time.time) as mark:
        mark("family", "f1")
        with watched(str(tmp_path), 4, clock=lambda: later, every=0.01):
            for _ in range(500):
                if caplog.messages:
                    break
                time.sleep(0.01)
    assert "node 1 has been running the family of queries f1 for 100 s in batch 4" in caplog.messages[0]


def test_a_quick_batch_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), watched(str(tmp_path), 4):
        pass
    assert caplog.messages == []


def test_a_start_tells_where_the_last_run_ended(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    left_behind(tmp_path, 4, 0, 1, "f")
    left_behind(tmp_path, 3, 0, 0, "older")
    log_unfinished_work(str(tmp_path), 4)
    assert caplog.messages == ["the last run ended in batch 4 while node 1 ran operator f"]
    assert read_breadcrumbs(str(tmp_path)) == []

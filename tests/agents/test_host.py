from __future__ import annotations

from pathlib import Path

import pytest

from drover.agents.host import Host
from drover.errors import StateError
from drover.hierarchy.messages import Start, Stop


def test_a_fence_keeps_a_second_runner_out(tmp_path: Path) -> None:
    told: list[dict[str, object]] = []
    first, second = (Host(("mean", "alarm"), told.append, tmp_path) for _ in range(2))
    first.apply([Start((0, 1))])
    with pytest.raises(StateError, match="mean to run nowhere else"):
        second.apply([Start((0,))])
    first.apply([Stop((0,))])
    second.apply([Start((0,))])
    first.close()
    assert told == [
        {"started": ["mean", "alarm"]},
        {"stopped": ["mean"]},
        {"started": ["mean"]},
        {"stopped": ["alarm"]},
    ]


def test_what_runs_is_said_to_stop_in_the_end_with_and_without_a_fence() -> None:
    told: list[dict[str, object]] = []
    host = Host(("mean", "alarm"), told.append)
    host.apply([Start((0, 1)), Stop((1,))])
    host.close()
    assert told[-1] == {"stopped": ["mean"]}


def test_a_fence_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="Set --fence to a folder"):
        Host(("mean",), lambda _: None, tmp_path / "file")
    (tmp_path / "fence" / "0.lock").mkdir(parents=True)
    with pytest.raises(StateError, match="a file to lock"):
        Host(("mean",), lambda _: None, tmp_path / "fence").apply([Start((0,))])

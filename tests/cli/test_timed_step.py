from __future__ import annotations

import pytest

from drover.cli.timed_step import timed_step


def test_a_step_is_announced_and_timed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([10.0, 12.34])
    monkeypatch.setattr("drover.cli.timed_step.time.monotonic", lambda: next(times))
    seconds: dict[str, float] = {}
    with timed_step("starting Spark", seconds, "start"):
        assert capsys.readouterr().err == "starting Spark ...\n"
    assert seconds == {"start": 2.3}

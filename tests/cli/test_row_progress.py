from __future__ import annotations

import pytest

from drover.cli.row_progress import EVERY, show_row_progress


def test_without_a_terminal_there_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("drover.cli.row_progress.time.monotonic", lambda: now[0])
    with show_row_progress("X-fig1") as advance:
        advance(1, 9)  # too soon
        now[0] += EVERY
        advance(2, 9)
        advance(3, 9)  # too soon again
        advance(9, 9)  # the end is always shown
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "X-fig1: 2 of 9 rows\nX-fig1: 9 of 9 rows\n"


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with show_row_progress("X-fig1") as advance:
        advance(5, 9)
    assert "5/9" in capsys.readouterr().err

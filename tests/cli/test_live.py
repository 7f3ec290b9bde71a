from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from drover.cli.live import LineView, picture
from drover.cli.run_figures import RunFigures
from tests.cli.batches import entry


@pytest.fixture
def figures() -> RunFigures:
    figures = RunFigures(("east", "west"), ("suspects",), began=98.0)
    figures.add([entry(0, 10, [0.1, 0.0])], now=100.0)
    figures.add([entry(1, 30, [0.3, 0.2], node=1)], now=101.4)
    return figures


def test_the_picture_fits_a_small_terminal_and_has_no_control_characters(figures: RunFigures) -> None:
    figures.dead["east"] = 12
    figures.messages += ["plan 2: moving counts \x1b[2J"] * 5
    rows = [
        {"client": f"h{i}\x1b[2J", "requests": 12_345, "mean": 1.25, "at": datetime(2024, 5, 1, tzinfo=UTC)}
        for i in range(6)
    ]
    out = io.StringIO()
    Console(file=out, width=100, height=30).print(picture(figures, "traffic", ("last of 6", rows), 0.5))
    lines = out.getvalue().splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in out.getvalue()
    for word in (
        "east",
        "counts",
        "12,345",
        "50%",
        "2024-05-01 12:00",
        "moving counts",
        "12 rows of east did not fit",
        "█",
    ):
        assert word in out.getvalue()


def test_lines_are_printed_and_counted(figures: RunFigures, capsys: pytest.CaptureFixture[str]) -> None:
    with LineView(as_json=True) as display:
        display.show(figures, [entry(7, 1, [0.0])])
        display.add_message(figures, "moved \x1b")
    out, err = capsys.readouterr()
    assert out.startswith('{"batch": 7')
    assert err == "moved \\x1b\n"

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from drover.cli.board import Board, line_of
from drover.cli.live import Lines, picture


def entry(batch: int, rows: int, busy: list[float], node: int = 0) -> dict[str, Any]:
    sample = {"operator": "counts", "node": node, "hop": 0, "rows_in": rows, "busy": 0.2, "state_bytes": 1500}
    idle = {"operator": "small", "node": 1, "hop": 0, "rows_in": 0, "busy": 0.0, "state_bytes": 0}
    return {
        "batch": batch,
        "plan": 1,
        "nodes": len(busy),
        "hops": 2,
        "seconds": {"routing": 0.1, "nodes": 0.2, "compute": 0.5, "sinks": 0.1, "commit": 0.0},
        "rowsIn": {"east": rows},
        "rows": {"suspects": 2},
        "watermarks": {"east": 1_714_564_800_000_000},
        "busy": busy,
        "samples": [idle, sample],
    }


@pytest.fixture
def board() -> Board:
    board = Board(("east", "west"), ("suspects",), began=98.0)
    board.take([entry(0, 10, [0.1, 0.0])], now=100.0)
    board.take([entry(1, 30, [0.3, 0.2], node=1)], now=101.4)
    return board


def test_rates_are_over_the_time_of_the_recent_batches(board: Board) -> None:
    assert board.span == pytest.approx(2.0)
    assert board.rate("east") == pytest.approx(20.0)
    assert board.rate("west") == 0.0
    assert board.loads() == pytest.approx([0.2, 0.1])
    assert (board.batches, board.rows_in["east"], board.rows_out["suspects"]) == (2, 40, 4)
    assert board.per_batch == pytest.approx(0.6)
    assert board.event_time == datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_old_batches_do_not_count_but_the_last_one_stays(board: Board) -> None:
    board.take([entry(2, 5, [0.0])], now=120.0)
    board.take([], now=140.0)
    assert board.rate("east") == pytest.approx(5 / (140.0 - 101.4))
    assert board.loads() == [0.0]


def test_the_hottest_operator_is_first_and_where_it_is_now(board: Board) -> None:
    hot = board.hottest()[0]
    assert (hot.operator, hot.node, hot.state_bytes) == ("counts", 1, 1500)
    assert hot.busy == pytest.approx(0.2)
    assert board.homes() == {1: ["small", "counts"]}


def test_a_batch_is_one_line() -> None:
    assert line_of(entry(3, 1200, [0.1, 0.02])) == (
        "batch 3: 1,200 from east; gave 2 suspects; 0.60 s, nodes busy 100 20 ms"
    )


def test_the_picture_fits_a_small_terminal_and_steers_nothing(board: Board) -> None:
    board.messages += ["plan 2: moving counts \x1b[2J"] * 5
    rows = [{"client": f"h{i}\x1b[2J", "requests": 12_345, "mean": 1.25, "at": datetime(2024, 5, 1, tzinfo=UTC)}
            for i in range(6)]  # fmt: skip
    out = io.StringIO()
    Console(file=out, width=100, height=30).print(picture(board, "traffic", ("last of 6", rows), 0.5))
    lines = out.getvalue().splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in out.getvalue()
    for word in ("east", "counts", "12,345", "50%", "2024-05-01 12:00", "moving counts", "█"):
        assert word in out.getvalue()


def test_lines_say_and_count(board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    with Lines(as_json=True) as display:
        display.show(board, [entry(7, 1, [0.0])])
        display.say(board, "moved \x1b")
    out, err = capsys.readouterr()
    assert out.startswith('{"batch": 7')
    assert err == "moved \\x1b\n"

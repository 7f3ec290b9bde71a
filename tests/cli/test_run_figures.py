from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from drover.cli.run_figures import RunFigures, line_of, seconds_of
from tests.cli.batches import entry


@pytest.fixture
def figures() -> RunFigures:
    figures = RunFigures(("east", "west"), ("suspects",), began=98.0)
    figures.add([entry(0, 10, [0.1, 0.0])], now=100.0)
    figures.add([entry(1, 30, [0.3, 0.2], node=1)], now=101.4)
    return figures


def test_rates_are_over_the_time_of_the_recent_batches(figures: RunFigures) -> None:
    assert figures.span == pytest.approx(2.0)
    assert figures.rate("east") == pytest.approx(20.0)
    assert figures.rate("west") == 0.0
    assert figures.loads() == pytest.approx([0.2, 0.1])
    assert figures.shares() == figures.loads(), "a node whose capacity is unknown is a core"
    figures.capacity = (0.5,)
    assert figures.shares() == pytest.approx([0.4, 0.1])
    assert (figures.batches, figures.rows_in["east"], figures.rows_out["suspects"]) == (2, 40, 4)
    assert figures.per_batch == pytest.approx(0.6)
    assert figures.event_time == datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_old_batches_do_not_count_but_the_last_one_stays(figures: RunFigures) -> None:
    figures.add([entry(2, 5, [0.0])], now=120.0)
    figures.add([], now=140.0)
    assert figures.rate("east") == pytest.approx(5 / (140.0 - 101.4))
    assert figures.loads() == [0.0]


def test_the_busiest_operator_is_first_with_its_present_node(figures: RunFigures) -> None:
    hot = figures.hottest()[0]
    assert (hot.operator, hot.node, hot.state_bytes) == ("counts", 1, 1500)
    assert hot.busy == pytest.approx(0.2)
    assert figures.operators_by_node() == {1: ["small", "counts"]}


def test_a_batch_is_one_line() -> None:
    assert line_of(entry(3, 1200, [0.1, 0.02])) == (
        "batch 3: 1,200 from east; gave 2 suspects; 0.60 s, nodes busy 100 20 ms"
    )


def test_a_batch_without_rows() -> None:
    idle = entry(3, 0, [0.0]) | {"rowsIn": {}, "rows": {}}
    assert line_of(idle) == "batch 3: no rows; gave nothing; 0.60 s, nodes busy 0 ms"
    assert seconds_of(idle) == pytest.approx(0.6)


def test_nothing_is_known_before_the_first_batch() -> None:
    figures = RunFigures(("east",), ("suspects",), began=98.0)
    assert (figures.per_batch, figures.span, figures.rate("east")) == (0.0, 1.0, 0.0)
    assert (figures.loads(), figures.operators_by_node(), figures.hottest()) == ([], {}, [])
    assert figures.event_time is None


def test_the_first_batch_does_not_count_in_the_mean() -> None:
    slow = entry(0, 1, [0.0])
    slow["seconds"] = {"compute": 9.0, "sinks": 0.0, "commit": 0.0}
    figures = RunFigures(("east",), (), began=0.0)
    figures.add([slow], now=9.0)
    assert figures.per_batch == 9.0
    figures.add([entry(1, 1, [0.0]), entry(2, 1, [0.0])], now=10.0)
    assert figures.per_batch == pytest.approx(0.6)


def unused_rows(batch: int) -> dict[str, Any]:
    dead = {"east": {"rows": 5, "reasons": {"no time": 4, "stray": 1}}}
    lost = {"deadLetters": {"east": 2}, "lateRows": {"counts": 3}, "totals": {"deadLetters": dead}}
    return entry(batch, 10, [0.0]) | lost


def test_rows_that_were_not_used_are_told_with_the_commonest_reason() -> None:
    figures = RunFigures(("east",), ("suspects",), began=0.0)
    figures.add([entry(0, 10, [0.0])], now=1.0)
    assert figures.unused() == []
    figures.add([unused_rows(1), unused_rows(2)], now=2.0)
    assert figures.unused() == ["4 rows of east did not fit: no time", "6 rows came too late for counts"]
    assert line_of(unused_rows(1)) == (
        "batch 1: 10 from east; gave 2 suspects; 2 did not fit; 3 too late; 0.60 s, nodes busy 0 ms"
    )

"""A switch sends each row to the first case that is true, or else to the rest."""

from __future__ import annotations

import pytest

from tests.flow.operators.batches import SmallBatches, one_source

VALUES = (1, 2, 20, 30, None)
ROWS = [(i, "a", value) for i, value in enumerate(VALUES)]


@pytest.mark.parametrize(
    ("cases", "rest", "values"),
    [
        pytest.param(
            {"big": "v > 9", "even": "v % 2 = 0"},
            "other",
            {"w.big": [20, 30], "w.even": [2], "w.other": [1, None]},
            id="the first true case takes a row, the rest gets false and NULL",
        ),
        pytest.param(
            {"even": "v % 2 = 0", "big": "v > 9"},
            None,
            {"w.even": [2, 20, 30], "w.big": []},
            id="the order decides, and without a rest the others are dropped",
        ),
        pytest.param({"all": "true"}, "other", {"w.all": [*VALUES], "w.other": []}, id="a constant case"),
        pytest.param(
            {"none": "CAST(NULL AS BOOLEAN)"}, "other", {"w.none": [], "w.other": [*VALUES]}, id="a case that is NULL"
        ),
    ],
)
def test_each_row_goes_one_way(cases: dict[str, str], rest: str | None, values: dict[str, list[int | None]]) -> None:
    batches = SmallBatches(one_source(lambda s: s.switch("w", cases, rest=rest)))
    found = batches.run(ROWS)
    assert {stream: [row[2] for row in rows] for stream, rows in found.items()} == values
    assert batches.run([]) == {stream: [] for stream in values}

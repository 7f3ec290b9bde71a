"""A filter passes the rows for which its predicate is true: neither false nor NULL."""

from __future__ import annotations

import pytest

from tests.flow.operators.batches import SmallBatches, one_source

ROWS = [(0, "a", 1), (1, None, 2), (2, "b", None), (3, "a", 4)]


@pytest.mark.parametrize(
    ("where", "passes"),
    [
        pytest.param("v > 1", [1, 3], id="NULL > 1 does not pass"),
        pytest.param("NOT v > 1", [0], id="nor does its opposite"),
        pytest.param("v IS NULL", [2], id="NULL passes where it is asked for"),
        pytest.param("k = 'a' AND v < 4", [0], id="two conditions"),
        pytest.param("true", [0, 1, 2, 3], id="a constant passes all rows"),
        pytest.param("1 = 2", [], id="or none"),
        pytest.param("CAST(NULL AS BOOLEAN)", [], id="a constant NULL passes none"),
    ],
)
def test_which_rows_pass(where: str, passes: list[int]) -> None:
    batches = SmallBatches(one_source(lambda s: s.filter("out", where)))
    assert batches.run(ROWS) == {"out": [ROWS[i] for i in passes]}
    assert batches.run([]) == {"out": []}
    assert batches.state.parts == {}

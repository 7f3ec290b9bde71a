"""A map computes columns, one row out for each row in."""

from __future__ import annotations

import pytest

from drover.flow.operators import CompileContext, UnitState, Watermarks, make_runner
from tests.flow.operators.batches import Row, SmallBatches, frame, one_source

ROWS = [(0, "a", 1), (1, None, None), (2, "b", 2**63 - 1)]


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        pytest.param({"ts": "ts", "x": "v + 1"}, [(0, 2), (1, None), (2, None)], id="a sum beyond bigint is NULL"),
        pytest.param({"x": "v", "ts": "ts"}, [(1, 0), (None, 1), (2**63 - 1, 2)], id="columns in the given order"),
        pytest.param({"ts": "ts", "v": "upper(k)"}, [(0, "A"), (1, None), (2, "B")], id="a name may change its type"),
        pytest.param({"one": "1", "none": "CAST(NULL AS STRING)"}, [(1, None)] * 3, id="constants, once per row"),
    ],
)
def test_exactly_the_selected_columns(select: dict[str, str], expected: list[Row]) -> None:
    batches = SmallBatches(one_source(lambda s: s.map("out", select)))
    assert batches.only(ROWS) == expected
    assert batches.only([]) == []


def test_extend_keeps_the_other_columns_and_reads_the_old_values() -> None:
    batches = SmallBatches(one_source(lambda s: s.extend("out", {"v": "coalesce(v, 0) - 1", "w": "v"})))
    assert batches.only(ROWS) == [(0, "a", 0, 1), (1, None, -1, None), (2, "b", 2**63 - 2, 2**63 - 1)]


def test_a_column_made_of_columns_that_the_rows_lack_is_left_out() -> None:
    network = one_source(lambda s: s.extend("out", {"w": "v + 1", "both": "concat(k, CAST(v AS STRING))", "one": "1"}))
    runner = make_runner(network.operator("out"), CompileContext(network, lambda _: None, frozenset()))
    rows = frame(network, "s", ROWS).select("v")
    made = runner.run({"s": rows}, UnitState(), Watermarks(None, None))["out"]
    assert made.columns == ["v", "w", "one"]
    assert made.rows() == [(1, 2, 1), (None, None, 1), (2**63 - 1, None, 1)]

"""A union emits the rows of all inputs, with the columns of the first."""

from __future__ import annotations

import drover
from drover.flow.operators import CompileContext, UnitState, Watermarks, make_runner
from tests.flow.operators.batches import SmallBatches, frame


def batches() -> SmallBatches:
    net = drover.Builder("n")
    first = net.source("a", {"ts": "timestamp", "x": "int", "y": "int"}, time="ts")
    second = net.source("b", {"y": "int", "x": "int", "ts": "timestamp"}, time="ts")
    first.union("out", second).output()
    return SmallBatches(net.build())


def test_columns_are_matched_by_name() -> None:
    assert batches().only([(0, 1, 2)], [(4, 3, 1)]) == [(0, 1, 2), (1, 3, 4)]


def test_equal_rows_stay_and_an_input_may_be_empty() -> None:
    assert batches().only([(0, 1, None), (0, 1, None)], []) == [(0, 1, None)] * 2
    assert batches().only([], [(4, 3, 1)]) == [(1, 3, 4)]
    assert batches().only([], []) == []


def test_columns_that_an_input_lacks_are_left_out() -> None:
    union = batches()
    runner = make_runner(union.network.operator("out"), CompileContext(union.network, lambda _: None, frozenset()))
    rows = {name: frame(union.network, name, []) for name in ("a", "b")}
    made = runner.run({"a": rows["a"], "b": rows["b"].select("y", "x")}, UnitState(), Watermarks(None, None))
    assert made["out"].columns == ["x", "y"]

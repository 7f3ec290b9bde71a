"""What a parked operator holds: nothing is lost, nothing comes twice, and windows behind it are complete."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from numpy.random import Generator, default_rng

from drover.flow.held import HELD, MissingColumnsError, held_batches, hold_inputs, work_off
from drover.flow.node import is_own_fault
from drover.flow.operators import Frames, UnitState, Watermarks
from drover.network.model import Network
from drover.network.operators import Filter, TableWrite
from drover_lab.generate import DagParameters, dags, rows
from tests.flow.harness import Batch, Harness, cut_rows
from tests.flow.holding import FUNCTIONS, HoldingHarness, break_functions, with_brittle_functions
from tests.flow.operators.batches import SmallBatches, one_source
from tests.flow.oracle import assert_same_rows
from tests.flow.test_against_oracle import random_plan

NAMES = [function.__name__ for function in FUNCTIONS]
HISTORIES = 40
OPERATOR = Filter(name="f", input="s", where="k > 0")


@pytest.fixture(autouse=True)
def mended() -> Iterator[None]:
    yield
    break_functions(())


class Echo:
    """Returns its rows, and writes down with which watermarks it ran."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[int], Watermarks]] = []

    def run(self, inputs: Frames, _state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        self.calls.append((inputs["s"]["k"].to_list(), clock))
        return {"f": inputs["s"]}


def frame(*values: int) -> pl.DataFrame:
    return pl.DataFrame({"k": values}, schema={"k": pl.Int64})


def test_what_is_held_is_worked_off_in_order_with_its_own_watermarks() -> None:
    state = UnitState()
    state.begin()
    assert hold_inputs(state, 3, {"s": frame(1, 2)}, Watermarks(None, 5))[0] == 2
    hold_inputs(state, 4, {"s": frame()}, Watermarks(5, 6))
    assert hold_inputs(state, 5, {"s": frame(3)}, Watermarks(6, 7))[0] == 3
    echo = Echo()
    made = work_off(OPERATOR, echo, 6).run({"s": frame(4)}, state, Watermarks(7, 8))
    assert echo.calls == [([1, 2], Watermarks(None, 5)), ([3], Watermarks(6, 7)), ([4], Watermarks(7, 8))]
    assert made["f"]["k"].to_list() == [1, 2, 3, 4]
    assert state.parts[HELD].height == 0
    assert state.bounds == {HELD: 6}


def test_an_input_without_rows_comes_back_as_an_empty_frame_of_the_same_columns() -> None:
    state = UnitState()
    hold_inputs(state, 0, {"left": frame(1), "right": frame()}, Watermarks(None, None))
    ((inputs, _),) = held_batches(state, {"left": frame(), "right": frame(9)})
    assert inputs["left"].equals(frame(1))
    assert inputs["right"].equals(frame())


def test_a_column_may_be_called_like_what_is_held() -> None:
    compute = {"held": "count(DISTINCT v)"}
    worker = SmallBatches(one_source(lambda s: s.aggregate("out", compute, size="10 s")))
    worker.only([(1, "a", 5)], now=None)
    hold_inputs(worker.state, 1, {"s": frame(1)}, Watermarks(None, None))
    worker.state.evict(HELD, 2)
    assert worker.only([(2, "a", 6)], now=10) == [(0, 10, 9.999999, 2)]


def test_an_operator_that_never_held_anything_works_off_nothing() -> None:
    echo = Echo()
    work_off(OPERATOR, echo, 0).run({"s": frame(1)}, UnitState(), Watermarks(None, None))
    assert [values for values, _ in echo.calls] == [[1]]


def drawn_batches(network: Network, rng: Generator) -> list[Batch]:
    count = int(rng.integers(3, 9))
    drawn = rows(network, int(rng.integers(20, 120)), rng)
    return cut_rows(drawn, lambda _, height: sorted(int(cut) for cut in rng.integers(0, height + 1, count - 1)), count)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_failing_functions_that_are_mended_and_resumed_change_no_result(tmp_path: Path, seed: int) -> None:
    rng = default_rng([seed, 17])
    shape = DagParameters(sources=2, operators=int(rng.integers(2, 8)), aggregate=3, join=1, timeout=0.4)
    network = with_brittle_functions(dags(rng, shape), rng)
    batches = [*drawn_batches(network, rng), {}]
    break_functions(())
    whole = Harness(network)
    for number, batch in enumerate(batches):
        whole.run(batch, random_plan(network, number, rng))
    harness = HoldingHarness(network, tmp_path, rng)
    for number, batch in enumerate(batches):
        break_functions([name for name in NAMES if rng.random() < 0.4])
        harness.resumed = tuple(name for name in harness.parked if rng.random() < 0.4)
        harness.run(batch, random_plan(network, number, rng))
    held = harness.parked
    break_functions(())
    harness.resumed = tuple(held)
    harness.run({}, random_plan(network, 99, rng))
    assert harness.parked == {}
    for stream in network.outputs:
        assert_same_rows(harness.output(stream), whole.output(stream))


@pytest.mark.parametrize("table", [None, "t"], ids=["batch by batch", "at once"])
def test_only_needed_columns_are_worked_off_so_rows_of_different_times_fit_together(table: str | None) -> None:
    state = UnitState()
    hold_inputs(state, 0, {"s": frame(1).with_columns(spare=pl.lit("x"))}, Watermarks(None, None))
    hold_inputs(state, 1, {"s": frame(2)}, Watermarks(None, None))
    echo = Echo()
    operator = OPERATOR if table is None else TableWrite(name="f", input="s", into=table)
    now = frame(3).select(other=pl.lit("y"), k="k")
    made = work_off(operator, echo, 2, {"s": ("k",)}).run({"s": now}, state, Watermarks(None, None))
    assert made["f"].rows() == [(1,), (2,), (3,)]


def test_held_rows_without_a_needed_column_are_refused_and_stay() -> None:
    state = UnitState()
    state.begin()
    hold_inputs(state, 0, {"s": frame(1)}, Watermarks(None, None))
    now = frame(3).with_columns(spare=pl.lit("x"))
    with pytest.raises(MissingColumnsError, match="it holds rows without spare") as raised:
        work_off(OPERATOR, Echo(), 1, {"s": ("k", "spare")}).run({"s": now}, state, Watermarks(None, None))
    assert state.parts[HELD].height == 1
    assert is_own_fault(OPERATOR, raised.value)  # so it stays parked, and nothing is lost

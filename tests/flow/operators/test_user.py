"""User-defined operators: what the function is given, when, and what is refused of what it returns."""

from __future__ import annotations

import pytest

from drover.errors import DroverError
from drover.flow.operators.calls import FunctionFailedError
from drover.flow.operators.user import BLOB, WAITING
from drover.network.functions import AnyFunction
from tests.flow.operators import functions
from tests.flow.operators.batches import SmallBatches, one_source


def batches(function: AnyFunction) -> SmallBatches:
    return SmallBatches(one_source(lambda s: s.apply("out", function)))


def test_a_function_without_state_gets_the_rows_of_the_batch_as_they_are() -> None:
    worker = batches(functions.plus_one)
    # Columns come in the declared order and type, whatever the function returns.
    assert worker.only([(2, "a", 5), (1, "b", None)], late=9, now=9) == [(2, 6), (1, None)]
    assert worker.only([]) == []
    assert worker.state.parts == {}


def test_values_of_another_type_are_converted_if_nothing_is_lost() -> None:
    assert batches(functions.whole_floats).only([(1, "a", 5), (2, "b", None)]) == [(1, 10), (2, None)]


def test_a_function_of_arrow_tables() -> None:
    assert batches(functions.doubled).only([(1, "a", 4), (0, None, None)]) == [(1, 8), (0, None)]


def test_a_function_with_state_gets_rows_in_order_once_the_watermark_has_passed_them() -> None:
    worker = batches(functions.running_total)
    assert worker.only([(3, "a", 30), (1, "a", 10)], now=None) == []
    assert worker.only([(2, "b", 20), (2, "a", 5)], now=2) == [(1, 10), (2, 15), (2, 35)]
    assert worker.state.parts[WAITING].height == 1
    assert worker.only([], late=2, now=2.5) == []
    assert worker.only([], late=2.5, now=3) == [(3, 65)]
    assert worker.state.parts[BLOB]["state"].to_list() == [b"65"]


def test_a_row_at_or_below_the_watermark_is_late() -> None:
    worker = batches(functions.running_total)
    assert worker.only([(1, "a", 1)], now=5) == [(1, 1)]
    assert worker.only([(5, "a", 10), (5.000001, "a", 100)], late=5, now=6) == [(5.000001, 101)]


def test_a_state_that_did_not_change_is_not_written_again() -> None:
    worker = batches(functions.running_total)
    worker.only([(1, "a", 7)], now=1)
    assert set(worker.state.replaced) == {BLOB}
    worker.only([(2, "a", 0)], late=1, now=2)
    assert worker.state.replaced == {}


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        pytest.param(functions.no_frame, "returned list, but a frame is expected", id="no frame"),
        pytest.param(functions.other_columns, r"returned columns \['ts', 'w'\], but declares", id="other columns"),
        pytest.param(functions.other_types, "values that do not fit its declared columns", id="other types"),
        pytest.param(
            functions.loses_time, r"returned 1 row of 1 with NULL in ts, its event time\.", id="no event time"
        ),
        pytest.param(functions.fractions, r"do not fit its declared columns \(Float value 0\.5", id="a part is lost"),
        pytest.param(functions.far_future, "1 row of 1 with a time outside the years 1 to 9999 in ts", id="no year"),
        pytest.param(functions.no_state, r"but keeps state: it returns \(frame, bytes\)", id="no state"),
    ],
)
def test_a_function_that_breaks_its_declaration_is_named(function: AnyFunction, fault: str) -> None:
    with pytest.raises(DroverError, match=rf"function '.*' of operator 'out' .*{fault}"):
        batches(function).only([(0, "a", 1)], now=1)


def test_a_call_that_takes_too_long_is_a_failure() -> None:
    with pytest.raises(FunctionFailedError, match=r"longer than its timeout of 0\.05 s \(at .* in dawdles\)"):
        batches(functions.dawdles).only([(0, "a", 1)], now=1)

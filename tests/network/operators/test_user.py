from __future__ import annotations

from typing import Any

import pytest

from drover.network.functions import columns_of
from drover.network.operators import UserDefined
from drover.network.schema import Schema
from tests.network.cases import TIMELESS, Case, a_filter, an_aggregate, assert_only_fault, examined

USER = ("operators", "scored")
SCORE = columns_of({"at": "timestamp", "score": "double"})


def a_function(**fields: Any) -> UserDefined:  # Any: fields as UserDefined has them
    usual = {"input": "events", "function": "scores.fast:score", "columns": SCORE, "time": "at"}
    return UserDefined(name="scored", **(usual | fields))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case([a_function(function="score")], (*USER, "function"), "named as module:name"),
            id="a function is named with its module",
        ),
        pytest.param(
            Case([a_function(function="os:system.x")], (*USER, "function"), "named as module:name"),
            id="a function stands at the top level of its module",
        ),
        pytest.param(
            Case([a_function(cost="huge")], (*USER, "cost"), "one of light, medium, heavy"),
            id="a cost class is one of three",
        ),
        pytest.param(
            Case([a_function(frame="pandas")], (*USER, "frame"), "one of polars, arrow"),
            id="a frame is one of two",
        ),
        pytest.param(
            Case([a_function(columns=(), time=None)], (*USER, "columns"), "at least one column"),
            id="a function makes a column",
        ),
        pytest.param(
            Case([a_function(time="score")], (*USER, "time"), "Choose one of at"),
            id="the event time of a function's rows is a timestamp",
        ),
        pytest.param(
            Case([a_function(input="timeless", keeps_state=True)], (*USER, "input"), "event time", [TIMELESS]),
            id="a function with state needs event time",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def test_a_function_makes_the_declared_columns() -> None:
    assert examined(Case([a_function()], (), "")).streams["scored"] == Schema(SCORE, "at")


def test_a_function_without_state_needs_no_event_time() -> None:
    assert examined(Case([a_function(input="timeless")], (), "", [TIMELESS])).faults == ()


def test_readers_of_a_faulty_declaration_are_not_checked() -> None:
    readers = [a_filter(source="scored", where="nothing = 1"), an_aggregate(source="scored")]
    found = examined(Case([a_function(time="score"), *readers], (), ""))
    assert [fault.path for fault in found.faults] == [(*USER, "time")]

from __future__ import annotations

import math
from typing import Any

import pytest

from drover.network.functions import columns_of
from drover.network.operators import Synthetic, UserDefined
from drover.network.schema import Schema
from tests.network.cases import TIMELESS, Case, a_filter, an_aggregate, assert_only_fault, examined

USER = ("operators", "scored")
LOAD = ("operators", "load")
SCORE = columns_of({"at": "timestamp", "score": "double"})


def a_function(**fields: Any) -> UserDefined:  # Any: fields as UserDefined has them
    usual = {"input": "events", "function": "scores.fast:score", "columns": SCORE, "time": "at"}
    return UserDefined(name="scored", **(usual | fields))


def a_load(**fields: Any) -> Synthetic:  # Any: fields as Synthetic has them
    usual: dict[str, Any] = {"input": "events", "cost": 1e-3}
    return Synthetic(name="load", **(usual | fields))


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
        pytest.param(Case([a_load(cost=-1.0)], (*LOAD, "cost"), "a number from 0 to 60"), id="a cost is not negative"),
        pytest.param(
            Case([a_load(cost=math.nan)], (*LOAD, "cost"), "is nan, but it must be a number"), id="a cost is a number"
        ),
        pytest.param(Case([a_load(cost=60.5)], (*LOAD, "cost"), "from 0 to 60"), id="a cost is at most a minute"),
        pytest.param(
            Case([a_load(selectivity=math.inf)], (*LOAD, "selectivity"), "from 0 to 1000"),
            id="a selectivity is at most 1000",
        ),
        pytest.param(Case([a_load(seed=-1)], (*LOAD, "seed"), "from 0 to 2147483647"), id="a seed is not negative"),
        pytest.param(Case([a_load(seed=2**31)], (*LOAD, "seed"), "from 0 to"), id="a seed has 31 bits"),
        pytest.param(
            Case([a_load(input="timeless")], (*LOAD, "input"), "event time", [TIMELESS]),
            id="a synthetic operator needs event time",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def test_a_function_makes_the_declared_columns() -> None:
    assert examined(Case([a_function()], (), "")).streams["scored"] == Schema(SCORE, "at")


def test_a_function_without_state_needs_no_event_time() -> None:
    assert examined(Case([a_function(input="timeless")], (), "", [TIMELESS])).faults == ()


def test_a_synthetic_operator_changes_no_column() -> None:
    streams = examined(Case([a_load()], (), "")).streams
    assert streams["load"] == streams["events"]


def test_a_faulty_declaration_hides_its_readers() -> None:
    readers = [a_filter(source="scored", where="nothing = 1"), an_aggregate(source="scored")]
    found = examined(Case([a_function(time="score"), *readers], (), ""))
    assert [fault.path for fault in found.faults] == [(*USER, "time")]


def test_a_missing_event_time_hides_nothing() -> None:
    found = examined(Case([a_load(input="timeless"), a_filter(source="load", where="nothing = 1")], (), "", [TIMELESS]))
    assert [fault.path for fault in found.faults] == [(*LOAD, "input"), ("operators", "kept", "where")]

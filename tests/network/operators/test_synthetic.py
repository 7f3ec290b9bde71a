from __future__ import annotations

import math
from typing import Any

import pytest

from drover.network.operators import Synthetic
from drover.network.operators.synthetic import SYNTHETIC
from tests.network.cases import TIMELESS, Case, a_filter, assert_only_fault, examined

LOAD = ("operators", "load")


def a_load(**fields: Any) -> Synthetic:  # Any: fields as Synthetic has them
    usual: dict[str, Any] = {"input": "events", "cost": 1e-3}
    return Synthetic(name="load", **(usual | fields))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case([a_load(cost=-1.0)], (*LOAD, "cost"), "a number from 0 to 60"), id="a cost is not negative"),
        pytest.param(
            Case([a_load(cost=math.nan)], (*LOAD, "cost"), "is nan, but it must be a number"), id="a cost is a number"
        ),
        pytest.param(Case([a_load(cost=60.5)], (*LOAD, "cost"), "from 0 to 60"), id="a cost is at most a minute"),
        pytest.param(
            Case([a_load(selectivity=math.inf)], (*LOAD, "selectivity"), "from 0 to 1000"),
            id="a selectivity is at most 1000",
        ),
        pytest.param(Case([a_load(wait=-0.1)], (*LOAD, "wait"), "from 0 to 60"), id="a wait is not negative"),
        pytest.param(Case([a_load(wait=61)], (*LOAD, "wait"), "from 0 to 60"), id="a wait is at most a minute"),
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


def test_a_synthetic_operator_changes_no_column() -> None:
    streams = examined(Case([a_load()], (), "")).streams
    assert streams["load"] == streams["events"]


def test_what_it_waits_is_part_of_its_declared_cost_and_its_summary() -> None:
    waits = a_load(cost=0.5, wait=0.25)
    assert SYNTHETIC.declared is not None
    assert SYNTHETIC.declared(waits).cost == 0.75
    assert SYNTHETIC.summary(waits) == "0.5 s and 0.25 s of waiting per row, 1 rows for each"
    assert "waiting" not in SYNTHETIC.summary(a_load())


def test_a_missing_event_time_hides_nothing() -> None:
    found = examined(Case([a_load(input="timeless"), a_filter(source="load", where="nothing = 1")], (), "", [TIMELESS]))
    assert [fault.path for fault in found.faults] == [(*LOAD, "input"), ("operators", "kept", "where")]

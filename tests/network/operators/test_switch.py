from __future__ import annotations

import pytest

from drover.network.operators import Named, Switch
from tests.network.cases import Case, assert_only_fault, examined, named


def a_switch(cases: dict[str, str], rest: str | None = None) -> Switch:
    return Switch(name="sides", input="events", cases=named(cases), rest=rest)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case([a_switch({})], ("operators", "sides", "cases"), "at least one case"),
            id="a switch has a case",
        ),
        pytest.param(
            Case([a_switch({"big": "amount"})], ("operators", "sides", "cases", "big"), "must be boolean"),
            id="the predicate of a case is boolean",
        ),
        pytest.param(
            Case([a_switch({"big-ones": "key > 1"})], ("operators", "sides", "cases", "big-ones"), "Rename the case."),
            id="a case is named like a column",
        ),
        pytest.param(
            Case([a_switch({"big": "key > 1"}, "no rest")], ("operators", "sides", "rest"), "Rename the case."),
            id="the rest is named like a column",
        ),
        pytest.param(
            Case(
                [a_switch({"a": "key > 1", "A": "key > 2"})], ("operators", "sides", "cases", "A"), "already has a case"
            ),
            id="cases differ in more than upper and lower case",
        ),
        pytest.param(
            Case([a_switch({"big": "key > 1"}, rest="big")], ("operators", "sides", "rest"), "already has a case"),
            id="the rest is no case",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def test_every_branch_of_a_switch_has_the_columns_of_the_input() -> None:
    switch = a_switch({"big": "amount > 10", "small": "amount > 0"}, rest="others")
    found = examined(Case([switch], (), ""))
    assert found.faults == ()
    assert switch.branches == ("big", "small", "others")
    assert switch.outputs == ("sides.big", "sides.small", "sides.others")
    assert all(found.streams[stream] == found.streams["events"] for stream in switch.outputs)


def test_without_a_rest_a_switch_has_its_cases_only() -> None:
    assert a_switch({"big": "amount > 10"}).outputs == ("sides.big",)


def test_two_bad_cases_are_two_faults() -> None:
    switch = Switch(name="sides", input="events", cases=(Named("a", "amount"), Named("b", "nothing = 1")))
    paths = [fault.path[-1] for fault in examined(Case([switch], (), "")).faults]
    assert paths == ["a", "b"]

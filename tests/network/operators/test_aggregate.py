from __future__ import annotations

import pytest

from drover.network.schema import Schema
from tests.network.cases import SECOND, TIMELESS, Case, a_map, an_aggregate, assert_only_fault, examined

HERE = ("operators", "counted")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case([an_aggregate(size=0)], (*HERE, "size"), "is 0 s, but a window is longer than nothing"),
            id="a window is longer than nothing",
        ),
        pytest.param(
            Case([an_aggregate(size=-SECOND)], (*HERE, "size"), "is -1 s"),
            id="a window is not negative",
        ),
        pytest.param(
            Case([an_aggregate(advance=0)], (*HERE, "advance"), "advance by more than 0"), id="windows advance"
        ),
        pytest.param(
            Case([an_aggregate(advance=11 * SECOND)], (*HERE, "advance"), "rows between them would be lost"),
            id="windows leave no gap",
        ),
        pytest.param(
            Case([an_aggregate(size=10_001, advance=1)], (*HERE, "advance"), "more than 10000 windows"),
            id="a row falls into at most 10,000 windows",
        ),
        pytest.param(
            Case([an_aggregate(timeout=0)], (*HERE, "timeout"), "longer than nothing"),
            id="a time-out is longer than nothing",
        ),
        pytest.param(
            Case([an_aggregate({})], (*HERE, "compute"), "computes at least one column"),
            id="an aggregate computes something",
        ),
        pytest.param(
            Case([an_aggregate({"x": "amount"})], (*HERE, "compute", "x"), "'amount'"),
            id="what it computes is an aggregate",
        ),
        pytest.param(
            Case([an_aggregate({"x": "sum(amont)"})], (*HERE, "compute", "x"), "Did you mean amount?"),
            id="what it computes names columns of the input",
        ),
        pytest.param(
            Case([an_aggregate({"a b": "count(*)"})], (*HERE, "compute", "a b"), "Rename the column."),
            id="an output column has a column name",
        ),
        pytest.param(
            Case([an_aggregate({"Window_End": "count(*)"})], (*HERE, "compute", "Window_End"), "already has a column"),
            id="an output column is not named like one of the window's",
        ),
        pytest.param(
            Case([an_aggregate({"key": "count(*)"}, group_by=["key"])], (*HERE, "compute", "key"), "already has"),
            id="an output column is not named like a group",
        ),
        pytest.param(
            Case([an_aggregate(group_by=["kye"])], (*HERE, "group_by", 0), "Did you mean key?"),
            id="a group is a column of the input",
        ),
        pytest.param(
            Case([an_aggregate(group_by=["key", "tag", "key"])], (*HERE, "group_by", 2), "already has a column"),
            id="a group is named once",
        ),
        pytest.param(
            Case(
                [an_aggregate(), an_aggregate(name="again", source="counted", group_by=["window_start"])],
                ("operators", "again", "group_by", 0),
                "rename it in a map before",
            ),
            id="a group is not named like a column of the window",
        ),
        pytest.param(
            Case([an_aggregate(source="timeless")], (*HERE, "input"), "need a stream with event time", [TIMELESS]),
            id="windows need event time",
        ),
        pytest.param(
            Case([a_map({"key": "key"}), an_aggregate(source="mapped")], (*HERE, "input"), "keep that column"),
            id="windows need an event time that no map dropped",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def made(**fields: object) -> Schema:
    found = examined(Case([an_aggregate(**fields)], (), ""))  # type: ignore[arg-type]  # fields as an_aggregate has them
    assert found.faults == ()
    schema = found.streams["counted"]
    assert schema is not None
    return schema


def test_results_have_the_window_the_groups_and_the_aggregates() -> None:
    schema = made(compute={"n": "count(*)", "mean": "avg(amount)", "high": "max(tag)"}, group_by=["tag", "key"])
    assert str(schema) == (
        "window_start timestamp, window_end timestamp, window_time timestamp (time), "
        "tag string, key int, n bigint, mean double, high string"
    )


def test_the_event_time_of_a_result_is_the_last_instant_of_its_window() -> None:
    assert made().time == "window_time"


def test_an_aggregate_of_aggregates_is_sound() -> None:
    second = an_aggregate({"most": "max(n)"}, name="again", source="counted", size=60 * SECOND)
    assert examined(Case([an_aggregate(), second], (), "")).faults == ()


def test_bad_parameters_hide_nothing_further_down() -> None:
    reader = an_aggregate({"x": "sum(nothing)"}, name="again", source="counted")
    found = examined(Case([an_aggregate(size=0), reader], (), ""))
    assert [fault.path for fault in found.faults] == [(*HERE, "size"), ("operators", "again", "compute", "x")]

from __future__ import annotations

import pytest

from drover.network.operators import Union
from tests.network.cases import EVENTS, OTHERS, TIMELESS, Case, a_filter, a_map, assert_only_fault, examined


def a_union(*streams: str) -> Union:
    return Union(name="both", streams=streams)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case([a_union("events")], ("operators", "both", "inputs"), "is events, but a union merges at least two"),
            id="a union has two inputs",
        ),
        pytest.param(
            Case([a_union()], ("operators", "both", "inputs"), "is (none), but a union merges at least two"),
            id="a union has inputs at all",
        ),
        pytest.param(
            Case([a_union("events", "events")], ("operators", "both", "inputs"), "reads each stream once"),
            id="a union reads a stream once",
        ),
        pytest.param(
            Case(
                [a_union("events", "others")],
                ("operators", "both", "inputs", 1),
                "the columns of the first, events (ts timestamp (time), key int",
                sources=[EVENTS, OTHERS],
            ),
            id="all inputs have the same columns",
        ),
        pytest.param(
            Case(
                [a_map({"key": "key", "tag": "key"}), a_union("timeless", "mapped")],
                ("operators", "both", "inputs", 1),
                "key int, tag string",
                sources=[EVENTS, TIMELESS],
            ),
            id="all inputs have the same types",
        ),
        pytest.param(
            Case(
                [
                    a_map({"at": "ts", "ts": "at"}, name="swapped", source="doubled"),
                    a_map({"ts": "ts", "at": "ts"}, name="doubled"),
                    a_union("doubled", "swapped"),
                ],
                ("operators", "both", "inputs", 1),
                "at timestamp (time)",
            ),
            id="all inputs have the same event time",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def test_columns_are_matched_by_name_in_the_order_of_the_first_input() -> None:
    turned = a_map({"price": "price", "amount": "amount", "tag": "tag", "key": "key", "ts": "ts"})
    found = examined(Case([turned, a_union("mapped", "events")], (), ""))
    assert found.faults == ()
    assert found.streams["both"] == found.streams["mapped"]


def test_three_streams_and_one_that_differs_are_one_fault() -> None:
    found = examined(Case([a_filter(), a_union("events", "others", "kept")], (), "", sources=[EVENTS, OTHERS]))
    assert [fault.path for fault in found.faults] == [("operators", "both", "inputs", 1)]

from __future__ import annotations

import pytest

from drover.network.operators import KeyPair, parse_key
from drover.network.schema import Schema
from tests.network.cases import (
    EVENTS,
    OTHERS,
    SECOND,
    TIMELESS,
    Case,
    a_filter,
    a_join,
    a_map,
    assert_only_fault,
    examined,
    named,
)

HERE = ("operators", "joined")
BOTH = [EVENTS, OTHERS]
TAGS = named({"left_tag": "left.tag", "right_tag": "right.tag"})


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case([a_join(left_window=-SECOND)], (*HERE, "within"), "is -1 s, but a window is not negative", BOTH),
            id="a left window is not negative",
        ),
        pytest.param(
            Case([a_join(right_window=-SECOND)], (*HERE, "within"), "is -1 s", BOTH),
            id="a right window is not negative",
        ),
        pytest.param(
            Case([a_join(left="timeless")], (*HERE, "left"), "need a stream with event time", [TIMELESS, OTHERS]),
            id="the left input has event time",
        ),
        pytest.param(
            Case([a_join(right="timeless", select=TAGS)], (*HERE, "right"), "event time", [EVENTS, TIMELESS]),
            id="the right input has event time",
        ),
        pytest.param(
            Case([a_join(on=(KeyPair("kye", "id"),))], (*HERE, "on", 0), "Did you mean key?", BOTH),
            id="a left key is a column of the left input",
        ),
        pytest.param(
            Case(
                [a_join(on=(KeyPair("key", "id"), KeyPair("key", "key")))],
                (*HERE, "on", 1),
                "Known: at, id, note",
                BOTH,
            ),
            id="a right key is a column of the right input",
        ),
        pytest.param(
            Case([a_join(on=(KeyPair("amount", "id"),))], (*HERE, "on", 0), "amount bigint = id int", BOTH),
            id="keys have one type",
        ),
        pytest.param(
            Case([a_join(where="left.amount + right.id")], (*HERE, "where"), "this is bigint", BOTH),
            id="the predicate is boolean",
        ),
        pytest.param(
            Case([a_join(where="left.id = 1")], (*HERE, "where"), "'id'", BOTH),
            id="the predicate names columns on their side",
        ),
        pytest.param(
            Case([a_join(select=named({"x": "left.nothing"}))], (*HERE, "select", "x"), "'nothing'", BOTH),
            id="what it selects names columns on their side",
        ),
        pytest.param(
            Case([a_join(select=named({"x y": "left.key"}))], (*HERE, "select", "x y"), "Rename the column.", BOTH),
            id="a selected column has a column name",
        ),
        pytest.param(
            Case(
                [a_join(select=named({"x": "left.key", "X": "right.id"}))],
                (*HERE, "select", "X"),
                "the output already has a column of that name",
                BOTH,
            ),
            id="selected columns differ in more than upper and lower case",
        ),
        pytest.param(
            Case(
                [a_join(select=named({"TS": "right.at"}))],
                (*HERE, "select", "TS"),
                "the join's event time has that name already",
                BOTH,
            ),
            id="no selected column is named like the event time",
        ),
        pytest.param(
            Case(
                [a_map({"at": "at", "ts": "id"}, source="others"), a_join(right="mapped")],
                (*HERE, "select", "ts"),
                "the join's event time has that name already",
                BOTH,
            ),
            id="without select, no right column is named like the event time",
        ),
        pytest.param(
            Case(
                [a_map({"at": "at", "Tag": "note"}, source="others"), a_join(right="mapped")],
                (*HERE, "select", "Tag"),
                "both inputs have a column of that name",
                BOTH,
            ),
            id="without select, names of both inputs differ",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def made(**fields: object) -> Schema:
    found = examined(Case([a_join(**fields)], (), "", BOTH))  # type: ignore[arg-type]  # fields as Join has them
    assert found.faults == ()
    schema = found.streams["joined"]
    assert schema is not None
    return schema


def test_without_select_the_output_has_the_event_time_and_all_columns_of_both_inputs() -> None:
    assert str(made()) == "ts timestamp (time), key int, tag string, amount bigint, price double, id int, note string"


def test_the_event_time_is_named_like_the_left_one() -> None:
    assert made(left="others", right="events").time == "at"
    assert made(select=named({"n": "right.note"})).names == ("ts", "n")


def test_a_key_of_one_name_on_both_sides_appears_once() -> None:
    right = a_map({"at": "at", "key": "id"}, source="others")
    found = examined(Case([right, a_join(right="mapped", on=(KeyPair("key", "key"),))], (), "", BOTH))
    assert found.faults == ()
    schema = found.streams["joined"]
    assert schema is not None
    assert schema.names == ("ts", "key", "tag", "amount", "price")


def test_a_stream_may_be_joined_with_itself() -> None:
    itself = a_join(right="events", on=(KeyPair("key", "key"),), select=TAGS)
    assert examined(Case([itself], (), "")).faults == ()


def test_both_inputs_without_event_time_are_two_faults() -> None:
    found = examined(Case([a_join("timeless", "timeless", select=TAGS)], (), "", [TIMELESS]))
    assert [fault.path for fault in found.faults] == [(*HERE, "left"), (*HERE, "right")]


def test_a_name_selected_twice_is_reported_once() -> None:
    twice = a_join(select=named({"x": "left.key", "X": "right.id"}))
    reader = a_join(left="joined", right="kept", name="again")
    found = examined(Case([twice, a_filter(), reader], (), "", BOTH))
    assert [fault.path for fault in found.faults] == [(*HERE, "select", "X")]


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        pytest.param("key", KeyPair("key", "key"), id="one name for both sides"),
        pytest.param("key = id", KeyPair("key", "id"), id="a name for each side"),
        pytest.param(" `key`=`id` ", KeyPair("key", "id"), id="in backticks and without blanks"),
    ],
)
def test_keys_are_read_from_text(text: str, pair: KeyPair) -> None:
    assert parse_key(text) == pair
    assert parse_key(str(pair)) == pair

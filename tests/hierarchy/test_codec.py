"""Messages and records as text: every value survives, stored tags never change, and any other text is refused."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.hierarchy.codec import MESSAGES, RECORDS, CodecError, decode_message, decode_record, encode
from drover.hierarchy.messages import (
    Bundle,
    Clear,
    Closed,
    Decision,
    DemandReply,
    DemandRequest,
    HandedOut,
    Handover,
    HandoverReply,
    JournalSnapshot,
    Message,
    OfferReply,
    OfferRequest,
    Record,
    Take,
    TookIn,
)

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(int, st.integers(-(2**53), 2**53))

OFFER = (1, 3, 7)  # a round that node 1 began
DEMAND = (2, 1, 1)  # a round that node 2 began
BUNDLE = Bundle((5, 6), ((2.0, 0.5), (1.0, 0.25)))
HANDOVER = Handover(1, 2, OFFER, 4, (BUNDLE,))
STORED_BUNDLE = '{"operators":[5,6],"sizes":[[2.0,0.5],[1.0,0.25]]}'
STORED_HANDOVER = f'{{"sender":1,"receiver":2,"round":[1,3,7],"serial":4,"bundles":[{STORED_BUNDLE}]}}'


@given(st.one_of([st.from_type(kind) for kind in MESSAGES.values()]))
def test_a_message_survives_the_wire(message: Message) -> None:
    text = encode(message)
    assert decode_message(text) == message
    assert "\n" not in text


@given(st.one_of([st.from_type(kind) for kind in RECORDS.values()]))
def test_a_record_survives_the_journal(record: Record) -> None:
    text = encode(record)
    assert decode_record(text) == record
    assert "\n" not in text


def test_every_class_has_one_tag() -> None:
    assert set(MESSAGES.values()) == set(get_args(Message))
    assert set(RECORDS.values()) == set(get_args(Record))
    assert len(MESSAGES) == len(get_args(Message))
    assert len(RECORDS) == len(get_args(Record))
    assert not MESSAGES.keys() & RECORDS.keys()


@pytest.mark.parametrize(
    ("line", "record"),
    [
        pytest.param(
            '{"Kept":{"life":3,"serial":4,"sizes":[[0,[1.0,0.5]]],'
            f'"decided":[{{"giver":2,"serial":8,"taken":[9]}}],"pending":[{STORED_HANDOVER}]}}}}',
            JournalSnapshot(3, 4, ((0, (1.0, 0.5)),), (Decision(2, 8, (9,)),), (HANDOVER,)),
            id="a snapshot",
        ),
        pytest.param(f'{{"HandedOut":{{"handover":{STORED_HANDOVER}}}}}', HandedOut(HANDOVER), id="a begun hand-over"),
        pytest.param('{"Closed":{"receiver":2,"serial":4,"taken":[5]}}', Closed(2, 4, (5,)), id="an ended hand-over"),
        pytest.param(
            f'{{"TookIn":{{"giver":2,"serial":9,"bundles":[{STORED_BUNDLE}]}}}}',
            TookIn(2, 9, (BUNDLE,)),
            id="a decision",
        ),
    ],
)
def test_lines_of_stored_journals_keep_their_meaning(line: str, record: Record) -> None:
    assert decode_record(line) == record
    assert encode(record) == line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            f'{{"OfferRequest":{{"sender":1,"receiver":2,"round":[1,3,7],"bundles":[{STORED_BUNDLE}]}}}}',
            OfferRequest(1, 2, OFFER, (BUNDLE,)),
            id="an offer",
        ),
        pytest.param(
            '{"OfferReply":{"sender":2,"receiver":1,"round":[1,3,7],'
            f'"bundles":[{STORED_BUNDLE}],"urgent":true,"busy":false}}}}',
            OfferReply(2, 1, OFFER, (BUNDLE,), urgent=True),
            id="a reply to an offer",
        ),
        pytest.param(
            '{"DemandRequest":{"sender":2,"receiver":1,"round":[2,1,1],"room":[4.0,1.5]}}',
            DemandRequest(2, 1, DEMAND, (4.0, 1.5)),
            id="a demand",
        ),
        pytest.param(
            '{"DemandReply":{"sender":1,"receiver":2,"round":[2,1,1],"bundles":[],"urgent":false,"busy":true}}',
            DemandReply(1, 2, DEMAND, busy=True),
            id="a reply to a demand",
        ),
        pytest.param(
            f'{{"Take":{{"sender":2,"receiver":1,"round":[2,1,1],"bundles":[{STORED_BUNDLE}]}}}}',
            Take(2, 1, DEMAND, (BUNDLE,)),
            id="a choice",
        ),
        pytest.param(
            '{"Clear":{"sender":2,"receiver":1,"round":[2,1,1]}}', Clear(2, 1, DEMAND), id="the end of a round"
        ),
        pytest.param(f'{{"Handover":{STORED_HANDOVER}}}', HANDOVER, id="a hand-over"),
        pytest.param(
            '{"HandoverReply":{"sender":2,"receiver":1,"round":[1,3,7],"serial":4,"taken":[5]}}',
            HandoverReply(2, 1, OFFER, 4, (5,)),
            id="a reply to a hand-over",
        ),
    ],
)
def test_messages_on_the_wire_keep_their_meaning(line: str, message: Message) -> None:
    assert decode_message(line) == message
    assert encode(message) == line


CLEAR = '{"Clear": {"sender": %s}}'
DEMANDED = '{"DemandRequest": {"sender": 1, "receiver": 2, "round": [1, 2, 3], "room": [%s]}}'


def test_whole_numbers_are_sizes_up_to_what_a_double_holds() -> None:
    found = decode_message(DEMANDED % f"{2**53}, {-(2**53)}, 0")
    assert found == DemandRequest(1, 2, (1, 2, 3), (2.0**53, -(2.0**53), 0.0))
    assert isinstance(found, DemandRequest)
    assert {type(each) for each in found.room} == {float}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "'' is not valid JSON, but must be a message", id="nothing"),
        pytest.param("[" * 10_000, "not valid JSON, but must be a message", id="deep"),
        pytest.param(
            "[1]", r"'\[1\]' is not a message. Use one of these tags: Clear, DemandReply, .*, Take", id="a list"
        ),
        pytest.param('{"Clear": {}, "Take": {}}', "is not a message", id="two at once"),
        pytest.param('{"Kept": {}}', "is not a message", id="a record"),
        pytest.param('{"Clear": 1}', "Clear has 1, but must have sender, receiver, round", id="no fields"),
        pytest.param(
            '{"Clear": {"sender": 1, "receiver": 2}}',
            r"Clear has \['receiver', 'sender'\], but must have sender, receiver, round",
            id="a field less",
        ),
        pytest.param(CLEAR % '1, "receiver": 2, "round": [1, 2]', "Clear.round has 2 items, .* have 3", id="too short"),
        pytest.param(CLEAR % '1, "receiver": 2, "round": "123"', "Clear.round is '123', .* be a list", id="text"),
        pytest.param(
            CLEAR % '1, "receiver": 2, "round": [1, 2, null]', "Clear.round.2 is None, .* type int", id="null"
        ),
        pytest.param(
            CLEAR % 'true, "receiver": 2, "round": [1, 2, 3]', "Clear.sender is True, .* type int", id="a flag"
        ),
        pytest.param(CLEAR % '1.5, "receiver": 2, "round": [1, 2, 3]', "Clear.sender is 1.5, .* type int", id="broken"),
        pytest.param(CLEAR % '1e99, "receiver": 2, "round": [1, 2, 3]', "type int", id="a float"),
        pytest.param(CLEAR % f'{2**53 + 1}, "receiver": 2, "round": [1, 2, 3]', "type int", id="a double rounds it"),
        pytest.param(CLEAR % f'{-(2**53) - 1}, "receiver": 2, "round": [1, 2, 3]', "type int", id="also below 0"),
        pytest.param(DEMANDED % "NaN", "is not valid JSON, but must be a message", id="NaN"),
        pytest.param(DEMANDED % '"1"', "DemandRequest.room.0 is '1', .* type float", id="a number as text"),
        pytest.param(DEMANDED % ("1" + "0" * 400), "type float", id="more than a float has"),
        pytest.param(
            '{"OfferReply":{"sender":2,"receiver":1,"round":[1,3,7],"bundles":[],"urgent":1,"busy":false}}',
            "OfferReply.urgent is 1, but must be of type bool",
            id="a number for a flag",
        ),
    ],
)
def test_any_other_text_is_refused(text: str, words: str) -> None:
    with pytest.raises(CodecError, match=words):
        decode_message(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('{"Clear":{"sender":2,"receiver":1,"round":[2,1,1]}}', "not a record", id="a message"),
        pytest.param('{"JournalSnapshot":{"life":0}}', "not a record.*Kept", id="the name of a class"),
        pytest.param(
            '{"Closed":{"receiver":2,"serial":4,"taken":[true]}}', "Closed.taken.0.*type int", id="no operator"
        ),
    ],
)
def test_any_other_record_is_refused(text: str, words: str) -> None:
    with pytest.raises(CodecError, match=words):
        decode_record(text)

"""The frames that wait at a node: only those of the turn and of attempts that count are taken."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.spark.resident.inbox import Inbox, UnknownTurnError
from drover.spark.resident.wire import FrameDelivery


def frames(word: str) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"word": [word]})]


def words(batches: list[pa.RecordBatch]) -> set[str]:
    return {word for batch in batches for word in batch.column(0).to_pylist()}


def test_a_hop_takes_frames_of_nodes_and_of_the_attempts_that_count() -> None:
    inbox = Inbox()
    inbox.begin("t")
    inbox.put(FrameDelivery("t", 0, "piece 0", "first"), frames("given up"))
    inbox.put(FrameDelivery("t", 0, "piece 0", "second"), frames("routed"))
    inbox.put(FrameDelivery("t", 0, "node 1 in hop 0"), frames("of a node"))
    inbox.put(FrameDelivery("t", 1, "piece 0", "second"), frames("later"))
    assert words(inbox.take("t", 0, {"second"})) == {"routed", "of a node"}
    assert inbox.take("t", 0, {"second"}) == []
    assert words(inbox.take("t", 1, {"second"})) == {"later"}


def test_a_piece_takes_its_own_frames_and_those_of_no_piece() -> None:
    inbox = Inbox()
    inbox.begin("t")
    inbox.put(FrameDelivery("t", 1, "piece 0", "a"), frames("routed"))
    for piece in range(3):
        inbox.put(FrameDelivery("t", 1, "node 0 in hop 0", piece=piece), frames(f"piece {piece}"))
    held = inbox.held
    assert words(inbox.take("t", 1, {"a"}, piece=1)) == {"routed", "piece 1"}
    assert 0 < inbox.held < held
    assert words(inbox.take("t", 1, {"a"}, piece=0)) == {"piece 0"}
    assert words(inbox.take("t", 1, {"a"}, piece=0)) == set()
    inbox.put(FrameDelivery("t", 1, "node 0 in hop 0"), frames("the rest"))
    assert words(inbox.take("t", 1, {"a"})) == {"piece 2", "the rest"}
    assert inbox.held == 0


def test_a_delivery_that_is_repeated_counts_once() -> None:
    inbox = Inbox()
    inbox.begin("t")
    for _ in range(2):
        inbox.put(FrameDelivery("t", 0, "piece 0", "first"), frames("once"))
    assert len(inbox.take("t", 0, {"first"})) == 1


def test_another_turn_forgets_and_refuses() -> None:
    inbox = Inbox()
    with pytest.raises(UnknownTurnError):
        inbox.put(FrameDelivery("t", 0, "s"), frames("too early"))
    inbox.begin("t")
    inbox.put(FrameDelivery("t", 0, "s"), frames("old"))
    inbox.begin("u")
    with pytest.raises(UnknownTurnError):
        inbox.put(FrameDelivery("t", 0, "s"), frames("too late"))
    with pytest.raises(UnknownTurnError):
        inbox.take("t", 0, ())
    assert inbox.take("u", 0, ()) == []


def numbered(start: int, rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"number": pa.array(range(start, start + rows), pa.int64())})


def numbers(batches: list[pa.RecordBatch]) -> list[int]:
    return [number for batch in batches for number in batch.column(0).to_pylist()]


@given(st.integers(0, 400), st.lists(st.lists(st.integers(1, 20), max_size=5), min_size=1, max_size=4), st.booleans())
def test_whatever_fits_into_memory_all_frames_are_taken_in_their_order(
    limit: int, sent: list[list[int]], encrypts: bool
) -> None:
    inbox = Inbox(limit, encrypts)
    inbox.begin("t")
    expected: list[int] = []
    for sender, lengths in enumerate(sent):
        batches = []
        for length in lengths:
            batches.append(numbered(len(expected), length))
            expected += range(len(expected), len(expected) + length)
        inbox.put(FrameDelivery("t", 0, str(sender)), iter(batches))
        assert inbox.held <= limit
    assert inbox.held + inbox.written == 8 * len(expected)
    assert numbers(inbox.take("t", 0, ())) == expected
    assert inbox.held == 0


def test_frames_beyond_the_limit_are_written_while_they_come() -> None:
    inbox = Inbox(limit=100)
    inbox.begin("t")
    most = 0

    def arriving() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for start in range(0, 1000, 10):
            yield numbered(start, 10)
            most = max(most, inbox.held)

    inbox.put(FrameDelivery("t", 0, "s"), arriving())
    assert most == 80
    assert inbox.written == 8000 - 80
    taken = inbox.take("t", 0, ())
    assert numbers(taken) == list(range(1000))


def test_frames_that_are_not_taken_make_room_again() -> None:
    inbox = Inbox(limit=100)
    inbox.begin("t")
    for _ in range(3):  # of one delivery, only the last counts
        inbox.put(FrameDelivery("t", 0, "piece 0", "given up"), [numbered(0, 10), numbered(10, 10)])
    assert inbox.held == 80
    assert inbox.take("t", 0, ()) == []
    assert inbox.held == 0
    inbox.put(FrameDelivery("t", 1, "s"), [numbered(0, 10), numbered(10, 10)])
    inbox.begin("u")
    assert inbox.held == 0


def test_a_delivery_that_breaks_off_leaves_nothing() -> None:
    inbox = Inbox(limit=100)
    inbox.begin("t")

    def broken() -> Iterator[pa.RecordBatch]:
        yield numbered(0, 10)
        yield numbered(10, 10)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        inbox.put(FrameDelivery("t", 0, "s"), broken())
    assert inbox.held == 0
    assert inbox.take("t", 0, ()) == []


def test_a_turn_that_begins_while_frames_arrive_has_all_its_room() -> None:
    inbox = Inbox(limit=100)
    inbox.begin("t")

    def overtaken() -> Iterator[pa.RecordBatch]:
        yield numbered(0, 10)
        inbox.begin("u")
        yield numbered(10, 10)

    with pytest.raises(UnknownTurnError):
        inbox.put(FrameDelivery("t", 0, "s"), overtaken())
    assert inbox.held == 0

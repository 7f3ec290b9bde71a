"""The frames that wait at a node: only those of the turn and of attempts that count are taken."""

from __future__ import annotations

import pyarrow as pa
import pytest

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

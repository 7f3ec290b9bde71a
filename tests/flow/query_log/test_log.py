"""The query log in memory: manifests applied to changes."""

from __future__ import annotations

import pytest

from drover.flow.query_log.log import BatchManifest, QueryLog, advance, parked_frame
from tests.flow.query_log.logs import change, numbers, placed


def test_a_manifest_includes_changes_and_places_and_parks_queries() -> None:
    first = advance(QueryLog(), [change(1, [0, 1, 2])], BatchManifest(4, 1, placed({0: 1, 1: 0, 2: 1})))
    then = advance(
        first, [change(2, [3], [1])], BatchManifest(9, 2, placed({3: 0, 0: 0}), parked_frame({2: "it failed"}))
    )
    assert then.members.select("number", "node", "since", "parked").rows() == [
        (0, 0, 4, None),
        (2, 1, 4, "it failed"),
        (3, 0, 9, None),
    ]
    assert (then.batch, then.last_serial, then.next_number) == (9, 2, 4)


def test_a_number_is_never_given_out_again() -> None:
    query_log = advance(QueryLog(), [change(1, [0, 1])], BatchManifest(0, 1))
    assert advance(query_log, [change(2, (), [1])], BatchManifest(1, 2)).next_number == 2


def test_a_gap_between_changes_is_refused() -> None:
    with pytest.raises(ValueError, match="serial numbers have no gaps"):
        advance(QueryLog(), [change(2, [0])], BatchManifest(0, 2))


def test_a_manifest_must_end_with_the_last_change() -> None:
    with pytest.raises(ValueError, match="the manifest of batch 0 ends with change 2, but the log with 1"):
        advance(QueryLog(), [change(1, [0])], BatchManifest(0, 2))


def test_parked_queries_are_not_live_and_a_drop_removes_them() -> None:
    first = advance(QueryLog(), [change(1, [0, 1])], BatchManifest(0, 1, parked=parked_frame({0: "it failed"})))
    assert first.live["number"].to_list() == [1]
    assert numbers(advance(first, [change(2, (), [0])], BatchManifest(1, 2))) == [1]

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.errors import StateError
from drover.flow.state.segments import Segment
from drover.flow.state.versions import (
    FEW_SEGMENTS,
    HEADER,
    SEGMENT_COST,
    PartState,
    Usage,
    Version,
    advance,
    should_compact,
)

KEY = ("u", "p")


def segment(name: str, newest: int | None = None, *, rows: int = 1, replace: bool = False, length: int = 10) -> Segment:
    return Segment(*KEY, name, 0, length, 0, rows, newest, replace)


def names(version: Version) -> list[str]:
    return [one.file for one in version.part(*KEY).segments]


@pytest.mark.parametrize(
    ("added", "bound", "left"),
    [
        pytest.param([segment("b")], None, ["a", "b"], id="a segment is added behind"),
        pytest.param([segment("b", replace=True)], None, ["b"], id="one that replaces makes the others dead"),
        pytest.param([segment("b", replace=True), segment("c")], None, ["b", "c"], id="what comes after it is live"),
        pytest.param([segment("b"), segment("c", replace=True)], None, ["c"], id="what comes before it is dead"),
        pytest.param([segment("b", rows=0)], None, ["a"], id="a segment without rows is left out"),
        pytest.param([segment("b", rows=0, replace=True)], None, [], id="unless it empties the part"),
        pytest.param([segment("b", 8)], 6, ["b"], id="a segment wholly below the bound is dead"),
        pytest.param([segment("b", 8)], 5, ["a", "b"], id="a row at the bound is live"),
        pytest.param([segment("b")], 9, ["b"], id="rows without a time never die"),
        pytest.param([segment("b", 8)], 9, [], id="a new segment may be dead at once"),
    ],
)
def test_a_batch_adds_replaces_and_evicts(added: Sequence[Segment], bound: int | None, left: list[str]) -> None:
    start = advance(Version(), 0, [segment("a", 5)])
    assert names(advance(start, 1, added, {} if bound is None else {KEY: bound})) == left
    assert names(start) == ["a"]


def test_a_bound_outlives_the_batch_that_set_it() -> None:
    version = advance(advance(Version(), 0, [], {KEY: 7}), 1, [segment("late", 6), segment("timely", 7)])
    assert version.part(*KEY) == PartState((segment("timely", 7),), 7)


def test_a_bound_never_falls() -> None:
    version = advance(Version(), 0, [], {KEY: 7})
    says = "^state of unit 'u', part 'p': expected a bound of at least 7, .*but found 6. Raise a bound or leave it"
    with pytest.raises(StateError, match=says):
        advance(version, 1, [], {KEY: 6})
    assert advance(version, 1, [], {KEY: 7}).part(*KEY) == PartState((), 7)


def test_a_dropped_part_begins_anew() -> None:
    version = advance(Version(), 0, [segment("a", 9)], {KEY: 7})
    assert advance(version, 1, [], dropped=[KEY, ("no", "such")]) == Version(1, {})
    assert advance(version, 1, [segment("b", 1)], {KEY: 0}, [KEY]).part(*KEY) == PartState((segment("b", 1),), 0)


@pytest.mark.parametrize("batch", [-1, 0, 2])
def test_batches_follow_each_other(batch: int) -> None:
    with pytest.raises(StateError, match=f"^state: expected batch 1 after version 0, but found batch {batch}. Load"):
        advance(advance(Version(), 0, []), batch, [])


def test_versions_share_what_did_not_change() -> None:
    other = Segment("v", "p", "x", 0, 10, 0, 1, None, replace=False)
    version = advance(Version(), 0, [segment("a"), other])
    assert advance(version, 1, [segment("b")]).units["v"] is version.units["v"]


def test_usage_counts_what_is_in_files() -> None:
    version = advance(Version(), 0, [segment("a", rows=3, length=100), segment("b", rows=4, length=50)])
    assert version.usage("u") == Usage(bytes=150, rows=7, segments=2)
    assert version.usage("unknown") == Usage()
    assert version.part("unknown", "p") == PartState()


def test_versions_travel_between_processes() -> None:
    version = advance(Version(), 0, [segment("a", 5)], {KEY: 3})
    assert pickle.loads(pickle.dumps(version)) == version


LARGE = 100 * SEGMENT_COST


@pytest.mark.parametrize(
    ("segments", "delta", "live", "answer"),
    [
        pytest.param([], 10, 0, False, id="the first segment is all there is"),
        pytest.param([10], 10, 20, False, id="two small segments stay"),
        pytest.param([10] * (FEW_SEGMENTS - 1), 10, 160, False, id="a few small segments stay"),
        pytest.param([10] * FEW_SEGMENTS, 10, 170, True, id="many small segments are merged"),
        pytest.param([LARGE] * FEW_SEGMENTS, 10, (FEW_SEGMENTS + 1) * LARGE, False, id="not if merging costs more"),
        pytest.param([LARGE] * FEW_SEGMENTS, 10, FEW_SEGMENTS * LARGE + SEGMENT_COST, True, id="if it costs as much"),
        pytest.param([LARGE] * FEW_SEGMENTS, 10, FEW_SEGMENTS * LARGE + SEGMENT_COST + 1, False, id="one byte more"),
        pytest.param([LARGE], LARGE, LARGE - HEADER, False, id="as much dead as live"),
        pytest.param([LARGE], LARGE + 1, LARGE - HEADER, True, id="more dead than live"),
    ],
)
def test_when_to_compact(segments: list[int], delta: int, live: int, answer: bool) -> None:
    state = PartState(tuple(segment("a", length=length) for length in segments))
    assert should_compact(state, delta, live) is answer


def test_a_merged_segment_is_not_counted_among_those_since_it() -> None:
    few = [segment("b", length=10)] * (FEW_SEGMENTS - 1)
    merged = PartState((segment("a", length=10, replace=True), *few))
    assert not should_compact(merged, 10, 170)
    assert should_compact(PartState((*merged.segments, *few[:1])), 10, 170)


@given(
    deltas=st.lists(st.integers(1, 4 * SEGMENT_COST), min_size=1, max_size=300),
    window=st.integers(1, 400),
    whole=st.booleans(),
)
def test_compaction_pays_for_itself_and_bounds_what_there_is(deltas: list[int], window: int, whole: bool) -> None:
    """Rows live for `window` batches; segments die with their newest row, or (not `whole`) rows die one by one."""
    version = Version()
    written = 0
    appended = 0
    for batch, delta in enumerate(deltas):
        live = sum(deltas[max(0, batch - window + 1) : batch + 1])
        merge = should_compact(version.part(*KEY), delta, live)
        length = live if merge else delta
        newest = batch if whole else None
        added = segment(str(batch), newest, replace=merge, length=length)
        version = advance(version, batch, [added], {KEY: max(0, batch - window + 1)})
        written = written + length
        appended = appended + delta
        assert written <= 3 * appended + SEGMENT_COST * (batch + 1)
        usage = version.usage("u")
        assert usage.bytes <= 2 * (live + HEADER) + delta
        assert usage.segments <= FEW_SEGMENTS + 1 + live / SEGMENT_COST

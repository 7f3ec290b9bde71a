"""A state in memory that has missed batches is brought up to date by what they wrote, and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem

from drover.flow.operators import UnitState
from drover.flow.recall import Saved, added_since, load_state, recall
from drover.flow.state.layout import STATE, state_name
from drover.flow.state.segments import Segment, write_deltas
from drover.flow.state.versions import PartState
from drover.flow.worker import deltas_of, saved_after

UNIT = "u"
PARTS = ("grows", "whole")


@dataclass
class History:
    """A unit whose batches all run in one process; after each, what is saved and what is live."""

    root: Path
    live: UnitState = field(default_factory=UnitState)
    saved: Saved = field(default_factory=dict)
    past: list[tuple[Saved, UnitState]] = field(default_factory=lambda: [({}, UnitState())])

    def batch(self, times: list[int], replaced: list[int] | None, bound: int | None, *, rewrite: bool) -> None:
        self.live.begin()
        least = self.live.bounds.get("grows", -100)
        self.live.append("grows", rows([time for time in times if time >= least]))  # what is older came too late
        if replaced is not None:
            self.live.replace("whole", rows(replaced))
        if bound is not None:
            self.live.evict("grows", bound)
        rewritten = frozenset({(UNIT, "grows")}) if rewrite else frozenset()
        name = state_name(len(self.past), 0, "one")
        deltas = list(deltas_of(UNIT, self.live, self.saved, rewritten))
        segments = write_deltas(LocalFileSystem(), str(self.root / STATE), name, deltas)
        self.saved = saved_after(len(self.past), UNIT, self.saved, segments, self.live)
        self.past.append((self.saved, UnitState(dict(self.live.parts), dict(self.live.bounds))))


def rows(times: list[int]) -> pl.DataFrame:
    types = {"t": pl.Int64, "s": pl.String}
    return pl.DataFrame({"t": times, "s": [f"row {time}" for time in times]}, schema=types)


def content(state: UnitState) -> tuple[dict[str, list[tuple[object, ...]]], dict[str, int]]:
    """The rows of each part that has some, and the bounds."""
    return {part: rows for part in PARTS if part in state.parts and (rows := state.parts[part].rows())}, state.bounds


TIMES = st.lists(st.integers(-20, 20), max_size=4)
BATCHES = st.lists(
    st.tuples(TIMES, st.none() | TIMES, st.none() | st.integers(-20, 20), st.booleans()), min_size=1, max_size=8
)


@given(batches=BATCHES, data=st.data())
def test_what_was_kept_and_brought_up_to_date_is_what_is_saved(
    batches: list[tuple[list[int], list[int] | None, int | None, bool]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        history = History(Path(folder))
        (history.root / STATE).mkdir()
        for times, replaced, bound, rewrite in batches:
            history.batch(times, replaced, bound, rewrite=rewrite)
        old, new = (data.draw(st.integers(0, len(batches))) for _ in range(2))  # also back in time
        (known, kept) = history.past[old]
        (saved, live) = history.past[new]
        before = content(kept)
        found, size = recall(folder, UNIT, saved, known, kept)
        whole = load_state(folder, UNIT, saved)
        assert content(found) == content(whole)
        assert content(kept) == before
        assert size <= whole.bytes()
        assert content(found) == content(live)


def test_a_process_that_missed_a_batch_reads_that_batch_alone(tmp_path: Path) -> None:
    history = History(tmp_path)
    (tmp_path / STATE).mkdir()
    history.batch(list(range(1000)), None, None, rewrite=False)
    history.batch([1000], None, 100, rewrite=False)
    known, kept = history.past[1]
    found, size = recall(str(tmp_path), UNIT, history.saved, known, kept)
    assert size < 100  # bytes
    assert found.parts["grows"].get_column("t").to_list() == list(range(100, 1001))
    for name in {segment.file for one in known.values() for segment in one.segments}:
        (tmp_path / STATE / name).unlink()  # nobody looks at it
    assert recall(str(tmp_path), UNIT, history.saved, known, kept)[1] == size


def segment(number: int, newest: int | None) -> Segment:
    return Segment(UNIT, "p", f"file-{number}", 0, 10, 0, 1, newest, replace=False)


A = segment(1, 10)
B = segment(2, 20)
C = segment(3, None)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (PartState(), PartState((A, B)), (A, B)),
        (PartState((A,)), PartState((A, B)), (B,)),
        (PartState((A, B)), PartState((A, B), 5), ()),
        (PartState((A,)), PartState((B,), 15), (B,)),
        (PartState((A,)), PartState((B,)), None),  # it was replaced, or another attempt was committed
        (PartState((A,)), PartState((B,), 10), None),
        (PartState((C,)), PartState((B,), 99), None),
        (PartState((A, B)), PartState((B, A)), None),
        (PartState((A,), 5), PartState((A,), 4), None),
        (PartState((A,), 5), PartState((A,)), None),
        (PartState((A,), -5), PartState((A, B), -5), (B,)),
    ],
)
def test_what_was_kept_counts_only_if_all_of_it_is_still_there_or_dead(
    before: PartState, after: PartState, said: tuple[Segment, ...] | None
) -> None:
    assert added_since(before, after) == said

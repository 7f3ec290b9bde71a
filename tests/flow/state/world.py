"""A driver with two nodes reduced to what it does to state, beside a model that keeps plain lists of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

import pyarrow as pa
import pytest
from pyarrow.fs import FileSystem, LocalFileSystem

from drover.flow.state import commits
from drover.flow.state.commits import Checkpoint, commit, latest, load
from drover.flow.state.documents import Commit
from drover.flow.state.layout import STATE, state_name
from drover.flow.state.retention import sweep
from drover.flow.state.segments import Delta, Key, Segment, live_rows, newest_of, read_parts, write_deltas
from drover.flow.state.storage import join
from drover.flow.state.versions import Version

Row = tuple[int, str]  # time and text
TIMELESS = "blob"  # the part whose rows never grow old

KEYS: tuple[Key, ...] = (("a", "left"), ("a", "right"), ("b", "panes"), ("ü \n'", "panes"), ("c", TIMELESS))


@dataclass(frozen=True)
class Change:
    """What a batch does to one part; `rows` and `bound` as the kind needs them."""

    key: Key
    kind: Literal["append", "replace", "compact", "drop"]
    rows: tuple[Row, ...] = ()
    bound: int | None = None  # how far to raise it


@dataclass(frozen=True)
class Part:
    rows: tuple[Row, ...] = ()
    bound: int | None = None

    @property
    def live(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if self.bound is None or row[0] >= self.bound)


Model = Mapping[Key, Part]
Batch = Sequence[Change]  # at most one change per key


def after(model: Model, batch: Batch) -> Model:
    """The model after a batch."""
    found = dict(model)
    for change in batch:
        old = Part() if change.kind == "drop" else found.get(change.key, Part())
        new = Part(old.live, old.bound)
        if change.kind == "append":
            new = replace(new, rows=old.live + change.rows)
        elif change.kind == "replace":
            new = replace(new, rows=change.rows)
        if change.bound is not None and change.key[1] != TIMELESS:
            new = replace(new, bound=max(change.bound, old.bound or 0))
        found[change.key] = new
    return found


def to_table(rows: Sequence[Row]) -> pa.Table:
    times = [row[0] for row in rows]
    texts = [row[1] for row in rows]
    return pa.table({"time": pa.array(times, pa.int64()), "text": pa.array(texts, pa.string())})


def to_rows(table: pa.Table | None, bound: int | None) -> tuple[Row, ...]:
    if table is None:
        return ()
    live = live_rows(table, "time", bound)
    return tuple(zip(live["time"].to_pylist(), live["text"].to_pylist(), strict=True))


def delta_of(change: Change, model: Model) -> Delta | None:
    """What the node task writes for a change; it holds the live rows, so it can write them all."""
    rows = change.rows if change.kind in {"append", "replace"} else model.get(change.key, Part()).live
    if change.kind == "drop" or (change.kind == "append" and not rows):
        return None
    table = to_table(rows)
    newest = None if change.key[1] == TIMELESS else newest_of(table, "time")
    return Delta(*change.key, table, replace=change.kind != "append", newest=newest)


class Driver:
    """Runs batches on a checkpoint; every node task writes under a name of its own."""

    def __init__(self, root: str, names: Iterator[int] | None = None) -> None:
        self.root = root
        self.names = count() if names is None else names

    def name(self, batch: int, node: int) -> str:
        return state_name(batch, node, f"try{next(self.names)}")

    def run(self, fs: FileSystem, start: Checkpoint, model: Model, batch: Batch, wasted: bool = False) -> Checkpoint:
        """Run the batch after `start`; `wasted` attempts leave orphans."""
        number = start.batch + 1
        added: list[Segment] = []
        for node in (0, 1):
            hosted = [change for change in batch if KEYS.index(change.key) % 2 == node]
            deltas = [delta for change in hosted if (delta := delta_of(change, model)) is not None]
            for _ in range(wasted):
                write_deltas(fs, join(self.root, STATE), self.name(number, node), deltas)
            added.extend(write_deltas(fs, join(self.root, STATE), self.name(number, node), deltas))
        next_model = after(model, batch)
        bounds = {change.key: bound for change in batch if (bound := next_model[change.key].bound) is not None}
        dropped = tuple(change.key for change in batch if change.kind == "drop")
        return commit(
            fs, self.root, start, Commit(number, tuple(added), bounds, dropped, {"plan": number, "marks": [1]})
        )


def check(root: str, found: Checkpoint, model: Model) -> None:
    """Every part of a checkpoint has exactly the live rows of the model."""
    fs = LocalFileSystem()
    version = found.version
    states = {(unit, part): state for unit, parts in version.units.items() for part, state in parts.items()}
    tables = read_parts(fs, join(root, STATE), {key: state.segments for key, state in states.items()})
    assert {key for key, part in model.items() if part.live} <= set(states) <= set(model)
    for key, state in states.items():
        assert state.bound == model[key].bound
        assert to_rows(tables.get(key), state.bound) == model[key].live


@contextmanager
def short_chains(longest: int = 3, least: int = 700) -> Iterator[None]:
    """Write full commits often, so that short histories have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commits, "LONGEST_CHAIN", longest)
        patch.setattr(commits, "LEAST_CHAIN", least)
        yield


def retained(root: str, models: Sequence[Model], keep: int) -> Version:
    """Check that the last `keep` versions load and read as the models (by batch) say; return the last one."""
    fs = LocalFileSystem()
    last = latest(fs, root)
    for batch in range(max(0, last.batch - keep + 1), last.batch + 1):
        check(root, load(fs, root, batch), models[batch])
    return last.version


def sweep_twice(fs: FileSystem, root: str, keep: int) -> None:
    """Sweep, and find nothing left to sweep."""
    sweep(fs, root, keep=keep)
    again = sweep(fs, root, keep=keep)
    assert again.commits == again.state == ()

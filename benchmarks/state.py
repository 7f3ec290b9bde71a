"""The speed of the state store: `python benchmarks/state.py [directory]`; figures are medians in milliseconds."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count

import numpy as np
import pyarrow as pa

from drover.flow.state.commits import Checkpoint, commit, fold, latest
from drover.flow.state.documents import Commit
from drover.flow.state.layout import STATE, state_name
from drover.flow.state.retention import sweep
from drover.flow.state.segments import Delta, Segment, read_parts, read_segments, write_deltas
from drover.flow.state.storage import join, open_root

UNITS = 20_000
CHANGED = 10
SEGMENTS = 4  # per unit


def median(action: Callable[[], object], times: int = 7) -> float:
    """The median time of an action, in milliseconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return 1000 * statistics.median(found)


def show(what: str, milliseconds: float, more: str = "") -> None:
    print(f"{what:62} {milliseconds:10.2f} ms  {more}")


def changes(batch: int, units: range) -> Commit:
    file = state_name(batch, 0, "a")
    added = (
        Segment(f"unit {j}", "panes", file, 512 * j, 500, 1 << 31, 10, 10**15 + batch, replace=False) for j in units
    )
    return Commit(batch, tuple(added), {(f"unit {j}", "panes"): batch for j in units}, notes={"plan": 1})


def bench_commits(root: str) -> None:
    fs, path = open_root(root)
    made = Checkpoint()
    for batch in range(SEGMENTS):
        made = commit(fs, path, made, changes(batch, range(UNITS)))
    taken = []
    for batch in range(SEGMENTS, SEGMENTS + 40):
        entry = changes(batch, range(CHANGED * batch, CHANGED * (batch + 1)))
        start = time.perf_counter()
        made = commit(fs, path, made, entry, folding=False)
        taken.append(1000 * (time.perf_counter() - start))
    show(f"commit of {CHANGED} of {UNITS} units", statistics.median(taken), f"worst {max(taken):.1f}")
    due = [Checkpoint(made.version, made.notes, made.link, chain=99)]
    show("full commit", median(lambda: fold(fs, path, due[0]), 3), f"{fold(fs, path, due[0]).full_bytes / 1e6:.1f} MB")
    show("load the last version, full commit alone", median(lambda: latest(fs, path), 3))
    show("sweep, versions in memory", median(lambda: sweep(fs, path, [made.version]), 3))
    show("sweep, versions from the log", median(lambda: sweep(fs, path), 3))


def bench_rows(root: str) -> None:
    fs, path = open_root(root)
    rng = np.random.default_rng(0)
    names = count()
    rows = 1_000_000
    times = np.sort(rng.integers(0, 10**7, rows))
    table = pa.table({"time": times, "key": rng.integers(0, 1000, rows), "value": rng.normal(size=rows)})
    folder = join(path, STATE)

    def write(deltas: list[Delta]) -> tuple[Segment, ...]:
        return write_deltas(fs, folder, state_name(0, 0, str(next(names))), deltas)

    large = [Delta("u", "left", table)]
    show("write 24 MB, one delta", median(lambda: write(large)))
    segments = write(large)
    show("read 24 MB, one segment", median(lambda: read_segments(fs, folder, segments)))
    small = [Delta(f"unit {j}", "panes", table.slice(j * 50, 50)) for j in range(1_000)]
    show("write 1000 deltas of 50 rows, one file", median(lambda: write(small)))
    found = write(small)
    parts = {segment.key: [segment] for segment in found}
    show("read 1000 parts of 50 rows, one file", median(lambda: read_parts(fs, folder, parts)))
    show("write 1 delta of 50 rows", median(lambda: write(small[:1])))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as place:
        bench_commits(join(place, "commits"))
        bench_rows(join(place, "rows"))

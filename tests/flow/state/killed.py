"""A run that commits batch after batch until somebody kills it; started by test_kill.py.

The row of batch b in part p is (b, p); every batch raises the bound so that ten rows live, and rewrites now and then.
"""

from __future__ import annotations

import os
import sys

from drover.flow.state.commits import commit, latest
from drover.flow.state.documents import Commit
from drover.flow.state.layout import STATE, state_name
from drover.flow.state.lock import Holder, hold
from drover.flow.state.retention import sweep
from drover.flow.state.segments import Delta, live_rows, read_segments, write_deltas
from drover.flow.state.storage import join, open_root
from tests.flow.state.world import to_table

LIVE = 10  # rows


def main(root: str) -> None:
    fs, path = open_root(root)
    with hold(fs, path, Holder(os.getpid(), "here", "now")):
        checkpoint = latest(fs, path)
        while True:
            batch = checkpoint.batch + 1
            bound = max(0, batch - LIVE + 1)
            deltas = []
            for part in ("left", "right"):
                state = checkpoint.version.part("u", part)
                table = to_table([(batch, part)])
                merge = batch % 7 == 6
                if merge:
                    old = live_rows(read_segments(fs, join(path, STATE), state.segments), "time", bound)
                    table = to_table([*zip(*old.to_pydict().values(), strict=True), (batch, part)])
                deltas.append(Delta("u", part, table, merge, batch))
            name = state_name(batch, 0, str(os.getpid()))
            segments = write_deltas(fs, join(path, STATE), name, deltas)
            bounds = {("u", "left"): bound, ("u", "right"): bound}
            checkpoint = commit(fs, path, checkpoint, Commit(batch, segments, bounds, notes={"rows": batch + 1}))
            sys.stdout.write(f"{batch}\n")
            sys.stdout.flush()
            if batch % 5 == 0:
                sweep(fs, path, keep=3)


if __name__ == "__main__":
    main(sys.argv[1])

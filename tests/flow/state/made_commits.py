"""Commits of made-up content, for tests of the commit log."""

from __future__ import annotations

from pathlib import Path

from drover.flow.state.commits import Checkpoint, commit
from drover.flow.state.documents import Commit
from drover.flow.state.layout import COMMITS, commit_name
from drover.flow.state.segments import Segment
from tests.flow.state.faults import broken

SOUND = broken(None)[0]


def segment(unit: str, batch: int, file: str = "f") -> Segment:
    return Segment(unit, "p", f"{batch:012}-0-{file}.arrow", 8, 100, 123456, 3, batch, replace=batch % 7 == 0)


def entry(batch: int, file: str = "f") -> Commit:
    keys = {(f"u{batch % 3}", "p"): batch}
    dropped = (("u1", "p"),) if batch % 5 == 4 else ()
    return Commit(batch, (segment(f"u{batch % 3}", batch, file),), keys, dropped, {"plan": batch})


def make(root: Path, batches: int) -> list[Checkpoint]:
    """Commit so many batches; return the checkpoints, the empty one first."""
    found = [Checkpoint()]
    for batch in range(batches):
        found.append(commit(SOUND, str(root), found[-1], entry(batch)))
    return found


def commit_file(root: Path, batch: int) -> Path:
    return root / COMMITS / commit_name(batch)

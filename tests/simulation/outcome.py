"""One history from its seed to its verdict."""

from __future__ import annotations

import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.judge import judge
from tests.simulation.run import SimulatedRun

MEMORY = Path("/dev/shm")  # a disk that is fast enough for ten thousand histories


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a history; `failure` is None if every row is right."""

    seed: int
    failure: str | None
    story: tuple[str, ...]  # what happened
    calls: int  # of storage
    faults: int  # that came true
    batches: int  # that were committed


def simulate(seed: int) -> Outcome:
    """Play the history of a seed, and judge it."""
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        where = Path(folder) / "disk"
        where.mkdir()
        run = SimulatedRun(seed, where)
        failure = None
        try:
            run.play()
            judge(run, Path(folder))
        except Exception:  # noqa: BLE001 - whatever goes wrong is the result
            failure = traceback.format_exc(limit=-8)
        story = tuple(line.replace(str(where), "") for line in run.story)
        return Outcome(seed, failure, story, run.faults.calls, len(run.faults.struck), len(run.batches))

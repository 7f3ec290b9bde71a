"""Checkpoints with files of every kind, and ways to damage one file.

The run is that of `old_checkpoint.py`: queries, tables, a spread join, moves, a failing operator, dead letters. It
gives two checkpoints: of a run that was stopped, and of one that died in a batch while queries came and went.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

import drover
from tests.spark import make_old_checkpoint as making
from tests.spark import old_checkpoint as old

STOPPED: Final = "stopped"
DIED: Final = "died"
PAST: Final = "past"  # the checkpoint as it was after the first file
LAST_FILE: Final = old.DIED_IN + 1  # what a run reads after a restart: the file it died in, and this one
SOONER: Final = {
    "drover.flow.state.commits.LEAST_CHAIN": 4_000,  # bytes
    "drover.flow.query_log.files.LEAST_CHAIN": 1_000,  # bytes
    "drover.spark.driver.SWEEP_EVERY": 5,  # batches
    "drover.spark.queries.service.REVIEW_EVERY": 3,  # batches
}
COMPACT_EVERY: Final = "spark.sql.streaming.fileSource.log.compactInterval"
ENDPOINT: Final = "control/endpoint.json"
RowsIn = Mapping[int, Mapping[str, int]]  # rows by batch and source
IN_PLACE: Final = ("lock", "tables.db")  # other files are replaced, never changed, so a link to them is a copy


@contextmanager
def everything_sooner(spark: SparkSession) -> Iterator[None]:
    """Let whole versions, snapshots, sweeps and compacted logs come after a few batches."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SOONER.items():
            patch.setattr(name, value)
        spark.conf.set(COMPACT_EVERY, "3")
        try:
            yield
        finally:
            spark.conf.unset(COMPACT_EVERY)


def make_checkpoints(spark: SparkSession, folder: Path) -> dict[str, RowsIn]:
    """Run until `folder` has `stopped`, `died` and `past`; return the batches of both checkpoints.

    The rows are in `run/in`, where Spark has read them.
    """
    run = folder / "run"
    run.mkdir(parents=True)
    handles: list[drover.Handle] = []

    def start_and_keep(*args: Any, **options: Any) -> drover.Handle:  # Any: as `old.start`
        handles.append(started(*args, **options))
        return handles[-1]

    def finish_file(handle: drover.Handle) -> int:
        # In the first run the files of both sources may come in one batch or in two: both are fine here.
        handle.processAllAvailable()
        handle.control.wait()
        return 0

    def take_queries_later(handle: drover.Handle) -> None:
        keep(run, folder / PAST)
        making.take_queries(handle)

    started = old.start
    with everything_sooner(spark), pytest.MonkeyPatch.context() as patch:
        patch.setattr(old, "start", start_and_keep)
        patch.setattr(making, "finish_file", finish_file)
        patch.setattr(making, "CHANGES", [take_queries_later, *making.CHANGES[1:]])
        making.first_run(spark, run)
        keep(run, folder / STOPPED)
        making.second_run(spark, run)
        keep(run, folder / DIED)
    # A run that is killed cannot delete this file.
    shutil.copy(folder / PAST / "checkpoint" / ENDPOINT, folder / DIED / "checkpoint" / ENDPOINT)
    first, second = map(rows_in, handles)
    return {STOPPED: first, DIED: {**first, **second}}


def rows_in(handle: drover.Handle) -> RowsIn:
    """Return how many rows of each source every committed batch had."""
    return {one["batch"]: one["rowsIn"] for one in handle.batches}


def files_of(batches: RowsIn) -> dict[int, old.Rows]:
    """Return the rows of every batch: of each source one file, or none."""
    taken = dict.fromkeys(("orders", "payments"), 0)
    found = {}
    for batch, counts in sorted(batches.items()):
        now = {source: old.rows_of(number)[source] for source, number in taken.items()}
        found[batch] = {source: rows if counts.get(source) else rows.clear() for source, rows in now.items()}
        taken = {source: number + bool(counts.get(source)) for source, number in taken.items()}
    return found


def keep(run: Path, target: Path) -> None:
    """Copy a run, except its input."""
    shutil.copytree(run, target, ignore=lambda _, names: [name for name in names if name == "in"])


def linked_copy(folder: Path, target: Path) -> Path:
    """Copy a run for one case. Files that nobody changes in place are linked."""

    def copy(source: str, destination: str) -> str:
        if Path(source).name.startswith(IN_PLACE):
            return str(shutil.copy2(source, destination))
        os.link(source, destination)
        return destination

    return Path(shutil.copytree(folder, target, copy_function=copy))


def kind_of(name: str) -> str:
    """Return a path within a checkpoint without numbers and digests.

    >>> kind_of("state/000000000010-0-0-1cb9e14c03e1.arrow")
    'state/N-N-N-H.arrow'
    """
    return re.sub(r"\d+", "N", re.sub(r"\b[0-9a-f]{12,}\b(?<!\d{12})", "H", name))


def kinds_in(checkpoint: Path) -> dict[str, list[str]]:
    """Return the files of a checkpoint by kind, oldest first."""
    found: dict[str, list[str]] = {}
    for path in sorted(checkpoint.rglob("*"), key=_order):
        if path.is_file():
            name = str(path.relative_to(checkpoint))
            found.setdefault(kind_of(name), []).append(name)
    return found


def _order(path: Path) -> tuple[object, ...]:
    numbers = re.findall(r"\d+", path.name)
    return (path.stat().st_mtime_ns if "families" in path.parts else 0, int(numbers[0]) if numbers else 0, path.name)


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """What happens to one file of a checkpoint."""

    name: str
    damage: str
    older: str | None  # a file of the same kind to swap it with; None for the same file in the past

    def __str__(self) -> str:
        return f"{self.name} {self.damage}"

    def do(self, checkpoint: Path, past: Path) -> None:
        """Damage the file."""
        path = checkpoint / self.name
        before = path.read_bytes()
        other = past / self.name if self.older is None else checkpoint / self.older
        after = DAMAGES[self.damage](before, other.read_bytes() if other.exists() else None, self.name)
        path.unlink()
        if after is not None:
            path.write_bytes(after)


Damage = Callable[[bytes, bytes | None, str], bytes | None]


def _flip(data: bytes, _: bytes | None, name: str) -> bytes:
    changed = bytearray(data)
    if changed:
        place = zlib.crc32(name.encode())  # anywhere, and the same in every run
        changed[place % len(changed)] ^= 1 << place % 8
    return bytes(changed)


DAMAGES: Final[Mapping[str, Damage]] = {
    "deleted": lambda *_: None,
    "truncated": lambda data, *_: data[: len(data) // 2],
    "with a flipped bit": _flip,
    "swapped with an older one": lambda data, other, _: data if other is None else other,
    "emptied": lambda *_: b"",
}


def damages_of(kinds: Mapping[str, list[str]]) -> list[DamagedFile]:
    """Return every damage to the newest file of every kind, and to one in the middle."""
    cases = []
    for names in kinds.values():
        for at in sorted({len(names) // 2, len(names) - 1}):
            older = names[at - 1] if at else None
            cases += [DamagedFile(names[at], damage, older) for damage in DAMAGES]
    return cases


def start(spark: SparkSession, folder: Path, rows: Path, **options: Any) -> drover.Handle:  # Any: of `drover.run`
    """Continue a copy of the run, with its own outputs; `rows` has the files of the sources."""
    network = old.whole_network()
    schema = ", ".join(f"{name} {kind}" for name, kind in old.COLUMNS.items())
    sources = {
        name: spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(rows / name))
        for name in ("orders", "payments")
    }
    usual: dict[str, Any] = {
        "checkpoint": str(folder / "checkpoint"),
        "nodes": old.NODES,
        "trigger": {"availableNow": True},
        "dead_letters": drover.sinks.Files(str(folder / "dead")),
        "queries": drover.sinks.Files(str(folder / "answers")),
        "limits": {"greedy": {"busy": 0}},
    }
    outputs = {name: drover.sinks.Files(str(folder / "out" / name)) for name in network.outputs}
    return drover.run(network, sources, outputs, **{**usual, **options})


def results(folder: Path) -> dict[str, list[str]]:
    """Return all rows of a run, as sorted text by stream or table of answers."""
    found = {}
    for place in sorted([*(folder / "out").iterdir(), *(folder / "answers").iterdir(), folder / "dead"]):
        if any(place.glob("*.parquet")):
            found[place.name] = sorted(map(str, old.read_files(place).rows()))
    return found

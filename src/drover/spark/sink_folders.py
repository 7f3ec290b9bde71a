"""Folders of sinks: each knows the runs that write to it, so that two runs do not mix their rows by mistake.

Rule 1: a folder has an empty file, `_drover-run-ID`, for each run that writes to it. The name says everything, because
Polars reads every file of a folder that is not empty, whatever its name.
Rule 2: all folders are checked before the first is changed. Only files that drover names are ever deleted.
Rule 3: a run that adds to the rows of another puts its id into the names of its files. Both count batches from 0, so
equal names would replace rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from drover.errors import DroverError, shorten
from drover.files import make_durable_folder, sync
from drover.spark.run_identity import RunIdentity
from drover.wording import count

MARKER: Final = re.compile(r"_drover-run-(?P<run>[0-9a-f]{32})(?P<added>-added)?", re.ASCII)
DATA: Final = re.compile(r"(?P<batch>\d{12,})(-[0-9a-f]{8})?\.(parquet|json|csv)", re.ASCII)
LEFT_OVER: Final = re.compile(rf"\.{DATA.pattern}\.tmp".replace("?P<batch>", ""), re.ASCII)  # by a crash
SUFFIXES: Final = frozenset({".parquet", ".json", ".ndjson", ".csv"})  # of files that a reader would take for rows
TABLE: Final = re.compile(r".*-[0-9a-f]{8}", re.DOTALL)  # a folder with results of submitted queries


class ExistingRows(StrEnum):
    """What to do with a sink folder that has rows of another run."""

    REFUSE = "refuse"
    OVERWRITE = "overwrite"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True)
class SinkFolder:
    """A folder that a run writes to."""

    path: Path
    existing: ExistingRows


@dataclass(frozen=True, slots=True)
class FolderClaim:
    """What must be done before a run may write to a folder."""

    path: Path
    run: str
    added: bool = False  # whether the rows of another run stay in the folder
    deleted: tuple[Path, ...] = ()

    @property
    def marker(self) -> Path:
        """The file that says that the run writes here."""
        return self.path / f"_drover-run-{self.run}{'-added' if self.added else ''}"

    @property
    def word(self) -> str:
        """What the run adds to the names of its files."""
        return f"-{self.run[:8]}" if self.added else ""


def existing_rows(given: str) -> ExistingRows:
    """Return what to do with rows of another run; DroverError if there is no such choice."""
    try:
        return ExistingRows(given)
    except ValueError:
        choices = ", ".join(ExistingRows)
        raise DroverError(f"existing is {shorten(given)}, but must be one of {choices}. Choose one.") from None


def check_folders(folders: Iterable[SinkFolder], run: RunIdentity, committed: int) -> tuple[FolderClaim, ...]:
    """Return what must be done before a run may write to its folders; DroverError if it may not. This writes nothing.

    `committed` is the last batch of the run's checkpoint.
    """
    return tuple(_check(folder, run, committed) for folder in folders)


def claim_folders(claims: Iterable[FolderClaim]) -> None:
    """Delete what is overwritten, and mark each folder with the run."""
    for claim in claims:
        if not claim.marker.exists():
            make_durable_folder(claim.path)
            for path in claim.deleted:
                path.unlink(missing_ok=True)
            # Last: if the run dies before this, the next start deletes the same files again.
            claim.marker.touch()
            sync(claim.path)


def _check(folder: SinkFolder, run: RunIdentity, committed: int) -> FolderClaim:
    path = folder.path
    if path.exists() and not path.is_dir():
        raise DroverError(f"the sink folder {path} is a file, but must be a folder. Name another path.")
    markers = [found for name in _names(path) if (found := MARKER.fullmatch(name))]
    own = next((found for found in markers if found["run"] == run.id), None)
    if own is not None:
        return FolderClaim(path, run.id, own["added"] is not None)
    rows = [path / name for name in _names(path) if _has_rows(name)] + list(_query_rows(path))
    stale = tuple(path / found.string for found in markers)
    # A run that has written nothing yet may still be running, so its folder is not free either.
    if not markers and (not rows or (run.upgraded and _could_be_own(rows, committed))):
        return FolderClaim(path, run.id)
    if folder.existing is ExistingRows.ADOPT:
        return FolderClaim(path, run.id, added=True)
    # Only files that drover has written may be deleted; their names show it.
    foreign = [one for one in rows if not DATA.fullmatch(one.name)]
    if folder.existing is ExistingRows.OVERWRITE and not foreign:
        left = (path / name for name in _names(path) if LEFT_OVER.fullmatch(name))
        return FolderClaim(path, run.id, deleted=(*rows, *left, *stale))
    raise _refusal(path, rows, [found["run"] for found in markers], foreign)


def _refusal(path: Path, rows: list[Path], runs: list[str], foreign: list[Path]) -> DroverError:
    files = count(len(rows), "file")
    if not rows:
        return DroverError(
            f"the sink folder {path} belongs to run {', '.join(run[:8] for run in runs)}, though it has no rows yet. "
            "Name another folder, or write --overwrite (existing='overwrite') if that run is over."
        )
    if foreign:
        return DroverError(
            f"the sink folder {path} has {files} of rows, and drover has not written {foreign[0].name}. Name another "
            "folder, or write --adopt (existing='adopt') to add rows to these."
        )
    whose = f"run {', '.join(run[:8] for run in runs)}" if runs else "a run that drover does not know"
    return DroverError(
        f"the sink folder {path} has {files} of {whose}, and rows of this run would be mixed with them. Name another "
        "folder, write --overwrite (existing='overwrite') to delete these files, or --adopt (existing='adopt') to add "
        "rows to them."
    )


def _could_be_own(rows: list[Path], committed: int) -> bool:
    """Return whether a run of an earlier version, which marked nothing, may have written these files."""
    numbers = [found["batch"] for one in rows if (found := DATA.fullmatch(one.name))]
    return len(numbers) == len(rows) and all(int(number) <= committed + 1 for number in numbers)


def _query_rows(path: Path) -> Iterator[Path]:
    """Yield the files with results of submitted queries, which are one folder deeper."""
    if path.is_dir():
        for folder in sorted(path.iterdir()):
            if folder.is_dir() and TABLE.fullmatch(folder.name) and not any(map(MARKER.fullmatch, _names(folder))):
                yield from (folder / name for name in _names(folder) if _has_rows(name))


def _has_rows(name: str) -> bool:
    return not name.startswith((".", "_")) and Path(name).suffix in SUFFIXES


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_file()) if folder.is_dir() else []

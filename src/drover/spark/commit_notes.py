"""What the driver notes in the commit of a batch, beside the state itself.

Rule 1: this is part of the checkpoint format: keys are added, never renamed, and each may be absent in an older commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from drover.flow.state.commits import Checkpoint
from drover.flow.tables.internal import TablesMark, mark_from
from drover.flow.watermarks import SourceProgress

NONE: Final = -1  # the batch before Spark's first


@dataclass(frozen=True, slots=True)
class CommitNotes:
    """The notes of a commit; those of submitted queries are in `queries.recovery`."""

    spark_batch: int = NONE  # the last of Spark's batches that is in the state
    plan: int = 0  # number of the plan
    planned: int | None = None  # the batch whose entry in the plan log has the plan; None before the first commit
    progress: SourceProgress = field(default_factory=SourceProgress)
    parked: Mapping[str, str] = field(default_factory=dict)  # reason by operator
    tables: TablesMark | None = None  # of the tables in the checkpoint; None if there never were any
    run: str | None = None  # the id of the run; None before the first commit, and in commits of earlier versions


def notes_of(checkpoint: Checkpoint) -> CommitNotes:
    """Return the notes of the last commit."""
    found = checkpoint.notes
    return CommitNotes(
        int(found.get("spark_batch", NONE)),
        int(found.get("plan", 0)),
        found.get("planned"),
        SourceProgress(found.get("late", {}), found.get("now", {})),
        found.get("parked", {}),
        mark_from(found.get("tables")),
        found.get("run"),
    )


def to_json(notes: CommitNotes) -> dict[str, Any]:  # Any: JSON
    """Return the notes as a commit has them."""
    return {
        "spark_batch": notes.spark_batch,
        "plan": notes.plan,
        "planned": notes.planned,
        "late": dict(notes.progress.late),
        "now": dict(notes.progress.now),
        "parked": dict(notes.parked),
        **({} if notes.run is None else {"run": notes.run}),
        **({} if notes.tables is None else {"tables": notes.tables.to_json()}),
    }

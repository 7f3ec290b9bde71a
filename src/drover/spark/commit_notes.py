"""What the driver notes in the commit of a batch, beside the state itself.

Rule 1: this is part of the checkpoint format: keys are added, never renamed, and each may be absent in an older commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from drover.flow.parking import ParkedOperator, details_to_json, parked_from_json
from drover.flow.state.commits import Checkpoint
from drover.flow.state.digests import Digests
from drover.flow.tables.internal import TablesMark, mark_from
from drover.flow.watermarks import SourceProgress
from drover.spark.row_totals import RowTotals, totals_from
from drover.spark.row_totals import to_json as totals_to_json

NONE: Final = -1  # the batch before Spark's first
CHANGEOVER: Final = (
    "changeover"  # only in a commit that changes over to another form of the network and computes nothing
)


@dataclass(frozen=True, slots=True)
class CommitNotes:
    """The notes of a commit; those of submitted queries are in `queries.recovery`."""

    spark_batch: int = NONE  # the last of Spark's batches that is in the state
    plan: int = 0  # number of the plan
    planned: int | None = None  # the batch whose entry in the plan log has the plan; None before the first commit
    progress: SourceProgress = field(default_factory=SourceProgress)
    parked: Mapping[str, ParkedOperator] = field(default_factory=dict)
    files: Digests = field(default_factory=dict)  # what the next start reads besides state and queries
    tables: TablesMark | None = None  # of the tables in the checkpoint; None if there never were any
    run: str | None = None  # the id of the run; None before the first commit, and in commits of earlier versions
    totals: RowTotals = field(default_factory=RowTotals)  # rows that were not used, up to this batch


def notes_of(checkpoint: Checkpoint) -> CommitNotes:
    """Return the notes of the last commit."""
    found = checkpoint.notes
    return CommitNotes(
        int(found.get("spark_batch", NONE)),
        int(found.get("plan", 0)),
        found.get("planned"),
        SourceProgress(found.get("late", {}), found.get("now", {})),
        parked_from_json(found.get("parked", {}), found.get("parking", {})),
        found.get("files", {}),
        mark_from(found.get("tables")),
        found.get("run"),
        totals_from(found.get("totals", {})),
    )


def to_json(notes: CommitNotes) -> dict[str, Any]:  # Any: JSON
    """Return the notes as a commit has them."""
    return {
        "spark_batch": notes.spark_batch,
        "plan": notes.plan,
        "planned": notes.planned,
        "late": dict(notes.progress.late),
        "now": dict(notes.progress.now),
        **parked_to_json(notes.parked),
        "files": dict(notes.files),
        **({} if notes.totals == RowTotals() else {"totals": totals_to_json(notes.totals)}),
        **({} if notes.run is None else {"run": notes.run}),
        **({} if notes.tables is None else {"tables": notes.tables.to_json()}),
    }


def parked_to_json(parked: Mapping[str, ParkedOperator]) -> dict[str, Any]:  # Any: JSON
    """Return parked operators as a commit has them: reasons, as always, and all else beside them."""
    return {"parked": {name: one.reason for name, one in parked.items()}, "parking": details_to_json(parked)}


@dataclass(frozen=True, slots=True)
class NetworkChangeover:
    """The changeover to another form of the network, as its commit has it."""

    batch: int  # of the commit
    network: str  # the new form, as a network file
    replaces: str  # checksum of the form before
    renamed: Mapping[str, str]  # new name of an operator by its old one


def changeover_of(checkpoint: Checkpoint) -> NetworkChangeover | None:
    """Return the changeover that the last commit made; None if it is the commit of a batch."""
    found = checkpoint.notes.get(CHANGEOVER)
    if found is None:
        return None
    return NetworkChangeover(checkpoint.batch, found["network"], found["replaces"], found["renamed"])


def changeover_to_json(changeover: NetworkChangeover) -> dict[str, Any]:  # Any: JSON
    """Return a changeover as a commit has it."""
    body = {"network": changeover.network, "replaces": changeover.replaces, "renamed": dict(changeover.renamed)}
    return {CHANGEOVER: body}

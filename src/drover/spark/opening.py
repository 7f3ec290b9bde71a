"""Opening a checkpoint: every check first, and only then what a new run writes.

Rule 1: a refused run leaves no trace, except tables that it has created, and that nothing vouches for `tables.db` then.
Rule 2: a crash between two writes does no harm, because they have an order: the changeover to another form of the
network, the network itself, the id of the run, and the marks in the folders of sinks.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from drover.flow.planlog import PlanLogEntry
from drover.flow.state.commits import Checkpoint, latest
from drover.flow.state.storage import open_root
from drover.flow.tables import Address, TablesMark, prepare_tables
from drover.network.model import Network
from drover.spark.changeover import change_over
from drover.spark.changes import change_of, check_change, note_network
from drover.spark.commit_notes import notes_of
from drover.spark.integrity import Integrity
from drover.spark.offsets import read_progress, spark_batch
from drover.spark.planner import Planner
from drover.spark.run_identity import recall_run, save_run
from drover.spark.sink_folders import ExistingRows, FolderClaim, check_folders, claim_folders
from drover.spark.sinks import Sink, sink_folders


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a start may change or lose."""

    changes: bool | Collection[str] = False  # operators and tables whose state may be lost, or all
    existing: ExistingRows = ExistingRows.REFUSE  # what to do with sink folders that have rows of another run


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A checkpoint that a run continues from."""

    checkpoint: Checkpoint
    run_id: str  # the same for all runs on the checkpoint
    tables: TablesMark | None  # of the tables in the checkpoint
    claims: tuple[FolderClaim, ...]  # of the folders of sinks
    planned: PlanLogEntry | None  # the entry of the next batch
    begun: bool  # whether an earlier run may have begun that batch
    renamed: Mapping[str, str] = field(default_factory=dict)  # operators that got another name


def open_checkpoint(
    root: str,
    network: Network,
    tables: Mapping[str, Address],
    sinks: Collection[Sink],
    planner: Planner,
    integrity: Integrity,
    permissions: Permissions,
) -> OpenedRun:
    """Check a locked checkpoint, change it over to the network, and return what the run continues from."""
    fs, path = open_root(root)
    checkpoint = latest(fs, path)
    integrity.verify(checkpoint)
    progress = read_progress(fs, path, checkpoint)
    planned = planner.recover(checkpoint)
    notes = notes_of(checkpoint)
    identity = recall_run(fs, path, notes.run)
    claims = tuple(check_folders(sink_folders(sinks, permissions.existing), identity, checkpoint.batch))
    change = change_of(fs, path, checkpoint, network)
    if change is not None:
        check_change(path, change, permissions.changes)
    # From here on, this run changes files that the witness of the last run vouches for.
    integrity.release()
    mark = prepare_tables(network, tables, notes.tables, checkpoint.batch, new_id=uuid.uuid4().hex)
    renamed: Mapping[str, str] = {}
    if change is not None and change.is_any:
        checkpoint = change_over(root, checkpoint, change, tables, integrity.announce_network)
        renamed = dict(change.comparison.renamed)
        planned = planner.recover(checkpoint)
    note_network(fs, path, network, partial(integrity.announce_network, checkpoint))
    # Before the folders: their marks carry the id, and a run must recognise its own after a crash.
    save_run(fs, path, identity)
    claim_folders(claims)
    begun = progress.begun > spark_batch(checkpoint)
    return OpenedRun(checkpoint, identity.id, mark, claims, planned, begun, renamed)

"""What a catalog starts with: the queries of the last committed batch, and the changes that wait for the next.

Rule 1: an accepted query that no longer fits the network is parked with the reason. No query disappears silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from drover.errors import NetworkError
from drover.flow.query_log.files import recover
from drover.flow.query_log.log import ADDED, PLACED, BatchManifest, Change, QueryLog
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import open_root
from drover.network.model import Network
from drover.network.queries import Query, Shaped, Shapes
from drover.network.queries.notation import entries_of
from drover.network.queries.read import read_entry
from drover.spark.queries.families import (
    Families,
    Family,
    family_of_texts,
    merged,
    tables_of,
    update_families,
)
from drover.spark.queries.names import QueryNames

# In the notes of a commit: under NOTES, the batch of the last manifest and the queries that failed. Checkpoints have
# these keys, so they stay.
NOTES: Final = "queries"
MANIFEST_NOTE: Final = "turn"
LINK_NOTE: Final = "link"  # checksum of that manifest
FAILED_NOTE: Final = "failed"
OTHER_COLUMNS: Final = (
    "the streams that it reads have other columns than when it was accepted. Drop it and submit it again"
)


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change that waits for a batch, with the member tables of the queries it adds."""

    change: Change
    tables: Mapping[str, Family] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RecoveredCatalog:
    """The state of a catalog, as its checkpoint has it."""

    query_log: QueryLog
    families: Families
    pending: Sequence[PendingChange]
    names: QueryNames
    failed: dict[int, str]  # to be parked with the next batch that is not a replay
    begun: BatchManifest | None  # of a batch that an earlier run may have begun
    last_serial: int  # of the last change
    last_link: str  # its checksum
    next_number: int  # for the next query
    nodes: pl.DataFrame  # PLACED: of the queries that have one


def recover_catalog(root: str, checkpoint: Checkpoint, shapes: Shapes) -> RecoveredCatalog:
    """Read the queries of a checkpoint."""
    notes: Mapping[str, Any] = checkpoint.notes.get(NOTES, {})  # Any: JSON
    found = recover(*open_root(root), checkpoint.batch, notes.get(MANIFEST_NOTE, -1), notes.get(LINK_NOTE, ""))
    query_log = found.query_log
    names = QueryNames()
    failed = {int(number): reason for number, reason in notes.get(FAILED_NOTE, {}).items()}
    families = update_families(Families(), query_log, [shape_all(query_log.live, shapes, failed)], ())
    names.add(query_log.members.select("name", "number", "tenant").iter_rows())
    pending = []
    next_number = query_log.next_number
    name_of = dict(query_log.members.select("number", "name").iter_rows())
    # In order, because a later change may drop a query of an earlier one, and use its name again.
    for change in found.pending:
        pending.append(PendingChange(change, shape_all(change.added, shapes, failed)))
        names.add(change.added.select("name", "number", "tenant").iter_rows())
        name_of |= dict(change.added.select("number", "name").iter_rows())
        names.remove(name_of[number] for number in change.dropped)
        next_number = max(next_number, *(number + 1 for number in change.added["number"]), 0)
    nodes = query_log.live.select(PLACED.names())
    # A batch that was begun is replayed with the nodes of its manifest, so the placer must know these.
    if found.begun is not None:
        nodes = pl.concat([found.begun.placed, nodes]).unique("number", keep="first", maintain_order=True)
    return RecoveredCatalog(
        query_log, families, pending, names, failed, found.begun, *found.newest_change, next_number, nodes
    )


def shape_all(queries: pl.DataFrame, shapes: Shapes, failed: dict[int, str]) -> dict[str, Family]:
    """Return the families of queries; add those that no longer fit the network to `failed`, with the reason."""
    if queries.is_empty():
        return {}
    from drover.network.queries.text_shapes import TextShapes  # noqa: PLC0415 - it loads compiled code

    numbers = queries["number"].to_numpy()
    stored = queries["family"].to_numpy()
    families = []
    alone = np.ones(len(numbers), bool)
    for found in TextShapes(shapes).shape_of(queries["text"]):
        alone[found.positions] = False
        # The log knows a query as a member of one family, and state of another family has other columns.
        same = stored[found.positions] == found.shape.id
        for number in numbers[found.positions[~same]].tolist():
            failed.setdefault(number, OTHER_COLUMNS)
        if same.any():
            families.append(family_of_texts(found.only(same), numbers[found.positions[same]]))
    others = queries.select("number", "text", "family").filter(pl.Series(alone))
    return merged([*families, *tables_of(_shaped_alone(others, shapes, failed)).values()])


def _shaped_alone(queries: pl.DataFrame, shapes: Shapes, failed: dict[int, str]) -> Iterator[tuple[int, Query, Shaped]]:
    for number, text, family in queries.iter_rows():
        draft = read_entry(entries_of(text, ".jsonl")[0])
        try:
            if draft.query is None:
                raise NetworkError(draft.faults)
            shaped = shapes.shape_of(draft.query)
        except NetworkError as error:
            failed.setdefault(number, f"it no longer fits the network: {error.faults[0].text}")
            continue
        if shaped.shape.id == family:
            yield number, draft.query, shaped
        else:
            failed.setdefault(number, OTHER_COLUMNS)


def misfits(root: str, checkpoint: Checkpoint, network: Network) -> dict[str, str]:
    """Return why queries of a checkpoint would be parked if another network continued there, by name."""
    notes: Mapping[str, Any] = checkpoint.notes.get(NOTES, {})  # Any: JSON
    found = recover(*open_root(root), checkpoint.batch, notes.get(MANIFEST_NOTE, -1))
    failed: dict[int, str] = {}
    queries = pl.concat([found.query_log.live.select(ADDED.names()), *(change.added for change in found.pending)])
    shape_all(queries, Shapes(network), failed)
    dropped = {number for change in found.pending for number in change.dropped}
    names = dict(queries.select("number", "name").iter_rows())
    return {names[number]: reason for number, reason in failed.items() if number not in dropped}

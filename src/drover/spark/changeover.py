"""Continuing a checkpoint with another form of its network.

Rule 1: one commit makes the change. It computes nothing: it drops the state of operators that start anew, gives renamed
operators their state, and names the new network. A crash before it leaves the old network, a crash after it the new.
Rule 2: rows that wait for a table were computed by the old network, so they are written before, as it says.
Rule 3: the plan log keeps the old names. Entries from before the changeover are translated when they are read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from drover.flow.operators import PENDING, write_pending
from drover.flow.operators.table_write import waiting_writes
from drover.flow.parking import ParkedOperator
from drover.flow.planlog import PlanLogEntry
from drover.flow.recall import load_state
from drover.flow.state.changeover import change_units
from drover.flow.state.commits import Checkpoint, commit
from drover.flow.state.documents import Commit
from drover.flow.state.segments import Key
from drover.flow.state.storage import open_root
from drover.flow.tables import Address
from drover.network.files.network_file import dumps
from drover.network.operators import TableWrite
from drover.placement.plan import Plan
from drover.spark.changes import NetworkChange, checksum_of, note_network, operator_of
from drover.spark.commit_notes import NetworkChangeover, changeover_of, changeover_to_json, notes_of, parked_to_json

Announce = Callable[[Checkpoint, bytes], object]  # of the file with a network, before it is written
log = logging.getLogger(__name__)


def change_over(
    root: str,
    checkpoint: Checkpoint,
    change: NetworkChange,
    tables: Mapping[str, Address],
    announce: Announce = lambda _, __: None,
) -> Checkpoint:
    """Continue with the new network, and return the checkpoint; the change must have been checked.

    Without state to drop or rename, only the network is noted, and there is no commit. `announce` is called before a
    network is written, with the checkpoint at that time.
    """
    # A run may have died between its changeover and this file. A second one could not be told from the first then.
    note_network(*open_root(root), change.before, partial(announce, checkpoint))
    comparison = change.comparison
    for part in comparison.changes:
        log.warning("the network has changed: %s", part.text)
    _write_waiting(root, checkpoint, change, tables)
    found = change_units(checkpoint.version, _becomes(change))
    if found.dropped or comparison.renamed:
        earlier = changeover_of(checkpoint)  # plans in the log may be older than this one, too
        renamed = _composed({} if earlier is None else earlier.renamed, comparison.renamed)
        changeover = NetworkChangeover(checkpoint.batch + 1, dumps(change.after), checksum_of(change.before), renamed)
        notes = {**checkpoint.notes, **changeover_to_json(changeover), **parked_to_json(_parked(checkpoint, change))}
        entry = Commit(changeover.batch, found.added, found.bounds, found.dropped, notes)
        checkpoint = commit(*open_root(root), checkpoint, entry)
    note_network(*open_root(root), change.after, partial(announce, checkpoint))
    return checkpoint


def translated(entry: PlanLogEntry, checkpoint: Checkpoint) -> PlanLogEntry:
    """Return an entry of the plan log with the names that operators have after the changeover of the last commit."""
    changeover = changeover_of(checkpoint)
    if changeover is None or entry.batch > changeover.batch:
        return entry
    return replace(entry, plan=renamed_plan(entry.plan, changeover.renamed))


def renamed_plan(plan: Plan, renamed: Mapping[str, str]) -> Plan:
    """Return a plan with units and joins under their new names; a unit whose name another one gets is left out."""
    left_out = set(renamed.values()) - set(renamed)
    node_of = {renamed.get(unit, unit): node for unit, node in plan.node_of.items() if unit not in left_out}
    spread = {renamed.get(join, join): one for join, one in plan.instances.items() if join not in left_out}
    return replace(plan, node_of=node_of, instances=spread)


def _becomes(change: NetworkChange) -> Callable[[Key], str | None]:
    """Return the function that says which unit a part of state belongs to from now on; None drops the part."""
    comparison = change.comparison
    waiting = {operator.name for operator in waiting_writes(change.before)}
    lost = comparison.dropped | comparison.gone

    def becomes(key: Key) -> str | None:
        unit, part = key
        operator = operator_of(unit)
        if "@" in unit:  # of a submitted query; its catalog decides
            return unit
        if operator in lost or (part == PENDING and operator in waiting):
            return None
        return comparison.renamed.get(operator, operator) + unit.removeprefix(operator)

    return becomes


def _parked(checkpoint: Checkpoint, change: NetworkChange) -> dict[str, ParkedOperator]:
    """Return the parked operators under their new names; one that starts anew runs again."""
    comparison = change.comparison
    lost = comparison.dropped | comparison.gone
    parked = notes_of(checkpoint).parked
    return {comparison.renamed.get(name, name): one for name, one in parked.items() if name not in lost}


def _composed(first: Mapping[str, str], then: Mapping[str, str]) -> dict[str, str]:
    """Return the names after two renames; operators that only the second one renames had their name until then."""
    made = {old: then.get(new, new) for old, new in first.items()}
    return {**{old: new for old, new in then.items() if old not in first.values()}, **made}


def _write_waiting(root: str, checkpoint: Checkpoint, change: NetworkChange, tables: Mapping[str, Address]) -> None:
    """Write the rows that the last batch left for tables; of tables that are gone or changed, no address is known."""
    kept = {table.name for table in change.after.tables if table in change.before.tables} & set(tables)

    def pending(operator: TableWrite) -> pl.DataFrame | None:
        saved = checkpoint.version.units.get(operator.name)
        if saved is None or operator.into not in kept:
            return None
        return load_state(root, operator.name, saved).parts.get(PENDING)

    write_pending(change.before, tables, pending)

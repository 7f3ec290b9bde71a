"""The plan from the next batch on, and what a batch was begun with.

Rule 1: whatever decides what a batch gives is written to the plan log before the batch, so that a batch that is run
again is run as before. Rule 2: a batch that an earlier run may have begun is repeated as it was; wishes wait for the
one after it. Rule 3: on a tree of nodes, no plan leaves a unit where its inputs do not pass, whoever wishes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from drover.control.tree import Hierarchy
from drover.errors import DroverError, StateError
from drover.flow.planlog import Entry, plan_path, read_plan, sweep_plans, write_plan
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import RESTORE, open_root
from drover.placement.plan import Plan
from drover.spark.trees import check_cluster, note_cluster


@dataclass(slots=True)
class Planner:
    """Keeps the wanted plan of one checkpoint, and its log."""

    root: str
    plan: Plan  # wanted from the next batch on
    hierarchy: Hierarchy | None = None  # of a run on a tree of nodes
    begun: Entry | None = None  # what the next batch was begun with, if an earlier run may have begun it
    _resumed: set[str] = field(default_factory=set)  # parked operators that are to run again from the next batch on
    _noted: bool = False  # whether the checkpoint says on which tree it is run
    _turn: threading.Lock = field(default_factory=threading.Lock)  # held while wishes are read or changed

    def recover(self, checkpoint: Checkpoint) -> Entry | None:
        """Return the entry for the batch after the checkpoint's; StateError if that of the last batch is gone."""
        fs, path = open_root(self.root)
        check_cluster(fs, path, self.hierarchy, begun=checkpoint.batch >= 0)
        entry = read_plan(fs, path, checkpoint.batch + 1)
        used = checkpoint.notes.get("planned")
        if used is not None and (entry is None or entry.batch < used):
            raise StateError(plan_path(path, used), f"plan {checkpoint.notes['plan']}", "none", RESTORE)
        return entry

    def adopt(self, entry: Entry, batch: int, *, begun: bool) -> None:
        """Go on with the plan of an earlier run, which may have begun `batch`."""
        self.plan = _fitted(entry.plan, self.plan) if self.hierarchy is None else _climbed(entry.plan, self.hierarchy)
        closing = entry.closing and entry.batch == batch
        if closing or begun:
            self.begun = replace(entry, plan=self.plan, closing=closing)

    def replan(self, change: Callable[[Plan], Plan]) -> Plan:
        """Change the plan from the next batch on."""
        with self._turn:
            made = change(self.plan)
            self.plan = made if self.hierarchy is None else self.hierarchy.demand(made)
            return self.plan

    def demand_drainable(self) -> int:
        """Return the number of nodes; DroverError if they cannot be emptied, because rows enter and pass there."""
        if self.hierarchy is not None:
            raise DroverError(
                "a node of a tree cannot be emptied: rows pass there. Give it less capacity, or move units."
            )
        return self.plan.nodes

    def resume(self, operator: str) -> None:
        """Run a parked operator again from the next batch on."""
        with self._turn:
            self._resumed.add(operator)

    def entry_for(self, batch: int, *, closing: bool) -> Entry:
        """Return what a batch is run with, written before it is used."""
        fs, path = open_root(self.root)
        with self._turn:
            begun, self.begun = self.begun, None
            written = read_plan(fs, path, batch)
            if not self._noted:
                note_cluster(fs, path, self.hierarchy)
                self._noted = True
            plan, resumed = self._wishes() if begun is None else (begun.plan, set[str]())
            if written is not None and plan != written.plan and plan.number <= written.plan.number:
                plan = replace(plan, number=written.plan.number + 1)
            if begun is None:
                self.plan = plan
            if written is not None and written.batch == batch:
                resumed |= set(written.resumed)
            wanted = Entry(batch, plan, closing, tuple(sorted(resumed)))
            if written is not None and _says(written, wanted):
                return written
            write_plan(fs, path, wanted)
            return wanted

    def keep(self, batch: int) -> None:
        """Write down what is wanted from `batch` on, unless it has begun: a run that ends forgets no wish."""
        fs, path = open_root(self.root)
        written = read_plan(fs, path, batch)
        if self.begun is None and written is not None and written.batch < batch:
            self.entry_for(batch, closing=False)

    def _wishes(self) -> tuple[Plan, set[str]]:
        resumed, self._resumed = self._resumed, set()
        return self.plan, resumed

    def sweep(self, oldest: int) -> None:
        """Delete the plans that no batch from `oldest` on uses."""
        fs, path = open_root(self.root)
        sweep_plans(fs, path, oldest)


def _fitted(planned: Plan, wanted: Plan) -> Plan:
    """Return the plan of an earlier run, with nodes for units that are new, without those that are gone."""
    node_of = {unit: planned.node_of.get(unit, node % planned.nodes) for unit, node in wanted.node_of.items()}
    fresh = {
        join: replace(spread, others=tuple(node % planned.nodes for node in spread.others))
        for join, spread in wanted.instances.items()
    }
    # Which epochs are live is known to the earlier run alone: without it, rows would be dealt where no partner is.
    instances = {join: spread for join, spread in {**fresh, **planned.instances}.items() if join in node_of}
    if node_of == planned.node_of and instances == planned.instances:
        return planned
    return Plan(planned.number + 1, planned.nodes, node_of, instances)


def _climbed(planned: Plan, hierarchy: Hierarchy) -> Plan:
    """Return the plan of an earlier run on a tree, with new units as low as they can be, without those gone."""
    node_of = hierarchy.settle(planned.node_of)
    return hierarchy.demand(planned if node_of == planned.node_of else Plan(planned.number + 1, planned.nodes, node_of))


def _says(written: Entry, wanted: Entry) -> bool:
    """Say whether the entry that holds for a batch already says all that is wanted of it."""
    mine = written.batch == wanted.batch
    closing, resumed = (written.closing, written.resumed) if mine else (False, ())
    return written.plan == wanted.plan and wanted.closing <= closing and wanted.resumed == resumed

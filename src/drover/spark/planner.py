"""The plan for the next batch, and the plan log of a checkpoint.

Rule 1: everything that decides the result of a batch is in the plan log before the batch begins. So a repeated batch
runs as it did the first time.
Rule 2: a batch that an earlier run may have begun is repeated unchanged. Requested changes wait for the next batch.
Rule 3: on a tree of nodes, every plan keeps each unit on a node that all its inputs pass.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from drover.control.tree import Hierarchy
from drover.errors import DroverError, StateError, nearest
from drover.flow.parking import ParkedOperator
from drover.flow.planlog import PlanLogEntry, plan_path, read_plan, sweep_plans, write_plan
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import RESTORE, open_root
from drover.placement.plan import Plan
from drover.spark.changeover import translated
from drover.spark.commit_notes import notes_of
from drover.spark.trees import check_cluster, note_cluster


@dataclass(slots=True)
class Planner:
    """Keeps the plan of one run, and its log."""

    root: str
    plan: Plan  # for the next batch
    hierarchy: Hierarchy | None = None  # of a run on a tree of nodes
    begun: PlanLogEntry | None = None  # the entry of the next batch, if an earlier run may have begun it
    entry_batch: int = -1  # the batch of the entry that was taken or written last
    parked: Mapping[str, ParkedOperator] = field(default_factory=dict)  # after the last commit
    wake: Callable[[], object] = lambda: None  # called when a batch should begin even without rows
    _resumed: set[str] = field(default_factory=set)  # parked operators that run again from the next batch on
    _noted: bool = False  # whether the checkpoint has the tree of this run
    _lock: threading.Lock = field(default_factory=threading.Lock)  # held while plan and requests are read or changed

    def recover(self, checkpoint: Checkpoint) -> PlanLogEntry | None:
        """Return the entry for the next batch; StateError if the entry of the last batch is missing."""
        fs, path = open_root(self.root)
        check_cluster(fs, path, self.hierarchy, begun=checkpoint.batch >= 0)
        entry = read_plan(fs, path, checkpoint.batch + 1)
        notes = notes_of(checkpoint)
        self.parked = notes.parked
        # The commit names the entry that its batch used. An older entry would give units other nodes than they had.
        if notes.planned is not None and (entry is None or entry.batch < notes.planned):
            raise StateError(plan_path(path, notes.planned), f"plan {notes.plan}", "none", RESTORE)
        return None if entry is None else translated(entry, checkpoint)

    def adopt(self, entry: PlanLogEntry, batch: int, *, begun: bool) -> None:
        """Continue with the plan of an earlier run; `begun` says that it may have begun `batch`."""
        self.plan = (
            _fitted(entry.plan, self.plan) if self.hierarchy is None else _fitted_to_tree(entry.plan, self.hierarchy)
        )
        closing = entry.closing and entry.batch == batch
        if closing or begun:
            # An entry of an earlier batch has the plan, but its resumed and parked operators are done with.
            mine = entry if entry.batch == batch else PlanLogEntry(entry.batch, entry.plan)
            self.begun = replace(mine, plan=self.plan, closing=closing)
        # Commands may have written requests for the next batch while the run was stopped.
        noted = read_plan(*open_root(self.root), self._next_new(batch))
        if noted is not None and noted.batch == self._next_new(batch):
            self._resumed |= set(noted.resumed)

    def _next_new(self, batch: int) -> int:
        """Return the first batch from `batch` on that no run has begun."""
        return batch if self.begun is None else batch + 1

    def replan(self, change: Callable[[Plan], Plan]) -> Plan:
        """Change the plan from the next batch on."""
        with self._lock:
            # The change gets the plan of this moment: another thread may have replaced the one that the caller knew.
            made = change(self.plan)
            self.plan = made if self.hierarchy is None else self.hierarchy.check_plan(made)
            return self.plan

    def demand_drainable(self) -> int:
        """Return the number of nodes; DroverError on a tree, whose nodes cannot be drained."""
        if self.hierarchy is not None:
            raise DroverError(
                "a node of a tree cannot be emptied: rows pass there. Give it less capacity, or move units."
            )
        return self.plan.nodes

    def resume(self, operator: str) -> None:
        """Run a parked operator again from the next batch on; DroverError if it is not parked."""
        with self._lock:
            parked = {*self.parked, *(() if self.begun is None else self.begun.parked)}
            if operator not in parked:
                hint = nearest(operator, parked)
                known = ", ".join(sorted(parked)) or "none"
                raise DroverError(f"operator {operator!r} is not parked. {hint}Parked: {known}.")
            self._resumed.add(operator)
        self.wake()

    def note_resumes(self, batch: int) -> None:
        """Write requests to resume operators to the log, for a run that is stopped before `batch`."""
        fs, path = open_root(self.root)
        target = self._next_new(batch)
        written = read_plan(fs, path, target)
        if written is not None:
            same = written if written.batch == target else PlanLogEntry(target, written.plan)
            write_plan(fs, path, replace(same, resumed=tuple(sorted({*same.resumed, *self._resumed}))))

    @property
    def resumes(self) -> bool:
        """Whether an operator waits to be resumed with the next batch."""
        with self._lock:
            return bool(self._resumed)

    def amend(self, entry: PlanLogEntry) -> None:
        """Write an entry to the log in place of the one for its batch, of which nothing has left the run yet."""
        with self._lock:
            write_plan(*open_root(self.root), entry)
            self.entry_batch = entry.batch

    def entry_for(self, batch: int, *, closing: bool) -> PlanLogEntry:
        """Return the entry that a batch runs with, after writing it to the log."""
        fs, path = open_root(self.root)
        with self._lock:
            begun = self.begun
            self.begun = None
            written = read_plan(fs, path, batch)
            if not self._noted:
                note_cluster(fs, path, self.hierarchy)
                self._noted = True
            plan, resumed = self._take_requests() if begun is None else (begun.plan, set[str]())
            # Two different plans must not have the same number: reports and records know plans by number.
            if written is not None and plan != written.plan and plan.number <= written.plan.number:
                plan = replace(plan, number=written.plan.number + 1)
            if begun is None:
                self.plan = plan
            # `save` may have written the entry of this batch already, or an earlier run of the batch.
            same = written if written is not None and written.batch == batch else PlanLogEntry(batch, plan)
            resumed |= set(same.resumed)
            wanted = PlanLogEntry(batch, plan, closing, tuple(sorted(resumed)), same.parked, same.without)
            if written is not None and _covers(written, wanted):
                self.entry_batch = written.batch
                return written
            write_plan(fs, path, wanted)
            self.entry_batch = batch
            return wanted

    def save(self, batch: int) -> None:
        """Write the plan for `batch` to the log, unless the batch has begun: the next run then continues with it.

        Requests to resume operators are in this entry, too.
        """
        fs, path = open_root(self.root)
        written = read_plan(fs, path, batch)
        # Before the first batch there is no entry, and the next run chooses its own first plan.
        if self.begun is None and written is not None and written.batch < batch:
            self.entry_for(batch, closing=False)

    def _take_requests(self) -> tuple[Plan, set[str]]:
        resumed = self._resumed
        self._resumed = set()
        return self.plan, resumed

    def sweep(self, oldest: int) -> None:
        """Delete the plans that no batch from `oldest` on uses."""
        fs, path = open_root(self.root)
        sweep_plans(fs, path, oldest)


def _fitted(planned: Plan, wanted: Plan) -> Plan:
    """Return the plan of an earlier run, with nodes for new units and without units that are gone."""
    node_of = {unit: planned.node_of.get(unit, node % planned.nodes) for unit, node in wanted.node_of.items()}
    fresh = {
        join: replace(spread, others=tuple(node % planned.nodes for node in spread.others))
        for join, spread in wanted.instances.items()
    }
    # Only the earlier run knows which epochs are live. With others, rows would go to instances without their partners.
    # A join that is not spread any more has no instances.
    instances = {join: spread for join, spread in {**fresh, **planned.instances}.items() if join in fresh}
    if node_of == planned.node_of and instances == planned.instances:
        return planned
    return Plan(planned.number + 1, planned.nodes, node_of, instances)


def _fitted_to_tree(planned: Plan, hierarchy: Hierarchy) -> Plan:
    """Return the plan of an earlier run on a tree: new units as low as possible, and no units that are gone."""
    node_of = hierarchy.complete_placement(planned.node_of)
    return hierarchy.check_plan(
        planned if node_of == planned.node_of else Plan(planned.number + 1, planned.nodes, node_of)
    )


def _covers(written: PlanLogEntry, wanted: PlanLogEntry) -> bool:
    """Return whether the written entry already says everything that the wanted one does."""
    mine = written.batch == wanted.batch
    closing, resumed = (written.closing, written.resumed) if mine else (False, ())
    return written.plan == wanted.plan and wanted.closing <= closing and wanted.resumed == resumed

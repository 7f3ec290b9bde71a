"""The attempts of one batch: it runs until nothing in it fails that must not.

Rule 1: an attempt in which an operator fails is thrown away, and the batch runs again with that operator parked. So
either all rows of a batch reach an operator, or it holds all of them.
Rule 2: the plan log says what is parked before the batch runs without it. A batch that is repeated after a crash runs
as it did the first time.
Rule 3: every attempt parks at least one operator or query more than the one before, so there is a last one. Only deaths
of workers may repeat an attempt, and `quarantine` counts these.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from drover.control.failing import FailurePolicy, OnFailure
from drover.errors import DroverError
from drover.flow.breadcrumbs import sweep_breadcrumbs
from drover.flow.families.members import MEMBER, NODE
from drover.flow.parking import ParkedOperator, begin_parking, newly_parked
from drover.flow.planlog import PlanLogEntry
from drover.flow.pruning import ColumnPruner
from drover.flow.schedule import Schedule, make_schedule
from drover.flow.spill import discard
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.tables import Address
from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.flow.worker import Assignment, PackedNetwork, pack_network
from drover.network.model import Network
from drover.network.operators import Join
from drover.placement.plan import Plan
from drover.spark.batch import BatchResult, WorkerDiedError
from drover.spark.hanging import watched
from drover.spark.planner import Planner
from drover.spark.quarantine import REASON, Quarantine, Suspect, faulty_members
from drover.spark.queries.batch import BatchQueries
from drover.spark.queries.service import QueryService

BY_HAND: Final = "it was left out of the run by hand"
log = logging.getLogger(__name__)

RunBatch = Callable[[Assignment], BatchResult]


@dataclass(frozen=True, slots=True)
class AttemptStart:
    """What all attempts of a batch have in common."""

    batch: int
    version: Version  # of the state
    progress: SourceProgress
    rewritten: frozenset[Key] = frozenset()


@dataclass(frozen=True, slots=True)
class Attempt:
    """The attempt of a batch that counts."""

    result: BatchResult
    queries: BatchQueries
    parked: Mapping[str, ParkedOperator]  # after the batch


@dataclass(slots=True)
class Attempts:
    """Runs the batches of one run, each as often as it takes."""

    network: Network
    root: str
    planner: Planner
    queries: QueryService
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    tables: Mapping[str, Address] = field(default_factory=dict, repr=False)
    keeps_late: bool = False  # whether the run has a sink for rows that came too late
    without: Sequence[str] = ()  # operators and queries to park before the next batch, because somebody wants it
    clock: Callable[[], float] = time.time
    _packed: PackedNetwork | None = None
    pruner: ColumnPruner = field(init=False)
    _scheduled: tuple[Plan, Schedule] | None = None  # the last plan

    def __post_init__(self) -> None:
        self.pruner = ColumnPruner(self.network, self.keeps_late)

    def run(self, start: AttemptStart, entry: PlanLogEntry, run_batch: RunBatch, *, again: bool) -> Attempt:
        """Run a batch until no further operator fails; `again` says that an earlier run may have begun it."""
        return _BatchAttempts(self, start, entry, run_batch, again=again).conclude()

    @property
    def packed(self) -> PackedNetwork:
        """The network as it travels to workers, packed once for all batches."""
        if self._packed is None:
            self._packed = pack_network(self.network, self.tables)
        return self._packed

    def schedule(self, plan: Plan) -> Schedule:
        """Return the schedule of a plan, made once for all batches under it."""
        if self._scheduled is None or self._scheduled[0] != plan:
            self._scheduled = (plan, make_schedule(self.network, plan))
        return self._scheduled[1]

    def check_bound(self, parked: Mapping[str, ParkedOperator]) -> None:
        """Raise DroverError if a parked operator holds more than it may. Call it after the commit."""
        for name, one in parked.items():
            if one.holds and one.bytes > self.policy.hold_bytes:
                raise DroverError(
                    f"operator {name!r} is parked ({one.reason}) and holds {one.bytes:,} bytes of input, but may hold "
                    f"{self.policy.hold_bytes:,}. Everything up to here is committed. Fix it, and start again with "
                    f"--resume {name}; or let it hold more: hold_bytes; or give up its rows: on_failure: skip."
                )

    def leave_out(self, names: Sequence[str]) -> None:
        """Park operators and queries before the next batch, even if an earlier run has begun it."""
        operators = {operator.name for operator in self.network.operators}
        for name in names:
            if name not in operators:
                self.queries.number_of(name)  # raises, if there is none
        self.without = tuple(names)


class _BatchAttempts:
    """The attempts of one batch; `entry` and `parking` say what the next attempt runs without."""

    def __init__(
        self, run: Attempts, start: AttemptStart, entry: PlanLogEntry, run_batch: RunBatch, *, again: bool
    ) -> None:
        self.run = run
        self.start = start
        self.run_batch = run_batch
        self.quarantine = Quarantine(run.root)
        self.schedule = run.schedule(entry.plan)
        # An entry of the plan log holds until the next one. Of an older one only the plan counts: what it parks and
        # resumes belongs to its own batch.
        self.entry = entry if entry.batch == start.batch else PlanLogEntry(start.batch, entry.plan)
        self.parking = begin_parking(run.planner.parked, self.entry.resumed, self.entry.parked)
        self._park_first(again=again)
        self.queries = run.queries.begin_batch(
            start.batch, self.schedule, start.progress, self.parking.caps(), self.entry.without, again=again
        )

    def conclude(self) -> Attempt:
        """Run the batch until nothing fails that must not fail."""
        while True:
            try:
                result = self._attempt(self.queries)
            except WorkerDiedError as died:
                self._after_death(died)
                continue
            failed = self._failures(result)
            held = {name: reason for name, reason in failed.items() if self._holds(name)}
            if not held:
                break
            discard(result.files, self.run.root)
            self._park(self._parked(held, holds=True))
        skipped = self._parked(failed, holds=False)
        _warn(skipped)
        sizes = [one for report in result.reports for one in report.held]
        return Attempt(result, self.queries, {**self.parking.after(sizes), **skipped})

    def _attempt(self, queries: BatchQueries) -> BatchResult:
        start = self.start
        assignment = Assignment(
            start.batch,
            self.run.packed,
            self.run.pruner.prune(queries.schedule, self.parking, queries.columns),
            operator_watermarks(self.run.network, start.progress, self.parking.caps()),
            {unit: dict(parts) for unit, parts in start.version.units.items()},
            self.run.root,
            self.parking,
            start.rewritten,
            queries.families,
            self.run.keeps_late,
        )
        with watched(self.run.root, start.batch):
            return self.run_batch(assignment)

    def _assign(self, without: Mapping[int, str]) -> BatchQueries:
        start = self.start
        return self.run.queries.assign(
            self.queries.start, start.batch, self.schedule, start.progress, self.parking.caps(), without
        )

    def _park_first(self, *, again: bool) -> None:
        """Park what somebody wants to be left out; with `skip`, give up what an earlier run has held."""
        operators = {operator.name for operator in self.run.network.operators}
        by_hand = {name: BY_HAND for name in self.run.without if name in operators - self.parking.names}
        without = {self.run.queries.number_of(name): BY_HAND for name in self.run.without if name not in operators}
        # It counts for one batch. After that, the commit says what is parked.
        self.run.without = ()
        given_up = {}
        # A repeated batch keeps what the plan log says, or its rows would differ from those that sinks have (rule 2).
        if self.run.policy.on_failure is OnFailure.SKIP and not again:
            given_up = {name: one.reason for name, one in self.parking.parked.items() if one.holds}
        parked = {**self._parked(by_hand, holds=True), **self._parked(given_up, holds=False)}
        if parked or without:
            self._write(parked, without)

    def _after_death(self, died: WorkerDiedError) -> None:
        """Park what has killed two workers; if nothing has, the batch runs again as it was."""
        suspects = self.quarantine.suspects(self.start.batch, died)
        operators = {one.name: REASON for one in suspects if one.kind == "operator"}
        if suspects and self.run.policy.on_failure is OnFailure.STOP:
            names = ", ".join(sorted(one.name for one in suspects))
            raise DroverError(f"a worker died twice while it ran {names}, and on_failure is stop") from died
        if operators:
            self._park(self._parked(operators, holds=self.run.policy.on_failure is OnFailure.HOLD))
        for suspect in sorted(suspects):
            if suspect.kind == "family":
                self._park_members(suspect)

    def _park_members(self, suspect: Suspect) -> None:
        """Find the members of a family at which workers die, and park them."""
        try:
            found = faulty_members(self._members(suspect), partial(self._dies_with, suspect))
        except WorkerDiedError as died:  # at something else
            self._after_death(died)
            return
        for number, reason in found.items():
            log.warning("query %s is parked: %s", self.run.queries.name_of(number), reason)
        self._park({}, found)

    def _members(self, suspect: Suspect) -> list[int]:
        """Return the members of a family on a node."""
        table = self.queries.start.families.by_id[suspect.name].table
        pairs = zip(table.column(MEMBER).to_pylist(), table.column(NODE).to_pylist(), strict=True)
        return [number for number, node in pairs if node == suspect.node and number not in self.entry.without]

    def _dies_with(self, suspect: Suspect, chosen: Collection[int]) -> bool:
        """Try the batch with only these queries, and throw the result away; other families may be at fault, too."""
        families = self.queries.start.families.by_id.values()
        every = {number for family in families for number in family.table.column(MEMBER).to_pylist()}
        try:
            result = self._attempt(self._assign(dict.fromkeys(every.difference(chosen), "")))
        except WorkerDiedError as died:
            if suspect not in self.quarantine.running(self.start.batch, died):
                raise
            # A death in a trial must not count as another death of the batch.
            sweep_breadcrumbs(self.run.root, self.start.batch)
            return True
        discard(result.files, self.run.root)
        return False

    def _holds(self, name: str) -> bool:
        # What an operator has held is not lost because its resume fails.
        return self.run.policy.on_failure is OnFailure.HOLD or name in self.parking.working_off

    def _parked(self, reasons: Mapping[str, str], *, holds: bool) -> dict[str, ParkedOperator]:
        if not reasons:
            return {}
        watermarks = operator_watermarks(self.run.network, self.start.progress, self.parking.caps())
        return newly_parked(reasons, watermarks, self.start.batch, holds=holds, at=self.run.clock())

    def _park(self, parked: Mapping[str, ParkedOperator], without: Mapping[int, str] | None = None) -> None:
        """Park operators and queries for the attempts to come."""
        self._write(parked, without or {})
        self.queries = self._assign(self.entry.without)

    def _write(self, parked: Mapping[str, ParkedOperator], without: Mapping[int, str]) -> None:
        """Write to the plan log what the batch runs without."""
        _refuse_spread(self.run.network, parked)
        self.parking = self.parking.park(parked)
        _warn(parked)
        added = {name: self.parking.parked[name] for name in parked}
        entry = self.entry
        self.entry = replace(entry, parked={**entry.parked, **added}, without={**entry.without, **without})
        self.run.planner.amend(self.entry)

    def _failures(self, result: BatchResult) -> dict[str, str]:
        """Return the operators that failed, with the reason; raise DroverError if the run must stop then."""
        failed = {failure.operator: failure.reason for report in result.reports for failure in report.failures}
        if self.run.policy.on_failure is OnFailure.STOP:
            if failed:
                reasons = "; ".join(f"{operator}: {reason}" for operator, reason in failed.items())
                raise DroverError(f"operators failed and on_failure is stop: {reasons}")
            self.run.queries.raise_failures(result)
        return failed


def _refuse_spread(network: Network, parked: Mapping[str, ParkedOperator]) -> None:
    """Raise DroverError if a spread join is to hold its input: its instances would have to deal it out anew."""
    spread = {one.name for one in network.operators if isinstance(one, Join) and one.spread is not None}
    for name, one in parked.items():
        if name in spread and one.holds:
            raise DroverError(
                f"join {name!r} failed ({one.reason}) and is spread, so it cannot hold its input. Remove `spread` "
                "from it in the network, or let it lose rows: on_failure: skip."
            )


def _warn(parked: Mapping[str, ParkedOperator]) -> None:
    for name, one in parked.items():
        does = "It holds its input until you resume it" if one.holds else "Its input is lost until you resume it"
        log.warning("operator %s is parked from batch %s on: %s. %s.", name, one.since, one.reason, does)

"""The attempts of one batch: it runs until nothing in it fails that must not.

Rule 1: an attempt in which an operator fails is thrown away, and the batch runs again with that operator parked. So
either all rows of a batch reach an operator, or it holds all of them.
Rule 2: the plan log says what is parked before the batch runs without it. A batch that is repeated after a crash runs
as it did the first time.
Rule 3: every attempt parks at least one operator or query more than the one before, so there is a last one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from drover.control.failing import FailurePolicy, OnFailure
from drover.errors import DroverError
from drover.flow.parking import ParkedOperator, Parking, begin_parking, newly_parked
from drover.flow.planlog import PlanLogEntry
from drover.flow.schedule import make_schedule
from drover.flow.spill import discard
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.tables import Address
from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.flow.worker import Assignment, pack_network
from drover.network.model import Network
from drover.network.operators import Join
from drover.spark.batch import BatchResult
from drover.spark.planner import Planner
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
    without: Sequence[str] = ()  # operators to park with the next batch, because somebody has asked for it
    clock: Callable[[], float] = time.time

    def run(self, start: AttemptStart, entry: PlanLogEntry, run_batch: RunBatch, *, again: bool) -> Attempt:
        """Run a batch until no further operator fails; `again` says that an earlier run may have begun it."""
        log_entry = entry if entry.batch == start.batch else PlanLogEntry(start.batch, entry.plan)
        parking = begin_parking(self.planner.parked, log_entry.resumed, log_entry.parked)
        if first := self._park_first(start, parking, again=again):
            log_entry, parking = self._park(log_entry, parking, first)
        schedule = make_schedule(self.network, entry.plan)
        queries = self.queries.begin_batch(start.batch, schedule, start.progress, parking.caps(), again=again)
        while True:
            result = run_batch(self._assignment(start, queries, parking))
            failed = self._failures(result)
            held = {name: reason for name, reason in failed.items() if self._holds(name, parking)}
            if not held:
                break
            discard(result.files, self.root)
            log_entry, parking = self._park(log_entry, parking, self._parked(start, parking, held, holds=True))
            queries = self.queries.assign(queries.start, start.batch, schedule, start.progress, parking.caps())
        skipped = self._parked(start, parking, failed, holds=False)
        _warn(skipped)
        sizes = [one for report in result.reports for one in report.held]
        return Attempt(result, queries, {**parking.after(sizes), **skipped})

    def check_bound(self, parked: Mapping[str, ParkedOperator]) -> None:
        """Raise DroverError if a parked operator holds more than it may. Call it after the commit."""
        for name, one in parked.items():
            if one.holds and one.bytes > self.policy.hold_bytes:
                raise DroverError(
                    f"operator {name!r} is parked ({one.reason}) and holds {one.bytes:,} bytes of input, but may hold "
                    f"{self.policy.hold_bytes:,}. Everything up to here is committed. Mend it, and start again with "
                    f"--resume {name}; or let it hold more: hold_bytes; or give up its rows: on_failure: skip."
                )

    def _park_first(self, start: AttemptStart, parking: Parking, *, again: bool) -> dict[str, ParkedOperator]:
        """Return what to park before the first attempt."""
        by_hand = {name: BY_HAND for name in self.without if name not in parking.parked}
        self.without = ()
        given_up = {}
        if self.policy.on_failure is OnFailure.SKIP and not again:  # an earlier run has held rows for them
            given_up = {name: one.reason for name, one in parking.parked.items() if one.holds}
        return {
            **self._parked(start, parking, by_hand, holds=True),
            **self._parked(start, parking, given_up, holds=False),
        }

    def _holds(self, name: str, parking: Parking) -> bool:
        # What an operator has held is not lost because its resume fails.
        return self.policy.on_failure is OnFailure.HOLD or name in parking.working_off

    def _parked(
        self, start: AttemptStart, parking: Parking, reasons: Mapping[str, str], *, holds: bool
    ) -> dict[str, ParkedOperator]:
        if not reasons:
            return {}
        watermarks = operator_watermarks(self.network, start.progress, parking.caps())
        return newly_parked(reasons, watermarks, start.batch, holds=holds, at=self.clock())

    def _park(
        self, entry: PlanLogEntry, parking: Parking, parked: Mapping[str, ParkedOperator]
    ) -> tuple[PlanLogEntry, Parking]:
        """Write to the plan log what the batch runs without; return the new entry and the new parking."""
        spread = {one.name for one in self.network.operators if isinstance(one, Join) and one.spread is not None}
        for name, one in parked.items():
            if name in spread and one.holds:
                raise DroverError(
                    f"join {name!r} failed ({one.reason}) and is spread, so it cannot hold its input. Remove `spread` "
                    "from it in the network, or let it lose rows: on_failure: skip."
                )
        made = parking.park(parked)
        _warn(parked)
        return self.planner.amend(entry, {name: made.parked[name] for name in parked}), made

    def _failures(self, result: BatchResult) -> dict[str, str]:
        """Return the operators that failed, with the reason; raise DroverError if the run must stop then."""
        failed = {failure.operator: failure.reason for report in result.reports for failure in report.failures}
        if self.policy.on_failure is OnFailure.STOP:
            if failed:
                reasons = "; ".join(f"{operator}: {reason}" for operator, reason in failed.items())
                raise DroverError(f"operators failed and on_failure is stop: {reasons}")
            self.queries.raise_failures(result)
        return failed

    def _assignment(self, start: AttemptStart, queries: BatchQueries, parking: Parking) -> Assignment:
        return Assignment(
            start.batch,
            pack_network(self.network, self.tables),
            queries.schedule,
            operator_watermarks(self.network, start.progress, parking.caps()),
            {unit: dict(parts) for unit, parts in start.version.units.items()},
            self.root,
            parking,
            start.rewritten,
            queries.families,
        )


def _warn(parked: Mapping[str, ParkedOperator]) -> None:
    for name, one in parked.items():
        does = "It holds its input until you resume it" if one.holds else "Its input is lost until you resume it"
        log.warning("operator %s is parked from batch %s on: %s. %s.", name, one.since, one.reason, does)

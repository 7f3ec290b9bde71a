"""The submitted queries of one batch: what its tasks run, what its commit records, and what it measured.

Rule 1: a run without queries has the same assignment, commits and progress as if there were no such feature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from drover.flow.families.assignment import (
    FamilyAssignment,
    ParkedMember,
    arrivals_of,
    make_family_assignment,
    unneeded_state,
    with_families,
)
from drover.flow.parking import WatermarkCaps
from drover.flow.schedule import Schedule
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.watermarks import SourceProgress
from drover.network.model import Network
from drover.spark.batch import BatchResult
from drover.spark.facts import QueryFacts
from drover.spark.queries.catalog import BatchStart
from drover.spark.queries.metrics import is_measured
from drover.spark.queries.recovery import FAILED_NOTE, LINK_NOTE, MANIFEST_NOTE, NOTES

LONGEST_REASON: Final = 500  # characters


@dataclass(frozen=True, slots=True, eq=False)
class BatchQueries:
    """The queries of one batch; `families` is None if there are none to run."""

    start: BatchStart
    families: FamilyAssignment | None
    schedule: Schedule
    without: Mapping[int, str] = field(default_factory=dict)  # reasons by number: these do not run in this batch

    @property
    def is_used(self) -> bool:
        """Whether the run has ever had a query."""
        return self.start.query_log.batch >= 0

    @property
    def columns(self) -> dict[str, Mapping[str, frozenset[str]]]:
        """The columns of streams that its queries use, by family."""
        return {name: family.shape.columns for name, family in self.start.families.by_id.items()}

    def dropped(self, version: Version) -> tuple[Key, ...]:
        """Return the parts of state that queries no longer need."""
        return unneeded_state(version, self.start.families.stored) if self.is_used else ()

    def notes(self, result: BatchResult) -> dict[str, Any]:  # Any: JSON
        """Return what the commit of the batch records about queries."""
        if not self.is_used:
            return {}
        failed = {str(number): reason for number, reason in self.failures(result).items()}
        query_log = self.start.query_log
        return {NOTES: {MANIFEST_NOTE: query_log.batch, LINK_NOTE: query_log.link, FAILED_NOTE: failed}}

    def failures(self, result: BatchResult) -> dict[int, str]:
        """Return the queries that are to be parked after the batch, with the reason."""
        return {**failures(result), **self.without}

    def facts(self, result: BatchResult, replication: float) -> QueryFacts:
        """Return the facts of the batch about queries."""
        members = self.start.query_log.members
        parked = int(members["parked"].count())
        busy = [0.0] * self.schedule.nodes
        for report in result.reports:
            for counts in report.tallies:
                busy[counts.node] += counts.busy
        return QueryFacts(
            live=members.height - parked,
            parked=parked,
            families=len(self.start.families.by_id),
            failed=len(self.failures(result)),
            rows=sum(rows.height for rows in results_of(result)),
            replication=replication,
            sent=sent_bytes(result),
            busy=tuple(busy),
            memory=int(members.estimated_size()) + self.start.families.bytes,
        )


def make_batch_queries(
    start: BatchStart,
    batch: int,
    network: Network,
    schedule: Schedule,
    progress: SourceProgress,
    caps: WatermarkCaps | None = None,
    without: Mapping[int, str] = MappingProxyType({}),
) -> BatchQueries:
    """Return what the tasks of a batch need to run its queries, besides the operators of the network."""
    families = start.families
    if not families.by_id:
        return BatchQueries(start, None, schedule, without)
    shapes = families.shapes
    stored = families.stored
    measured = is_measured(batch, sum(table.members for table in stored.values()))
    assignment = make_family_assignment(
        network, progress, shapes, stored, arrivals(start), measured=measured, caps=caps
    )
    if assignment is not None and without:
        assignment = replace(assignment, without=frozenset(without))
    return BatchQueries(start, assignment, with_families(schedule, shapes, stored), without)


def arrivals(start: BatchStart) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return, by family and node, the nodes from which members move there with this batch."""
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    for name, family in start.families.by_id.items():
        # An unchanged family keeps its table object, so there is no need to compare the rows.
        before = start.before.by_id.get(name)
        if before is not None and before.table is not family.table:
            found |= arrivals_of(name, before.table, family.table)
    return found


def failed_members(result: BatchResult) -> list[ParkedMember]:
    """Return the queries that failed in a batch."""
    return [member for report in result.reports for member in report.parked]


def failures(result: BatchResult) -> dict[int, str]:
    """Return why queries failed, by number; long reasons are cut, because commits and the query log keep them."""
    return {member.member: member.reason[:LONGEST_REASON] for member in failed_members(result)}


def results_of(result: BatchResult) -> Sequence[pl.DataFrame]:
    """Return the result rows of queries, one table per set of columns."""
    return [rows for _table, rows in sorted(result.query_results.items())]


def sent_bytes(result: BatchResult) -> dict[str, int]:
    """Return the bytes that the router sent, by stream."""
    sent: dict[str, int] = {}
    for routed in result.routed:
        for edge in routed.edges:
            sent[edge.stream] = sent.get(edge.stream, 0) + edge.bytes
    return sent

"""The part of submitted queries in a batch: what it begins with, what it gives, and what is noted of it.

Rule 1: without queries there is no trace of this: the same assignment, the same notes, the same figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.flow.families.herded import RESULTS, Herded, Parked, arrivals_of, forsaken, make_herded, with_families
from drover.flow.schedule import Schedule
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.watermarks import Progress
from drover.network.model import Network
from drover.spark.batch import Result
from drover.spark.queries.answers import Answers
from drover.spark.queries.clerk import Begun
from drover.spark.queries.office import Office
from drover.spark.queries.reopen import NOTES
from drover.spark.queries.standing import measures

LONGEST_REASON = 500  # characters


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What queries are in one batch."""

    begun: Begun
    herded: Herded | None
    schedule: Schedule

    def dropped(self, version: Version) -> tuple[Key, ...]:
        """Return the state that nobody needs any more."""
        return forsaken(version, self.begun.families.rolls) if self.begun.book.batch >= 0 else ()

    def notes(self, result: Result) -> dict[str, Any]:  # Any: JSON
        """Return what the commit of the batch notes."""
        if self.begun.book.batch < 0:
            return {}
        failed = {str(one.member): one.reason[:LONGEST_REASON] for one in failures(result)}
        return {NOTES: {"turn": self.begun.book.batch, "failed": failed}}


def failures(result: Result) -> list[Parked]:
    """Return the queries that failed by their own fault."""
    return [one for report in result.reports for one in report.parked]


def arrivals(begun: Begun) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return who comes from where with this batch, in the families that have changed."""
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    for name, family in begun.families.by_id.items():
        before = begun.before.by_id.get(name)
        if before is not None and before.table is not family.table:
            found |= arrivals_of(name, before.table, family.table)
    return found


@dataclass(slots=True)
class Part:
    """Lets queries take part in the batches of one run."""

    network: Network
    office: Office
    _answers: Answers | None = None

    def begin(self, batch: int, schedule: Schedule, progress: Progress, *, again: bool) -> Share:
        """Return what queries are in a batch, written down before it begins."""
        begun = self.office.clerk.begin(batch, schedule.nodes, again=again)
        families = begun.families
        if not families.by_id:
            return Share(begun, None, schedule)
        shapes, rolls = families.shapes, families.rolls
        measured = measures(batch, sum(roll.members for roll in rolls.values()))
        herded = make_herded(self.network, progress, shapes, rolls, arrivals(begun), tallies=measured)
        return Share(begun, herded, with_families(schedule, shapes, rolls))

    def refuse_failures(self, result: Result) -> None:
        """Raise what queries have failed, of a run that is to stop then."""
        if found := failures(result):
            names = self.office.name_of
            told = "; ".join(f"{names(one.member)}: {one.reason}" for one in found[:3])
            raise DroverError(f"queries failed and stop_on_failure is set: {told}")

    def deliver(self, result: Result, batch: int, spark: SparkSession) -> None:
        """Hand the results to the sink."""
        tables = answers_of(result)
        if tables and self.office.sink is not None:
            self._answers = self._answers or Answers(self.office.sink)
            self._answers.write(tables, batch, spark)

    def settle(self, share: Share, batch: int, lag: float, result: Result) -> Mapping[str, Any]:  # Any: JSON
        """Take in what a committed batch measured, and return its figures."""
        book = share.begun.book
        if book.batch < 0:
            return {}
        found = failures(result)
        self.office.clerk.park({one.member: one.reason[:LONGEST_REASON] for one in found})
        tallies = [tally for report in result.reports for tally in report.tallies]
        sent: dict[str, int] = {}
        for routed in result.routed:
            for edge in routed.edges:
                sent[edge.stream] = sent.get(edge.stream, 0) + edge.bytes
        self.office.settle(batch, lag, tallies, sent)
        busy = [0.0] * share.schedule.nodes
        for tally in tallies:
            busy[tally.node] += tally.busy
        parked = int(book.members["parked"].count())
        figures = {
            "live": book.members.height - parked,
            "parked": parked,
            "families": len(share.begun.families.by_id),
            "failed": len(found),
            "rows": sum(rows.height for rows in answers_of(result)),
            "replication": round(self.office.clerk.measure({}), 4),
            "bytes": sent,
            "busy": [round(seconds, 4) for seconds in busy],
        }
        return {"queries": figures}


def answers_of(result: Result) -> Sequence[pl.DataFrame]:
    """Return the tables of results."""
    return [rows for port, rows in sorted(result.rows.items()) if port.startswith(RESULTS)]

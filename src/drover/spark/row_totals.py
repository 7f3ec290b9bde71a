"""Rows that a run did not use: late rows by operator, dead letters by source, over all batches.

Rule 1: the totals are part of every commit, so a restart continues to count.
Rule 2: they follow from the rows and the watermarks alone. A batch that is repeated counts its rows once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from drover.flow.late_rows import sources_of
from drover.flow.router import REASON
from drover.network.model import Network
from drover.wording import count

if TYPE_CHECKING:  # it imports Spark, for which a request to a stopped run need not wait
    from drover.spark.batch import BatchResult

# A reason may contain a value of the row, so there is no limit to their number. The commonest are kept.
MOST_REASONS: Final = 20


@dataclass(frozen=True, slots=True)
class DeadLetterTotals:
    """The dead letters of one source, or of sources that are read together."""

    rows: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)  # rows by reason, commonest first

    @property
    def reason(self) -> str:
        """The commonest reason."""
        return next(iter(self.reasons), "")


@dataclass(frozen=True, slots=True)
class RowTotals:
    """What all batches of a checkpoint did not use."""

    late: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # rows by operator, then by sources
    late_for_queries: int = 0  # rows that came too late for submitted queries, counted for each query
    dead: Mapping[str, DeadLetterTotals] = field(default_factory=dict)  # by source

    def after(self, network: Network, result: BatchResult) -> RowTotals:
        """Return the totals after one more batch."""
        late = {operator: Counter(by_source) for operator, by_source in self.late.items()}
        for facts in (one for report in result.reports for one in report.operators):
            for stream, rows in facts.state.late.items() if facts.state is not None else ():
                late.setdefault(facts.sample.operator, Counter())[sources_of(network, stream)] += rows
        dead = dict(self.dead)
        for source, letters in result.dead.items():
            before = dead.get(source, DeadLetterTotals())
            reasons = Counter(before.reasons) + Counter(dict(letters[REASON].value_counts().iter_rows()))
            dead[source] = DeadLetterTotals(before.rows + letters.height, _commonest(reasons))
        of_queries = sum(counts.late for report in result.reports for counts in report.tallies)
        return RowTotals(late, self.late_for_queries + of_queries, dead)


def late_in(result: BatchResult) -> dict[str, int]:
    """Return the rows that came too late in a batch, by operator."""
    found: Counter[str] = Counter()
    for facts in (one for report in result.reports for one in report.operators):
        if facts.state is not None:
            found[facts.sample.operator] += sum(facts.state.late.values())
    return {operator: rows for operator, rows in sorted(found.items()) if rows}


def to_json(totals: RowTotals) -> dict[str, Any]:  # Any: JSON
    """Return the totals as a commit and a progress report have them."""
    dead = {source: {"rows": one.rows, "reasons": dict(one.reasons)} for source, one in totals.dead.items()}
    late = {operator: dict(by_source) for operator, by_source in totals.late.items()}
    return {"lateRows": late, "lateForQueries": totals.late_for_queries, "deadLetters": dead}


def totals_from(found: Mapping[str, Any]) -> RowTotals:  # Any: JSON
    """Return the totals in a commit, or none."""
    dead = {
        source: DeadLetterTotals(one["rows"], _commonest(Counter(one["reasons"])))
        for source, one in found.get("deadLetters", {}).items()
    }
    return RowTotals(found.get("lateRows", {}), found.get("lateForQueries", 0), dead)


def sentences(totals: RowTotals) -> Iterator[str]:
    """Yield what the totals say, for people."""
    for source, one in sorted(totals.dead.items()):
        more = "" if len(one.reasons) < 2 else f" ({one.reasons[one.reason]:,} of them)"
        yield f"{count(one.rows, 'dead letter')} of {source}: {one.reason}{more}."
    for operator, by_source in sorted(totals.late.items()):
        whose = ", ".join(f"{rows:,} of {source}" for source, rows in sorted(by_source.items()))
        yield f"{count(sum(by_source.values()), 'row')} came too late for operator {operator}: {whose}."
    if totals.late_for_queries:
        yield f"{count(totals.late_for_queries, 'row')} came too late for submitted queries."


def _commonest(reasons: Counter[str]) -> dict[str, int]:
    """Return the commonest reasons, in an order that does not depend on the order of rows."""
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:MOST_REASONS])

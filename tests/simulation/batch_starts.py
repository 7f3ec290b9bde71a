"""Which queries each batch has to run, by what the client was told when the batch began.

Rule 1: a batch runs the queries that were accepted, and not dropped, when it was begun for the first time.
Rule 2: a repeated batch runs the same queries, whatever was accepted since.
Rule 3: only two things leave a choice. A batch that Spark had planned when the run died, and that drover had not begun,
may start as it would have or as the one before it. And if the power is cut before drover has made a batch durable, it
may be begun anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from tests.simulation.queries import ClientQueries, ClientQuery

Planned = tuple[Literal["rows", "closing"], int]  # a batch of Spark, or one of drover that closes windows
Expected = bool | None  # whether a query runs; None if it may or may not
Roll = Mapping[str, Expected]  # by name; a query without an entry was not asked for yet


@dataclass(slots=True)
class Beginning:
    """One time at which a batch began to be computed."""

    roll: Roll
    planned: Planned
    process: int
    cuts: int  # of the power, before it
    is_durable: bool = False  # whether a repetition has to start in the same way


@dataclass(slots=True)
class BatchStarts:
    """The beginnings of all batches of a history; batches are those of drover."""

    queries: ClientQueries
    process: int = 0  # of the run; it has another one after each restart
    cuts: int = 0  # of the power
    planned: dict[Planned, tuple[int, Roll]] = field(default_factory=dict)  # the process that planned it first
    beginnings: dict[int, list[Beginning]] = field(default_factory=dict)

    def plan(self, planned: Planned) -> None:
        """Note that a batch is about to begin, if drover gets that far."""
        self.planned.setdefault(planned, (self.process, self._roll()))

    def begin(self, batch: int, planned: Planned) -> None:
        """Note that drover begins a batch."""
        self.plan(planned)
        self.beginnings.setdefault(batch, []).append(Beginning(self._roll(), planned, self.process, self.cuts))

    def make_durable(self, batch: int) -> None:
        """Note that a repetition of the batch has to start as it did now."""
        self.beginnings[batch][-1].is_durable = True

    def spans(self, query: ClientQuery, batches: int) -> list[tuple[int, int]]:
        """Return the batches that a query may have run in: from the first up to, but without, the second."""
        may = self._expected(query.name, batches)
        return [
            (first, last)
            for first in range(batches + 1)
            for last in range(first, batches + 1)
            if (first < last or first == 0)  # all empty spans are the same
            and True not in may[:first] + may[last:]
            and False not in may[first:last]
        ]

    def _roll(self) -> Roll:
        return {query.name: expected_of(query) for query in self.queries.every}

    def _expected(self, name: str, batches: int) -> list[Expected]:
        found: list[Expected] = []
        for batch in range(batches):
            before = found[-1] if found else False
            choices = {roll.get(name, False) for roll in self._rolls(batch)}
            if self._may_start_as_before(batch):
                choices.add(before)
            found.append(choices.pop() if len(choices) == 1 else None)
        return found

    def _possible(self, batch: int) -> Iterator[Beginning]:
        """Yield the beginnings of which one counts."""
        beginnings = self.beginnings[batch]
        yield beginnings[0]
        for before, after in pairwise(beginnings):
            if before.is_durable or before.cuts == after.cuts:
                return
            yield after

    def _rolls(self, batch: int) -> Iterator[Roll]:
        for one in self._possible(batch):
            yield one.roll
            yield self.planned[one.planned][1] if self._is_late(one) else one.roll

    def _may_start_as_before(self, batch: int) -> bool:
        return any(map(self._is_late, self._possible(batch)))

    def _is_late(self, one: Beginning) -> bool:
        """Return whether an earlier process had planned the batch, and died before it began."""
        return self.planned[one.planned][0] < one.process


def expected_of(query: ClientQuery) -> Expected:
    """Return whether the next batch has to run a query."""
    if query.accepted is False or query.gone is True:
        return False
    return None if query.accepted is None or query.gone is None else True

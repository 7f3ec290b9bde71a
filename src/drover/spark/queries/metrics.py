"""Metrics of queries over the last measured batches, as whole columns.

Rule 1: a batch only appends its table. Sums are computed when they are asked for.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import polars as pl

from drover.flow.families.assignment import MemberCounts
from drover.flow.families.topics import TopicCounts
from drover.flow.query_log.figures import FIGURES, Figures, TopicRates

WINDOW: Final = 10  # batches that the figures cover
LEAST_RATE: Final = 0.01  # rows per second; a topic without rows today may have some tomorrow
MANY: Final = 20_000  # with more queries than this, only one batch in EVERY is measured
EVERY: Final = 10  # batches, for every STEP queries
STEP: Final = 100_000  # queries
MOST_ROWS: Final = 2_000_000  # of measured queries that are kept, of all batches together; a row has 48 bytes


@dataclass(frozen=True, slots=True, eq=False)
class _MeasuredBatch:
    seconds: float  # of wall-clock time since the batch before it
    counts: tuple[MemberCounts, ...]
    number: int
    sent: Mapping[str, int]  # bytes, by source

    @property
    def rows(self) -> int:
        """How many queries were measured."""
        return sum(counts.table.num_rows for counts in self.counts if counts.table is not None)


@dataclass(slots=True)
class QueryMetrics:
    """What the last measured batches of a run did. Every method may be called from any thread."""

    lag: float = 0.0  # seconds from the start of the last batch to its commit
    _batches: deque[_MeasuredBatch] = field(default_factory=lambda: deque(maxlen=WINDOW))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(
        self,
        seconds: float,
        lag: float,
        counts: Iterable[MemberCounts],
        *,
        batch: int = 0,
        sent: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Add a batch; `seconds` is the time since the batch before it, `sent` the bytes that the router sent."""
        measured = tuple(one for one in counts if one.table is not None)
        with self._lock:
            self.lag = lag
            if measured:
                self._batches.append(_MeasuredBatch(seconds, measured, batch, dict(sent)))
                while len(self._batches) > 1 and sum(one.rows for one in self._batches) > MOST_ROWS:
                    self._batches.popleft()

    @property
    def newest(self) -> int | None:
        """The last batch that was measured; None if none was."""
        batches = self._measured()
        return batches[-1].number if batches else None

    def figures(self) -> pl.DataFrame:
        """Return one row per measured query: its rates, its busy seconds per second, and its latest state size."""
        batches = self._measured()
        if not batches:
            return pl.DataFrame(schema=FIGURES)
        seconds = _seconds(batches)
        rows = pl.concat(
            pl.DataFrame(counts.table).with_columns(pl.lit(at).alias("at"))
            for at, batch in enumerate(batches)
            for counts in batch.counts
        )
        # Rates are sums over all batches. State is a level, so only the last batch of each query counts.
        last = pl.col("at") == pl.col("at").max()
        made = rows.group_by("member", maintain_order=True).agg(
            *(pl.col(name).sum() / seconds for name in ("rows_in", "rows_out", "busy")),
            *(pl.col(name).filter(last).sum() for name in ("state_rows", "state_bytes")),
        )
        return made.rename({"member": "number"}).select(FIGURES.names()).cast(FIGURES).sort("number")

    def summary(self, figures: pl.DataFrame, replication: float) -> Figures | None:
        """Return everything measured, for a file; None if nothing was. `figures` are the current `figures()`."""
        batches = self._measured()
        if not batches:
            return None
        seconds = _seconds(batches)
        sent: dict[str, float] = {}
        busy: dict[int, float] = {}
        for batch in batches:
            for source, size in batch.sent.items():
                sent[source] = sent.get(source, 0.0) + size / seconds
            for counts in batch.counts:
                busy[counts.node] = busy.get(counts.node, 0.0) + counts.busy / seconds
        nodes = tuple(busy.get(node, 0.0) for node in range(max(busy) + 1))
        return Figures(batches[-1].number, seconds, replication, sent, nodes, figures, self.topics())

    def topics(self) -> tuple[TopicRates, ...]:
        """Return the rate of every topic that was measured, in bytes per second."""
        found: dict[tuple[str, str], list[tuple[int, TopicCounts]]] = {}
        batches = self._measured()
        for at, batch in enumerate(batches):
            for counts in batch.counts:
                for one in counts.topics:
                    found.setdefault((one.stream, one.column), []).append((at, one))
        seconds = pl.Series([batch.seconds for batch in batches], dtype=pl.Float64())
        return tuple(
            TopicRates(stream, column, _rates(pieces, seconds)) for (stream, column), pieces in sorted(found.items())
        )

    def weights(self) -> dict[str, float]:
        """Return the cost of a query by family, relative to the mean of all measured queries."""
        busy: dict[str, float] = {}
        members: dict[str, int] = {}
        for batch in self._measured():
            for counts in batch.counts:
                rows = 0 if counts.table is None else counts.table.num_rows
                busy[counts.family] = busy.get(counts.family, 0.0) + counts.busy
                members[counts.family] = members.get(counts.family, 0) + rows
        mean = sum(busy.values()) / max(sum(members.values()), 1)
        if mean <= 0:
            return {}
        # Not 0, or any number of cheap queries would fit on one node.
        return {name: max(busy[name] / members[name] / mean, 1e-3) for name in busy if members[name]}

    def _measured(self) -> list[_MeasuredBatch]:
        with self._lock:
            return list(self._batches)


def _rates(pieces: Sequence[tuple[int, TopicCounts]], seconds: pl.Series) -> pl.DataFrame:
    """Return `value` and `rate` of the topics of a stream, counted in batches that took so many `seconds`."""
    size = sum(one.bytes for _, one in pieces) / max(sum(one.rows for _, one in pieces), 1)
    counts = pl.concat(
        [pl.DataFrame(one.table).with_columns(pl.lit(at, pl.UInt32()).alias("at")) for at, one in pieces],
        how="vertical_relaxed",
    )
    # The counts of nodes and families are all of the same rows, unless a node has not read the topic in this batch.
    by_batch = counts.group_by("value", "at", maintain_order=True).agg(pl.col("rows").max())
    timed = by_batch.with_columns(seconds.gather(by_batch["at"]).alias("seconds"))
    made = timed.group_by("value", maintain_order=True).agg(pl.col("rows").sum(), pl.col("seconds").sum())
    rate = pl.max_horizontal(pl.col("rows") / pl.col("seconds").clip(1e-6), LEAST_RATE) * max(size, 1.0)
    return made.select("value", rate.alias("rate"))


def _seconds(batches: Iterable[_MeasuredBatch]) -> float:
    return max(sum(batch.seconds for batch in batches), 1e-6)


def is_measured(batch: int, members: int) -> bool:
    """Return whether to measure a batch query by query, given the number of queries."""
    # To measure a query costs as much as to run it, and its row is sent to the driver: the mean stays the same.
    return members <= MANY or batch % (EVERY * -(-members // STEP)) == 0

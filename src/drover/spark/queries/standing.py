"""How queries stand: what the last batches measured of each, as whole columns.

Rule 1: nothing here is asked for in every batch but to keep a table; sums are made when somebody wants to know.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import polars as pl

from drover.flow.book.figures import FIGURES, Figures
from drover.flow.families.herded import Tally

WINDOW: Final = 10  # batches that count
MANY: Final = 20_000  # with more queries, only some batches are measured
EVERY: Final = 10  # of them, this one


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    seconds: float  # since the batch before it, by the clock on the wall
    tallies: tuple[Tally, ...]
    number: int
    sent: Mapping[str, int]  # bytes, by source


@dataclass(slots=True)
class Standing:
    """What the last measured batches of a run did."""

    lag: float = 0.0  # seconds from the begin of the last batch to its commit: how old results are at the most
    _batches: deque[_Batch] = field(default_factory=lambda: deque(maxlen=WINDOW))
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def take(
        self, seconds: float, lag: float, tallies: Iterable[Tally], *,
        batch: int = 0, sent: Mapping[str, int] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        """Take in a batch; `seconds` is the time since the batch before it, `sent` what the router sent in it."""
        measured = tuple(tally for tally in tallies if tally.table is not None)
        with self._turn:
            self.lag = lag
            if measured:
                self._batches.append(_Batch(seconds, measured, batch, dict(sent)))

    def figures(self) -> pl.DataFrame:
        """Return the measured queries with their rates, busy seconds per second, and state as it was last."""
        with self._turn:
            batches = list(self._batches)
        if not batches:
            return pl.DataFrame(schema=FIGURES)
        seconds = _seconds(batches)
        rows = pl.concat(
            pl.DataFrame(tally.table).with_columns(pl.lit(at).alias("at"))
            for at, one in enumerate(batches)
            for tally in one.tallies
        )
        last = pl.col("at") == pl.col("at").max()
        made = rows.group_by("member", maintain_order=True).agg(
            *(pl.col(name).sum() / seconds for name in ("rows_in", "rows_out", "busy")),
            *(pl.col(name).filter(last).sum() for name in ("state_rows", "state_bytes")),
        )
        return made.rename({"member": "number"}).select(FIGURES.names()).cast(FIGURES).sort("number")

    def told(self, figures: pl.DataFrame, replication: float) -> Figures | None:
        """Return all that was measured, for a file; None before anything was. `figures` are those of this moment."""
        with self._turn:
            batches = list(self._batches)
        if not batches:
            return None
        seconds = _seconds(batches)
        sent: dict[str, float] = {}
        busy: dict[int, float] = {}
        for one in batches:
            for source, size in one.sent.items():
                sent[source] = sent.get(source, 0.0) + size / seconds
            for tally in one.tallies:
                busy[tally.node] = busy.get(tally.node, 0.0) + tally.busy / seconds
        nodes = tuple(busy.get(node, 0.0) for node in range(max(busy) + 1))
        return Figures(batches[-1].number, seconds, replication, sent, nodes, figures)

    def weights(self) -> dict[str, float]:
        """Return what a query of each family costs, relative to the mean of all that were measured."""
        with self._turn:
            batches = list(self._batches)
        busy: dict[str, float] = {}
        members: dict[str, int] = {}
        for tally in (tally for one in batches for tally in one.tallies):
            busy[tally.family] = busy.get(tally.family, 0.0) + tally.busy
            members[tally.family] = members.get(tally.family, 0) + (0 if tally.table is None else tally.table.num_rows)
        mean = sum(busy.values()) / max(sum(members.values()), 1)
        if mean <= 0:
            return {}
        return {name: max(busy[name] / members[name] / mean, 1e-3) for name in busy if members[name]}


def _seconds(batches: Iterable[_Batch]) -> float:
    return max(sum(one.seconds for one in batches), 1e-6)


def measures(batch: int, members: int) -> bool:
    """Return whether a batch is to be measured query by query."""
    return members <= MANY or batch % EVERY == 0

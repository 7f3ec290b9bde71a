"""How queries stand: what the last batches measured of each, as whole columns.

Rule 1: nothing here is asked for in every batch but to keep a table; sums are made when somebody wants to know.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from drover.flow.families.herded import Tally

WINDOW: Final = 10  # batches that count
MANY: Final = 20_000  # with more queries, only some batches are measured
EVERY: Final = 10  # of them, this one
FIGURES: Final = pl.Schema(
    {
        "number": pl.Int64,
        "rows_in": pl.Float64,  # per second
        "rows_out": pl.Float64,  # per second
        "busy": pl.Float64,  # busy seconds per second
        "state_rows": pl.Int64,
        "state_bytes": pl.Int64,
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    seconds: float  # since the batch before it, by the clock on the wall
    tallies: tuple[Tally, ...]


@dataclass(slots=True)
class Standing:
    """What the last measured batches of a run did."""

    lag: float = 0.0  # seconds from the begin of the last batch to its commit: how old results are at the most
    _batches: deque[_Batch] = field(default_factory=lambda: deque(maxlen=WINDOW))
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def take(self, seconds: float, lag: float, tallies: Iterable[Tally]) -> None:
        """Take in a batch; `seconds` is the time since the batch before it."""
        measured = tuple(tally for tally in tallies if tally.table is not None)
        with self._turn:
            self.lag = lag
            if measured:
                self._batches.append(_Batch(seconds, measured))

    def figures(self) -> pl.DataFrame:
        """Return the measured queries with their rates, busy seconds per second, and state as it was last."""
        with self._turn:
            batches = list(self._batches)
        if not batches:
            return pl.DataFrame(schema=FIGURES)
        seconds = max(sum(one.seconds for one in batches), 1e-6)
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


def measures(batch: int, members: int) -> bool:
    """Return whether a batch is to be measured query by query."""
    return members <= MANY or batch % EVERY == 0

"""Late rows: what an operator dropped because its watermark had passed them.

Rule 1: every late row is counted once, whatever the plan. Its number is part of the facts of its operator.
Rule 2: the rows themselves travel to the driver only if the run has a sink for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from drover.flow.operators.base import UnitState, Watermarks
from drover.flow.row_json import row_json
from drover.network.model import Network
from drover.network.types import TIMESTAMP, polars_type

INSTANT: Final = polars_type(TIMESTAMP)
LATE_ROW: Final = {
    "operator": pl.String(),
    "source": pl.String(),
    "time": INSTANT,
    "watermark": INSTANT,
    "row": pl.String(),
}


@dataclass(frozen=True, slots=True)
class StateFacts:
    """What a batch did to the state of one operator."""

    rows: int = 0  # that it holds after the batch
    updated: int = 0  # that the batch wrote
    late: Mapping[str, int] = field(default_factory=dict)  # rows that came too late, by input stream


def state_facts(state: UnitState) -> StateFacts:
    """Return what a batch did to a state."""
    return StateFacts(
        sum(rows.height for rows in state.parts.values()),
        sum(rows.height for rows in (*state.appended.values(), *state.replaced.values())),
        {stream: rows.height for stream, rows in sorted(state.late.items())},
    )


def late_rows(network: Network, operator: str, state: UnitState, clock: Watermarks) -> pl.DataFrame:
    """Return the late rows of an operator for a sink: where they came from, when, and the watermark they missed."""
    parts = [pl.DataFrame(schema=LATE_ROW)]
    for stream, rows in sorted(state.late.items()):
        time = network.streams[stream].time or ""
        parts.append(
            rows.select(
                pl.lit(operator).alias("operator"),
                pl.lit(sources_of(network, stream)).alias("source"),
                pl.col(time).cast(INSTANT).alias("time"),
                # As in Spark, rows are late by the watermark that the previous batch used.
                pl.lit(clock.late, dtype=pl.Int64).cast(INSTANT).alias("watermark"),
                row_json(rows, rows.columns).alias("row"),
            )
        )
    return pl.concat(parts)


def sources_of(network: Network, stream: str) -> str:
    """Return the sources that the rows of a stream come from, in one text."""
    return ", ".join(sorted(network.roots()[stream]))

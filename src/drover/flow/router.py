"""The router: rows of sources, cut by stream and sent as frames to the nodes that read them.

Rule 1: a row that does not fit its source's schema goes to the dead letters with the reason, never silently away.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from drover.flow.deal import ship
from drover.flow.families.interest import Interest
from drover.flow.frames import DRIVER, Frame, pack
from drover.flow.node import ship_to_families
from drover.flow.schedule import Place, Schedule
from drover.flow.spill import SPILL_BYTES
from drover.network.durations import Micros
from drover.network.model import Network

LATEST: Final = "latest"  # port of the latest event times, by source
DEAD: Final = "dead:"  # port of a source's dead letters begins with this; no stream's name has a colon
REASON: Final = "drover reason"
FIRST: Final[Micros] = -62_135_596_800_000_000  # 0001-01-01, where Spark's timestamps begin
LAST: Final[Micros] = 253_402_300_799_999_999  # 9999-12-31


def route(
    network: Network,
    schedule: Schedule,
    rows: Mapping[str, pl.DataFrame],
    origin: int,
    interest: Interest | None = None,
) -> Iterator[Frame]:
    """Yield the frames of a source partition; `origin` is its number, the same on every replay.

    `interest` says which rows are of use to families: see `Memory.interest`.
    """
    latest: dict[str, Micros] = {}
    for source in network.sources:
        frame = rows.get(source.name)
        if frame is None or not frame.height:
            continue
        if source.time is not None:
            micros = pl.col(source.time).dt.epoch("us")
            fits = micros.is_between(FIRST, LAST)
            dead = frame.filter(fits.not_() | micros.is_null())
            if dead.height:
                reason = f"event time {source.time} is NULL or outside the years 1 to 9999"
                yield from _to_driver(dead.with_columns(pl.lit(reason).alias(REASON)), f"{DEAD}{source.name}", origin)
                frame = frame.filter(fits)
            if frame.height:
                latest[source.name] = int(frame.select(micros.max()).item())
        if source.name in network.outputs:
            yield from _to_driver(frame, source.name, origin)
        yield from ship(schedule, source.name, frame, origin)[0]
        yield from ship_to_families(frame, source.name, schedule, interest, origin)
    if latest:
        yield Frame(0, DRIVER, LATEST, origin, 0, pickle.dumps(latest))


def send_strays(rows: pl.DataFrame, sources: Sequence[str], by: str, origin: int) -> Iterator[Frame]:
    """Yield the rows of a source that carries several streams, but belong to none, as dead letters.

    `by` is what tells the streams apart, and the name of the column with what the rows have there.
    """
    if rows.height:
        reason = pl.format(f"{by} is {{}}, which is no stream of {', '.join(sources)}", pl.col(by).fill_null("NULL"))
        yield from _to_driver(rows.with_columns(reason.alias(REASON)), f"{DEAD}{', '.join(sources)}", origin)


def _to_driver(frame: pl.DataFrame, port: str, origin: int) -> Iterator[Frame]:
    yield from pack(frame, port, [Place(DRIVER, 0)], origin, SPILL_BYTES)

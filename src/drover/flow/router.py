"""The router: cuts the rows of sources by stream and sends them as frames to the nodes that read them.

Rule 1: the router never drops a row silently. A row without a usable event time becomes a dead letter with the reason.
Rule 2: a dead letter is a reason and the row as JSON, so that letters of one source fit together, whatever their rows
were.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

import polars as pl

from drover.flow.distribute import ship
from drover.flow.families.interest import Interest
from drover.flow.frames import DRIVER, FRAME_BYTES, Frame, FrameKind, FramePort, pack, stream_port
from drover.flow.node import ship_to_families
from drover.flow.row_json import row_json
from drover.flow.schedule import HopNode, Schedule
from drover.flow.spill import SPILL_BYTES
from drover.network.durations import EARLIEST, LATEST, Micros
from drover.network.model import Network

REASON: Final = "reason"  # columns of dead letters
ROW: Final = "row"
CORRUPT_RECORD: Final = "_corrupt_record"  # Spark's name for the text of a row that it could not read


def route(
    network: Network,
    schedule: Schedule,
    rows: Mapping[str, pl.DataFrame],
    origin: int,
    interest: Interest | None = None,
    most: int = FRAME_BYTES,
) -> Iterator[Frame]:
    """Yield the frames of a source partition; `origin` is its number, the same on every replay.

    `interest` says which rows families of submitted queries need: see `WorkerCache.interest`. Frames for nodes have
    about `most` bytes.
    """
    latest: dict[str, Micros] = {}
    for source in network.sources:
        frame = rows.get(source.name)
        if frame is None or not frame.height:
            continue
        if source.time is not None:
            times = frame[source.time].dt.epoch("us")
            if not _all_fit(times):
                fits = times.is_between(EARLIEST, LATEST).fill_null(value=False)
                reason = f"event time {source.time} is NULL or outside the years 1 to 9999"
                yield from _send_dead(dead_letters(frame.filter(~fits), pl.lit(reason)), [source.name], origin)
                frame = frame.filter(fits)
                times = times.filter(fits)
            if (newest := times.max()) is not None:
                latest[source.name] = cast(int, newest)
        if source.name in network.outputs:
            yield from _to_driver(frame, stream_port(source.name), origin)
        yield from ship(schedule, source.name, frame, origin, most=most)[0]
        yield from ship_to_families(frame, source.name, schedule, interest, origin)
    if latest:
        yield Frame(0, DRIVER, FramePort(FrameKind.EVENT_TIMES), origin, 0, pickle.dumps(latest))


def _all_fit(times: pl.Series) -> bool:
    """Return whether no event time is NULL or outside the years 1 to 9999. Mostly so: two passes without a copy."""
    if times.null_count():
        return False
    return cast(int, times.min()) >= EARLIEST and cast(int, times.max()) <= LATEST


def send_strays(rows: pl.DataFrame, sources: Sequence[str], by: str, origin: int) -> Iterator[Frame]:
    """Yield, as dead letters, the rows of a shared source that belong to none of its streams.

    `by` is the SQL expression that names the stream of a row, and the column that has its value.
    """
    if rows.height:
        # Not `pl.format`: braces in the expression would be places for values.
        end = f", which is no stream of {', '.join(sources)}"
        reason = pl.concat_str(pl.lit(f"{by} is "), pl.col(by).fill_null("NULL"), pl.lit(end))
        yield from _send_dead(dead_letters(rows, reason), sources, origin)


def send_malformed(texts: pl.Series, reasons: pl.Series, sources: Sequence[str], origin: int) -> Iterator[Frame]:
    """Yield, as dead letters, the texts of rows that do not have the types of their columns."""
    if texts.len():
        letters = dead_letters(pl.DataFrame({CORRUPT_RECORD: texts}), pl.lit(reasons))
        yield from _send_dead(letters, sources, origin)


def dead_letters(rows: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    """Return each row as a dead letter."""
    return rows.select(reason.alias(REASON), row_json(rows, rows.columns).alias(ROW))


def _send_dead(letters: pl.DataFrame, sources: Sequence[str], origin: int) -> Iterator[Frame]:
    yield from _to_driver(letters, FramePort(FrameKind.DEAD_LETTERS, ", ".join(sources)), origin)


def _to_driver(frame: pl.DataFrame, port: FramePort, origin: int) -> Iterator[Frame]:
    yield from pack(frame, port, [HopNode(DRIVER, 0)], origin, SPILL_BYTES)

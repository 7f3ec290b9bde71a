"""What `chaos_network` means, row by row in plain Python.

Rule 1: nothing here is drover's, neither its engine nor its oracle. So a mistake that both share, in a model, an
expression or a watermark, shows here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

SECOND: Final = 1_000_000  # microseconds
LATENESS: Final = 1 * SECOND
SIZE: Final = 5 * SECOND  # of a window
ADVANCE: Final = 2 * SECOND
BEFORE: Final = 1 * SECOND  # a partner in b may be that much older than the row of a
AFTER: Final = 2 * SECOND  # or that much younger

Row = tuple[Any, ...]  # Any: cells
Rows = Counter[Row]
Files = Sequence[Mapping[str, pl.DataFrame]]  # frames by source, in the order in which they are read


def plain_results(files: Files, passed: Files) -> dict[str, Rows]:
    """Return the rows of each output after `files` were read; the watermark comes from the event times in `passed`."""
    a, b = (_rows(files, source) for source in ("a", "b"))
    watermarks = [max((row["ts"] for row in _rows(passed, source)), default=0) - LATENESS for source in ("a", "b")]
    closed = min(watermarks) // 1000 * 1000  # Spark counts whole milliseconds
    return {
        "windows": Counter(_windows([*a, *b], closed)),
        "pairs": Counter(_pairs(a, b)),
        # A function with state gets a row once the watermark has passed it.
        "seen": Counter((number,) for number in range(1, 1 + sum(row["ts"] <= closed for row in [*a, *b]))),
    }


def _rows(files: Files, source: str) -> list[dict[str, Any]]:  # Any: cells
    """Return the rows of a source; event times are microseconds since 1970."""
    frames = [batch[source].with_columns(pl.col("ts").dt.epoch("us")) for batch in files if source in batch]
    return [row for frame in frames for row in frame.iter_rows(named=True)]


def _windows(rows: Iterable[Mapping[str, Any]], closed: int) -> Iterable[Row]:  # Any: cells
    """Yield count, sum and maximum per key of all windows that end at `closed` or before."""
    found: dict[tuple[int, int], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["key"] is not None and row["key"] != 3:
            last = row["ts"] // ADVANCE * ADVANCE  # the start of the last window with this row
            for start in range(last, row["ts"] - SIZE, -ADVANCE):
                found[start, row["key"]].append(row)
    for (start, key), inside in found.items():
        end = start + SIZE
        if end <= closed:
            amounts = [row["amount"] for row in inside if row["amount"] is not None]
            prices = [row["price"] for row in inside if row["price"] is not None]
            total = sum(amounts) if amounts else None
            yield (_time(start), _time(end), _time(end - 1), key, len(inside), total, max(prices, default=None))


def _pairs(left: Iterable[Mapping[str, Any]], right: Iterable[Mapping[str, Any]]) -> Iterable[Row]:  # Any: cells
    """Yield a row for every row of `left` and every row of `right` with its key that is near in time."""
    partners: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(right, key=_ts):
        if row["key"] is not None:
            partners[row["key"]].append(row)
    for row in left:
        near = partners.get(row["key"], [])
        first = bisect_left(near, row["ts"] - BEFORE, key=_ts)
        end = bisect_right(near, row["ts"] + AFTER, key=_ts)
        for other in near[first:end]:
            yield (_time(max(row["ts"], other["ts"])), row["amount"], other["amount"])


def _ts(row: Mapping[str, Any]) -> int:  # Any: cells
    return int(row["ts"])


def _time(micros: int) -> datetime:
    return datetime.fromtimestamp(micros // SECOND, UTC).replace(microsecond=micros % SECOND)

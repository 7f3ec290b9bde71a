"""Functions marked as operators, for networks that tests build and run."""

from __future__ import annotations

import hashlib
import os
import signal
import tempfile
from pathlib import Path
from typing import Final

import polars as pl

import drover.network.functions as marks

# Workers are other processes, so a file tells them that a function is mended. Each copy of these tests has its own.
MENDED: Final = Path(tempfile.gettempdir()) / f"drover-mended-{hashlib.sha256(__file__.encode()).hexdigest()[:12]}"


@marks.function(columns={"nulls": "int"}, cost="light")
def nulls_per_row(frame: pl.DataFrame) -> pl.DataFrame:
    count = pl.sum_horizontal(pl.all().is_null()).cast(pl.Int32)
    return frame.select(count.alias("nulls"))


@marks.function(columns={"seen": "bigint"}, keeps_state=True)
def rows_so_far(frame: pl.DataFrame, state: bytes | None) -> tuple[pl.DataFrame, bytes]:
    before = int.from_bytes(state or b"")
    seen = pl.Series("seen", range(before + 1, before + frame.height + 1), dtype=pl.Int64)
    return pl.DataFrame([seen]), (before + frame.height).to_bytes(8)


def unmarked(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


@marks.function(columns={"amount": "bigint"}, cost="light")
def refuses_nulls(frame: pl.DataFrame) -> pl.DataFrame:
    if frame["tag"].null_count() and not MENDED.exists():
        raise ValueError("a tag is missing")
    return frame.select("amount")


@marks.function(columns={"amount": "bigint"}, cost="light")
def dies_of_nulls(frame: pl.DataFrame) -> pl.DataFrame:
    if frame["tag"].null_count():
        os.kill(os.getpid(), signal.SIGKILL)
    return frame.select("amount")


BROKEN: set[str] = set()  # functions of these names raise


@marks.function(columns={"any": "bigint"}, cost="light")
def brittle(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows as they are; an operator declares its own columns."""
    if "brittle" in BROKEN:
        raise ValueError("it is broken")
    return frame


@marks.function(columns={"any": "bigint"}, cost="light")
def tired(frame: pl.DataFrame) -> pl.DataFrame:
    if "tired" in BROKEN:
        raise SystemExit("it gives up")
    return frame


@marks.function(columns={"any": "bigint"}, keeps_state=True)
def brittle_in_order(frame: pl.DataFrame, state: bytes | None) -> tuple[pl.DataFrame, bytes]:
    if "brittle_in_order" in BROKEN:
        raise ValueError("it is broken")
    seen = int.from_bytes(state or b"") + frame.height
    return frame, seen.to_bytes(8)

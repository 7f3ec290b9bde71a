"""Where a run can die: each point is a call of the driver's, and dying happens before or after it.

Rule 1: nothing of this is in drover; functions are exchanged from outside, in tests and in victim.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import polars as pl
from pyspark.sql import SparkSession

from drover.flow.state import commits, retention
from drover.spark import attempts, driver, planner
from drover.spark.sinks import Files


class CrashError(Exception):
    """The end of a run that dies in this process."""


@dataclass(frozen=True, slots=True)
class Point:
    """Before or after a call of `name`, which is looked up in `owner`."""

    owner: Any  # a module or a class
    name: str
    after: bool


POINTS = {
    "before the plan is written": Point(planner, "write_plan", after=False),
    "after the plan is written": Point(planner, "write_plan", after=True),
    "before the batch is computed": Point(attempts._BatchAttempts, "_attempt", after=False),
    "after the batch is computed": Point(attempts._BatchAttempts, "_attempt", after=True),
    "between two sinks": Point(Files, "write", after=True),
    "after the sinks": Point(driver.Driver, "_deliver", after=True),
    "before the commit": Point(driver, "commit", after=False),
    "before a fold": Point(commits, "fold", after=False),
    "after the commit": Point(driver, "commit", after=True),
    "before a sweep": Point(driver, "sweep", after=False),
    "in the middle of a sweep": Point(retention, "delete", after=True),
}


@contextmanager
def often_tidying() -> Iterator[None]:
    """Let runs fold and sweep every second batch or so, and keep little."""
    swept = partial(retention.sweep, keep=2)
    with (
        patch.object(driver, "SWEEP_EVERY", 2),
        patch.object(driver, "sweep", swept),
        patch.object(commits, "LONGEST_CHAIN", 2),
    ):
        yield


@contextmanager
def dying(point: Point, calls: Collection[int], die: Callable[[], None]) -> Iterator[list[int]]:
    """Die at the calls with these numbers, from 1; yields the numbers of the calls so far."""
    made: list[int] = []
    original = getattr(point.owner, point.name)

    def call(*args: Any, **options: Any) -> Any:  # Any: stands in for functions of every type
        made.append(len(made) + 1)
        now = made[-1] in calls
        if now and not point.after:
            die()
        result = original(*args, **options)
        if now:
            die()
        return result

    with patch.object(point.owner, point.name, call):
        yield made


def raise_crash() -> None:
    raise CrashError("here")


@dataclass(slots=True)
class Once:
    """A sink that refuses other rows for a batch it has been given before."""

    batches: dict[int, pl.DataFrame] = field(default_factory=dict)

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        assert spark is not None
        before = self.batches.setdefault(batch, rows)
        assert before.equals(rows), f"batch {batch} was {before} and is now {rows}"

    def rows(self) -> pl.DataFrame:
        return pl.concat(list(self.batches.values()))

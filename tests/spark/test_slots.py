"""Counting executors: a local master has none to lose."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from drover.spark.slots import slots, task_slots
from tests.conftest import SLOTS


def session(master: str, members: int = 1) -> Any:  # Any: takes the place of a session
    scala = SimpleNamespace(getExecutorMemoryStatus=lambda: SimpleNamespace(size=lambda: members))
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, _jsc=SimpleNamespace(sc=lambda: scala)))


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]"])
def test_a_local_master_has_no_executors_to_lose(master: str) -> None:
    assert slots(session(master)) is None


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://host:7077", "yarn"])
def test_executors_are_counted_without_the_driver(master: str) -> None:
    count = slots(session(master, members=3))
    assert count is not None
    assert count() == 2


def test_slots_are_counted_whatever_the_default_parallelism_is(spark: SparkSession) -> None:
    assert spark.sparkContext.defaultParallelism < SLOTS
    assert task_slots(spark) == SLOTS

"""What Spark offers a run: slots, the cores behind them, and the seconds of its trigger."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from drover.spark.slots import cores_here, has_fixed_slots, slot_offer, task_slots, trigger_seconds
from tests.conftest import SLOTS


def session(master: str) -> Any:  # Any: takes the place of a session
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master))


@pytest.mark.parametrize(
    ("master", "fixed"),
    [
        ("local", True),
        ("local[2]", True),
        ("local[*]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://host:7077", False),
        ("yarn", False),
    ],
)
def test_only_a_local_master_has_the_same_slots_to_its_end(master: str, fixed: bool) -> None:
    assert has_fixed_slots(master) == fixed


def test_slots_are_counted_whatever_the_default_parallelism_is(spark: SparkSession) -> None:
    assert spark.sparkContext.defaultParallelism < SLOTS
    assert task_slots(spark) == SLOTS


@pytest.mark.parametrize(
    ("trigger", "seconds"),
    [
        pytest.param(None, None, id="none"),
        pytest.param({"availableNow": True}, None, id="all that is there"),
        pytest.param({"processingTime": "1 second"}, 1.0, id="a second"),
        pytest.param({"processingTime": "250000 microseconds"}, 0.25, id="as a run file gives it"),
        pytest.param({"processingTime": "0 seconds"}, None, id="without a pause"),
        pytest.param({"processingTime": "INTERVAL 1 MONTH"}, None, id="an interval that only Spark reads"),
    ],
)
def test_a_trigger_has_seconds_if_it_waits(trigger: Any, seconds: float | None) -> None:
    assert trigger_seconds(trigger) == seconds


def test_slots_of_this_machine_share_its_cores(spark: SparkSession) -> None:
    found = slot_offer(spark, {"processingTime": "2 s"})()
    assert (found.slots, found.trigger) == (SLOTS, 2.0)
    assert found.cores == min(SLOTS, cores_here())


@pytest.mark.parametrize(("master", "cores"), [("local[64]", 1), ("local-cluster[8,8,1024]", 1), ("yarn", 64)])
def test_a_slot_elsewhere_is_a_core(monkeypatch: pytest.MonkeyPatch, master: str, cores: int) -> None:
    monkeypatch.setattr("drover.spark.slots.task_slots", lambda _: 64)
    monkeypatch.setattr("drover.spark.slots.cores_here", lambda: 1)
    assert slot_offer(session(master), None)().cores == cores

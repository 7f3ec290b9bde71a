"""Executors of a local cluster that are lost, replaced and released while a network runs on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drover.control.engine_choice import EngineChoice
from tests.spark.chaos.run_under_fire import make_spark_home
from tests.spark.elastic_victim import BATCHES
from tests.spark.runs import chaos_network, ordered_batches
from tests.spark.test_kill import PATIENCE, Victim, check

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found as Linux tells of them"),
]


def seen_by(request: pytest.FixtureRequest, folder: Path, happens: str, engine: str, **where: str) -> dict[str, Any]:
    """Run `elastic_victim.py`, check its results, and return what the control loop saw."""
    of_spark = {"SPARK_HOME": str(make_spark_home(folder)), "ELASTIC_HAPPENS": happens}
    victim = Victim(folder, engine=engine, program="tests.spark.elastic_victim", **of_spark, **where)
    try:
        assert victim.process.wait(2 * PATIENCE) == 0
    finally:
        victim.kill()
    check(request, folder, [dict(batch) for batch in ordered_batches(chaos_network(), BATCHES, 15)])
    seen: dict[str, Any] = json.loads((folder / "seen.json").read_text(encoding="utf-8"))  # Any: JSON
    assert seen["error"] == ""
    assert seen["failure"] is None
    assert seen["batches"] >= BATCHES
    return seen


def test_a_node_of_a_lost_executor_is_closed_until_spark_has_replaced_it(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    where = {"ELASTIC_MASTER": "local-cluster[3,1,1024]", "ELASTIC_NODES": "3"}
    seen = seen_by(request, tmp_path, "lost", EngineChoice.SHUFFLE, **where)
    # Spark gives tasks to any free executor, so one may have run several nodes. One slot of three is missing.
    node = max(seen["nodes"])
    assert seen["closed"] == [node]
    assert node not in seen["places"]
    units = [unit for unit, each in seen["before"].items() if each == node]
    cause = f"executor {seen['executor']} was lost: node {node} ran on it"
    assert seen["reasons"] == [f"{len(units)} units need a node: {cause}"]
    assert seen["open again"]


def test_a_resident_node_of_a_lost_executor_starts_on_another_one(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    where = {"ELASTIC_MASTER": "local-cluster[4,1,1024]", "ELASTIC_NODES": "2"}
    seen = seen_by(request, tmp_path, "replaced", EngineChoice.RESIDENT, **where)
    assert seen["nodes"] == [0]
    assert (seen["closed"], seen["reasons"]) == ([], [])
    assert seen["after"] == seen["before"]


def test_an_executor_that_spark_releases_forces_nothing(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    where = {"ELASTIC_MASTER": "local-cluster[3,1,1024]", "ELASTIC_NODES": "3"}
    seen = seen_by(request, tmp_path, "released", EngineChoice.SHUFFLE, **where)
    assert seen["reason"] == "Executor killed by driver."
    assert (seen["closed"], seen["reasons"]) == ([], [])
    assert seen["after"] == seen["before"]

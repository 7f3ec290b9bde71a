"""The choice of an engine, and whole runs on resident nodes of real Spark."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.flight as fl
import pytest
from pyspark.sql import SparkSession

from drover.control.engine_choice import EngineChoice, EngineInUse
from drover.errors import DroverError
from drover.spark.batch import ShuffleEngine
from drover.spark.caller import ask
from drover.spark.engines import ENCRYPTION, choose_for, encrypted_by, engine_of
from drover.spark.handle import Handle
from drover.spark.resident import engine as module
from drover.spark.resident import node_jobs
from drover.spark.resident.engine import ResidentEngine
from drover.spark.resident.node_jobs import ResidentNodes
from drover.spark.resident.node_server import PING
from drover.spark.resident.wire import RunSecret, call_options, connect
from tests.conftest import SLOTS
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows
from tests.spark.chaos.run_under_fire import make_spark_home
from tests.spark.conftest import Worlds
from tests.spark.runs import chaos_network, ordered_batches, write_files
from tests.spark.test_kill import PATIENCE, Victim, check

RESIDENT: dict[str, Any] = {"nodes": SLOTS - 1, "engine": "resident"}  # Any: options of `run`


def test_auto_takes_resident_nodes_where_they_and_a_reader_fit(spark: SparkSession) -> None:
    found = choose_for(spark, EngineChoice.AUTO, SLOTS - 1)
    fits = engine_of(found, spark)
    assert isinstance(fits, ResidentEngine)
    fits.close()
    found = choose_for(spark, EngineChoice.AUTO, SLOTS)
    assert isinstance(engine_of(found, spark), ShuffleEngine)
    assert f"do not fit into {SLOTS} slots" in found.why


def test_nodes_that_leave_no_slot_for_reading_are_refused(worlds: Worlds, ordered: list[Batch]) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:1])
    handle = world.start(nodes=SLOTS, engine="resident")
    with pytest.raises(DroverError, match=f"nodes is {SLOTS}, but Spark has {SLOTS} slots. A resident node needs"):
        handle.awaitTermination(60)
    world.drain(engine="shuffle")
    assert world.committed() == 1


@pytest.mark.parametrize("setting", ENCRYPTION)
def test_a_setting_with_which_spark_encrypts_is_found(setting: str) -> None:
    assert encrypted_by({setting: " True"}) == setting
    assert encrypted_by({setting: "false"}) is None


def test_nodes_get_a_certificate_if_they_have_to_encrypt(spark: SparkSession) -> None:
    for setting in (None, "spark.network.crypto.enabled"):
        made = engine_of(EngineInUse(EngineChoice.RESIDENT, encrypted_by=setting), spark)
        assert isinstance(made, ResidentEngine)
        assert (made._nodes.secret.certificate is None) == (setting is None)
        made.close()


def test_a_run_says_which_engine_it_took(worlds: Worlds, ordered: list[Batch]) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:1])
    handle = world.start(nodes=1, engine="auto", trigger={"processingTime": "0 seconds"})
    handle.processAllAvailable()
    assert str(handle.engine) == f"engine resident, because 1 node and a reader fit into {SLOTS} slots of Spark"
    assert handle.batches[0]["engine"] == "resident"
    assert ask(str(world.checkpoint), "status")["engine"]["name"] == "resident"
    assert str(handle.engine) in handle.explain("pairs").text
    handle.stop()
    assert ask(str(world.checkpoint), "status")["engine"] is None


def test_a_run_on_resident_nodes_gives_what_spark_gives(
    worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame]
) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:3])
    world.drain(**RESIDENT)
    world.add(ordered[3:])
    world.drain(**RESIDENT)
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)


@pytest.mark.slow
def test_a_run_may_change_its_engine(worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame]) -> None:
    world = worlds(chaos_network())
    for number, batch in enumerate(ordered):
        world.add([batch])
        world.drain(nodes=2, engine="resident" if number % 2 else "shuffle")
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)


def test_a_node_that_is_killed_comes_back_at_another_place(spark: SparkSession) -> None:
    nodes = ResidentNodes(spark, "test")
    try:
        (before,) = nodes.ensure(1)
        os.kill(process_of(before.location, nodes.secret), signal.SIGKILL)
        nodes.replace(before, 60.0)
        (after,) = nodes.ensure(1)
        assert after != before
    finally:
        nodes.close()


def test_a_node_that_takes_the_slot_for_reading_when_it_starts_again_is_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = ResidentNodes(spark, "test")
    try:
        (before,) = nodes.ensure(1)
        os.kill(process_of(before.location, nodes.secret), signal.SIGKILL)
        nodes.replace(before, 60.0)
        assert nodes._registry.wait_for(1, 60.0) is not None
        monkeypatch.setattr(node_jobs, "task_slots", lambda _: 1)
        with pytest.raises(DroverError, match="nodes is 1, but Spark has 1 slot"):
            nodes.ensure(1, 0.0)
        monkeypatch.setattr(node_jobs, "task_slots", lambda _: 2)
        (after,) = nodes.ensure(1, 0.0)
        assert after != before
    finally:
        nodes.close()


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGKILL, id="it is killed"),
        pytest.param(signal.SIGSTOP, id="it is stopped", marks=pytest.mark.slow),
    ],
)
def test_a_run_whose_node_is_lost_goes_on_with_another(
    worlds: Worlds,
    ordered: list[Batch],
    expected: dict[str, pl.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(module, "FROZEN", 1.0)
    world = worlds(chaos_network())
    world.add(ordered[:3])
    handle = world.start(**RESIDENT, trigger={"processingTime": "0 seconds"})
    handle.processAllAvailable()
    nodes = nodes_of(handle)
    before = nodes.ensure(SLOTS - 1)
    os.kill(process_of(before[1].location, nodes.secret), number)
    world.add(ordered[3:])
    handle.processAllAvailable()
    after = nodes.ensure(SLOTS - 1)
    assert [node for node in range(SLOTS - 1) if after[node] != before[node]] == [1]
    handle.stop()
    assert handle.exception() is None
    assert handle.parked == {}
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)


def nodes_of(handle: Handle) -> ResidentNodes:
    engine = handle._driver.engine
    assert isinstance(engine, ResidentEngine)
    return engine._nodes


def test_in_the_steady_state_no_state_is_read(worlds: Worlds, ordered: list[Batch]) -> None:
    world = worlds(chaos_network())
    world.add(ordered)
    handle = world.drain(**RESIDENT)
    assert [one["loaded"] for one in handle.batches] == [0] * len(handle.batches)
    assert sum(sample["state_bytes"] for sample in handle.batches[-2]["samples"]) > 0


@pytest.mark.slow
def test_on_three_executors_no_state_is_read_in_the_steady_state(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    batches = [dict(batch) for batch in ordered_batches(chaos_network(), 8, 15)]
    for number, batch in enumerate(batches):
        write_files(tmp_path, batch, number)
    of_spark = {"SPARK_HOME": str(make_spark_home(tmp_path))}
    where = {"VICTIM_MASTER": "local-cluster[3,1,1024]", "VICTIM_NODES": "2"}
    victim = Victim(tmp_path, engine="resident", **of_spark, **where)
    try:
        assert victim.process.wait(2 * PATIENCE) == 0
    finally:
        victim.kill()
    figures = json.loads((tmp_path / "batches.json").read_text(encoding="utf-8"))
    assert len(figures) > len(batches)
    assert {one["engine"] for one in figures} == {"resident"}
    assert [one["loaded"] for one in figures] == [0] * len(figures)
    check(request, tmp_path, batches)


@pytest.mark.slow
def test_where_spark_encrypts_resident_nodes_do_too_and_give_exact_rows(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    batches = [dict(batch) for batch in ordered_batches(chaos_network(), 4, 15)]
    for number, batch in enumerate(batches):
        write_files(tmp_path, batch, number)
    encrypted = {"spark.authenticate": "true", "spark.authenticate.secret": "x", "spark.network.crypto.enabled": "true"}
    encrypted |= {"spark.io.encryption.enabled": "true", "spark.drover.inboxBytes": "0"}
    where = {"VICTIM_MASTER": "local-cluster[2,1,1024]", "VICTIM_NODES": "1", "VICTIM_CONFIG": json.dumps(encrypted)}
    victim = Victim(tmp_path, engine="auto", SPARK_HOME=str(make_spark_home(tmp_path)), **where)
    try:
        assert victim.process.wait(2 * PATIENCE) == 0
    finally:
        victim.kill()
    said = (tmp_path / "engine.txt").read_text(encoding="utf-8")
    assert said == (
        "engine resident, because 1 node and a reader fit into 2 slots of Spark; "
        "nodes encrypt, because spark.network.crypto.enabled is on"
    )
    figures = json.loads((tmp_path / "batches.json").read_text(encoding="utf-8"))
    assert {one["engine"] for one in figures} == {"resident"}
    check(request, tmp_path, batches)


def process_of(location: str, secret: RunSecret) -> int:
    """Return the process of a node; it answers a ping with its number."""
    with connect(location, secret) as client:
        (answer,) = client.do_action(fl.Action(PING, b""), call_options(secret))
    return int(answer.body.to_pybytes())

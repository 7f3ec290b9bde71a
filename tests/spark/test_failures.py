"""What fails alone, what stops a run, and what sinks and handles promise."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

from drover.errors import DroverError
from drover.network.functions import AnyFunction, declaration_of, path_of
from drover.network.model import Network
from drover.network.operators import UserDefined
from drover.spark.caller import ask
from drover.spark.failures import as_drover_error, readable, reason
from drover.spark.quarantine import REASON as REASON_OF_DEATH
from drover.spark.sinks import Files, Memory
from tests import user_functions
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds
from tests.spark.crashes import POINTS, dying, raise_crash
from tests.spark.runs import both_engines, chaos_network


def with_fragile_function(marked: AnyFunction = user_functions.refuses_nulls) -> Network:
    """The chaos network and a function that fails where a tag is missing."""
    base = chaos_network()
    says = declaration_of(marked)
    fragile = UserDefined(name="fragile", input="both", function=path_of(marked), columns=says.columns, cost=says.cost)
    return Network("chaos", base.sources, (*base.operators, fragile), (*base.outputs, "fragile"))


def with_tags(batch: Batch) -> Batch:
    return {source: rows.with_columns(pl.col("tag").fill_null("none")) for source, rows in batch.items()}


def without_tags(batch: Batch) -> Batch:
    return {source: rows.with_columns(pl.lit(None, pl.String).alias("tag")) for source, rows in batch.items()}


REASON = "ValueError: a tag is missing (at "


@pytest.fixture
def switch() -> Iterator[Path]:
    """A file that mends the function for all workers, once it is there."""
    yield user_functions.MENDED
    user_functions.MENDED.unlink(missing_ok=True)


@both_engines
def test_a_failing_function_holds_its_input_and_nothing_else_stops(
    spark: SparkSession, worlds: Worlds, ordered: list[Batch]
) -> None:
    world = worlds(with_fragile_function())
    batches = [with_tags(ordered[0]), without_tags(ordered[1]), with_tags(ordered[2])]
    world.add(batches[:2])
    handle = world.start(trigger={"processingTime": "0 seconds"})
    handle._query.processAllAvailable()
    assert handle.lastProgress is not None
    assert handle.lastProgress["drover"]["parked"]["fragile"].startswith(REASON)
    assert handle.lastProgress["drover"]["held"]["fragile"]["rows"] == sum(rows.height for rows in batches[1].values())
    assert handle.recentProgress[-1].keys() >= {"batchId", "drover"}
    assert handle.exception() is None
    handle.stop()
    world.add(batches[2:])
    again = world.drain()
    assert again.lastProgress is not None
    assert list(again.lastProgress["drover"]["parked"]) == ["fragile"]  # also after a restart
    held = again.held["fragile"]
    assert held.rows == sum(rows.height for batch in batches[1:] for rows in batch.values())
    for stream, rows in expected_streams(spark, chaos_network(), dict(enumerate(batches))).items():
        assert_same_rows(world.output(stream), rows)
    assert world.output("fragile").height == sum(rows.height for rows in batches[0].values())


@both_engines
def test_a_parked_operator_that_is_mended_works_off_what_it_held(
    worlds: Worlds, ordered: list[Batch], switch: Path
) -> None:
    world = worlds(with_fragile_function())
    batches = [with_tags(ordered[0]), without_tags(ordered[1]), with_tags(ordered[2])]
    world.add(batches[:2])
    handle = world.start(trigger={"processingTime": "0 seconds"})
    with pytest.raises(DroverError, match=r"'windows' is not parked\. Parked: (none|fragile)"):
        handle.resume("windows")
    handle.processAllAvailable()
    assert handle.parked["fragile"].startswith(REASON)
    handle.resume("fragile")  # it fails again, and keeps what it holds
    world.add(batches[2:])
    handle.processAllAvailable()
    assert list(handle.parked) == ["fragile"]
    handle.stop()
    ask(str(world.checkpoint), "resume", operator="fragile")
    switch.touch()
    again = world.drain()
    assert again.parked == {}
    everything = Counter(row for batch in batches for rows in batch.values() for row in rows["amount"])
    assert Counter(world.output("fragile")["amount"]) == everything


@pytest.mark.slow
@both_engines
def test_a_function_that_kills_its_worker_twice_is_parked_and_the_others_go_on(
    spark: SparkSession, worlds: Worlds, ordered: list[Batch]
) -> None:
    world = worlds(with_fragile_function(user_functions.dies_of_nulls))
    batches = [with_tags(ordered[0]), without_tags(ordered[1]), with_tags(ordered[2])]
    world.add(batches)
    handle = world.drain()
    assert handle.parked == {"fragile": REASON_OF_DEATH}
    assert handle.held["fragile"].since == 1
    assert list((world.checkpoint / "running").iterdir()) == []
    for stream, rows in expected_streams(spark, chaos_network(), dict(enumerate(batches))).items():
        assert_same_rows(world.output(stream), rows)


def test_a_batch_that_resumed_an_operator_does_so_again_after_a_crash(
    worlds: Worlds, ordered: list[Batch], switch: Path
) -> None:
    world = worlds(with_fragile_function())
    batches = [with_tags(ordered[0]), without_tags(ordered[1]), with_tags(ordered[2])]
    world.add(batches[:2])
    world.drain()
    switch.touch()
    with dying(POINTS["after the sinks"], [1], raise_crash):
        world.add(batches[2:])
        handle = world.start(trigger={"processingTime": "0 seconds"}, resume=["fragile"])
        with pytest.raises(DroverError, match="CrashError"):
            handle.awaitTermination(120)
        handle.stop()
    (before,) = sorted((world.folder / "out" / "fragile").glob("*.parquet"))[1:]
    rows = pl.read_parquet(before)
    assert rows.height == sum(rows.height for batch in batches[1:] for rows in batch.values())
    assert world.drain().parked == {}
    assert pl.read_parquet(before).equals(rows)


def test_listeners_hear_of_every_batch_and_cannot_harm_it(worlds: Worlds, ordered: list[Batch]) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:3])
    heard: list[int] = []

    def fail(figures: Mapping[str, Any]) -> None:
        raise ValueError(f"no more after {figures['batch']}")

    handle = world.start()
    handle.listen(fail)
    handle.listen(lambda figures: heard.append(figures["batch"]))
    assert handle.awaitTermination(120)
    assert heard == [entry["batch"] for entry in handle.batches][-len(heard) :]
    assert len(heard) >= 2  # it may have missed the first
    edges = [edge for sample in handle.batches[0]["samples"] for edge in sample["edges"]]
    routed = handle.batches[0]["routed"]
    assert {edge["stream"] for edge in routed} == {"a", "b"}
    assert all(edge["frames"] > 0 and edge["bytes"] > 0 for edge in (*routed, *edges))


def test_a_failing_function_stops_the_run_if_that_is_wished(
    spark: SparkSession, worlds: Worlds, ordered: list[Batch]
) -> None:
    world = worlds(with_fragile_function())
    batches = [with_tags(ordered[0]), without_tags(ordered[1])]
    world.add(batches)
    handle = world.start(stop_on_failure=True)
    with pytest.raises(DroverError, match="on_failure is stop: fragile: ValueError: a tag is missing"):
        handle.awaitTermination(60)
    error = handle.exception()
    assert error is not None
    assert "a tag is missing" in str(error)
    assert world.committed() == 0
    world.drain()  # without the wish it goes on, with the batch that failed
    for stream, rows in expected_streams(spark, chaos_network(), dict(enumerate(batches))).items():
        assert_same_rows(world.output(stream), rows)


@both_engines
def test_rows_without_event_time_are_dead_letters_of_all_sources_in_one_frame(
    worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame]
) -> None:
    world = worlds(chaos_network())
    lost = {
        source: rows.head(2).with_columns(pl.lit(None, pl.Datetime("us", "UTC")).alias("ts"))
        for source, rows in ordered[0].items()
    }
    batches = [{source: pl.concat([lost[source], rows]) for source, rows in ordered[0].items()}, *ordered[1:]]
    world.add(batches)
    dead = Memory()
    world.drain(dead_letters=dead)
    assert list(dead.batches) == [0]
    letters = dead.rows()
    assert letters["source"].to_list() == ["a", "a", "b", "b"]
    assert all("event time ts is NULL" in reason for reason in letters["reason"])
    assert [json.loads(row)["amount"] for row in letters["row"]] == [
        *lost["a"]["amount"].to_list(),
        *lost["b"]["amount"].to_list(),
    ]
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)


@pytest.mark.slow
def test_a_function_as_sink_gets_each_batch_once(
    worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame]
) -> None:
    world = worlds(chaos_network())
    world.add(ordered)
    calls: list[tuple[str, int]] = []
    found: dict[str, list[pl.DataFrame]] = {stream: [] for stream in expected}

    def sink(stream: str) -> object:
        def take(rows: DataFrame, batch: int) -> None:
            calls.append((stream, batch))
            found[stream].append(pl.DataFrame(rows.toArrow()))

        return take

    world.drain(sinks={stream: sink(stream) for stream in expected})
    assert max(Counter(calls).values()) == 1
    for stream, rows in expected.items():
        assert_same_rows(pl.concat(found[stream]), rows)


def test_a_failing_sink_stops_the_run_with_its_own_words(worlds: Worlds, ordered: list[Batch]) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:1])

    def full(_rows: DataFrame, _batch: int) -> None:
        raise OSError("the shelf is full")

    handle = world.start(sinks={"pairs": full})
    with pytest.raises(DroverError, match="OSError: the shelf is full"):
        handle.awaitTermination(60)
    assert not handle.isActive
    assert world.committed() == -1


@pytest.mark.slow
def test_all_that_is_there_can_be_processed_and_a_run_stopped_and_started_again(
    spark: SparkSession, worlds: Worlds, ordered: list[Batch]
) -> None:
    world = worlds(chaos_network())
    numbered = {}
    for start in (0, 2):
        handle = world.start(trigger={"processingTime": "0 seconds"})
        for batch in ordered[start : start + 2]:
            numbered[world.committed() + 1] = batch
            world.add([batch])
            handle.processAllAvailable()
            expected = expected_streams(spark, world.network, numbered)
            for stream, rows in expected.items():
                assert_same_rows(world.output(stream), rows)
        running = handle.isActive
        handle.stop()
        assert (running, handle.isActive) == (True, False)
        assert handle.exception() is None


@both_engines
def test_stopping_waits_for_the_batch_and_loses_nothing(
    worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    world = worlds(chaos_network())
    world.add(ordered)
    for _ in range(3):
        handle = world.start(trigger={"processingTime": "0 seconds"})
        handle.awaitTermination(1)  # somewhere within a batch
        handle.stop()
    world.drain(
        sinks={
            stream: [Files(str(world.folder / "out" / stream)), Files(str(tmp_path / stream), "json")]
            for stream in expected
        }
    )
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)


JAVA_TRACE = """An error occurred while calling o309.getResult.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2935)
Caused by: org.apache.spark.SparkException: [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records
\tat org.apache.spark.sql.catalyst.csv.UnivocityParser.parse(UnivocityParser.scala:1)
Caused by: java.lang.NumberFormatException: For input string: "x"
\t... 34 more
"""


def test_the_cause_is_found_in_a_trace_of_java() -> None:
    said = "SparkException: [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records"
    assert reason(RuntimeError(JAVA_TRACE)) == said
    lost = JAVA_TRACE.replace("[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] ", "")
    assert reason(RuntimeError(lost)) == 'NumberFormatException: For input string: "x"'
    assert f"the run stopped: RuntimeError: {said}. Remove the cause" in str(as_drover_error(RuntimeError(JAVA_TRACE)))


def test_the_end_of_java_is_reported_with_the_way_out() -> None:
    with pytest.raises(DroverError, match="network 'n': Spark's Java process has ended"), readable("network 'n'"):
        raise ConnectionRefusedError("nobody there")

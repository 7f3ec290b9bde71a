"""Submitted queries on a real run: ten thousand at once, dropped and added under load, and a run that is killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.cli import main
from drover.errors import DroverError
from drover.spark.caller import ask
from drover.spark.handle import Handle
from drover.spark.queries import catalog
from drover.spark.queries.catalog import Receipt
from drover.spark.sinks import Files, Memory
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows
from tests.spark.conftest import Worlds
from tests.spark.crashes import POINTS, CrashError, Once, Point, dying, often_tidying, raise_crash
from tests.spark.meters import START, assert_answers, expected, files_by_batch, meters, query, readings
from tests.spark.runs import World, both_engines

MANY = 10_000
FILTER = {"kind": "filter", "input": "readings"}
BAD = {
    "bad-syntax": ({**FILTER, "where": "site ="}, "this is not a SQL expression"),
    "bad-stream": ({**FILTER, "where": "true", "input": "reading"}, "there is no such stream. Did you mean readings"),
    "bad-column": ({**FILTER, "where": "sit = 'a'"}, "there is no column 'sit'"),
    "bad-type": ({**FILTER, "where": "value + 1"}, "a predicate must be boolean and this is double"),
    "bad-kind": ({"kind": "user", "input": "readings", "function": "os:system", "columns": {}}, "cannot be shared"),
    "bad-size": ({**FILTER, "where": " or ".join(["n = 1"] * 400)}, "at most 2000 characters"),
    "q0": ({**FILTER, "where": "true"}, "has that name"),
}
Given = dict[str, dict[str, Any]]  # queries as in a file, by name


def sampled(given: Given, count: int, *, stateless: bool = False) -> Given:
    names = [name for name in sorted(given) if not stateless or int(name[1:]) % 4 < 2]
    return {name: given[name] for name in random.Random(3).sample(names, count)}


def submit_all(handle: Handle, given: Given) -> Receipt:
    bad = [{"name": name, "operators": {"f": operator}} for name, (operator, _) in BAD.items()]
    receipt = handle.submit(
        [*given.values(), *bad, query("few-1", 2, "few"), query("few-2", 2, "few"), query("greedy-1", 3, "greedy")]
    )
    refused = {one.name: one.faults[0].text for one in receipt.refused}
    assert list(refused) == [*BAD, "few-2"]
    assert all(said in refused[name] for name, (_, said) in BAD.items())
    assert "it has 1 queries and may have 1" in refused["few-2"]
    return receipt


def start_with_many(world: World, files: list[Batch], given: Given) -> tuple[Handle, int]:
    """Start a run, submit all queries at once, and return the batch that they are live in."""
    options: dict[str, Any] = {"queries": Memory(), "limits": {"few": {"queries": 1}, "greedy": {"busy": 0}}}
    world.add(files[:1])
    handle = world.start(trigger={"processingTime": "0 seconds"}, **options)
    handle.processAllAvailable()
    before = handle.batches[-1]["batch"]
    assert len(submit_all(handle, given).accepted) == len(given) + 2
    world.add(files[1:])
    handle.processAllAvailable()
    live = handle.queries().filter(state="live")
    assert live.height == len(given) + 2
    (first,) = live["since"].unique().to_list()
    assert first <= before + 3
    return handle, first


def move_some(handle: Handle, names: list[str]) -> dict[str, int]:
    """Move every tenth of these queries by hand, with what it has counted so far; return where to."""
    node_of = dict(handle.queries().select("query", "node").iter_rows())
    moved = {name: (node_of[name] + 1) % 3 for name in names[::10]}
    for name, node in moved.items():
        handle.move(name, node)
    return moved


@both_engines
@pytest.mark.slow
def test_ten_thousand_queries_come_and_go_under_load(spark: SparkSession, worlds: Worlds) -> None:
    world = worlds(meters())
    files = [readings(number) for number in range(12)]
    given = {f"q{number}": query(f"q{number}", number) for number in range(MANY)}
    handle, first = start_with_many(world, files[:4], given)
    assert handle.queries("few")["query"].to_list() == ["few-1"]

    world.add(files[4:10])  # from here on there is always a file that waits
    gone = [f"q{number}" for number in range(0, MANY, 2)]
    assert len(handle.drop(*gone)) == MANY // 2
    handle.scale(3)
    late = {f"r{number}": query(f"r{number}", number) for number in range(500)}
    assert len(handle.submit(late.values()).accepted) == 500
    handle.processAllAvailable()
    assert set(handle.queries()["node"]) == {0, 1, 2}
    moved = move_some(handle, [f"q{number}" for number in range(1, MANY, 2)])
    world.add(files[10:])
    handle.processAllAvailable()
    assert moved.items() <= dict(handle.queries().select("query", "node").iter_rows()).items()

    progress = handle.batches
    ended = next(one["batch"] for one in progress if one.get("queries", {}).get("live", 0) not in (0, MANY + 2))
    since = handle.queries().filter(pl.col("query").str.starts_with("r"))["since"].unique().to_list()
    kept = {name: one for name, one in given.items() if name not in set(gone)}
    assert moved.keys() & sampled(kept, 100).keys()
    dropped = {name: given[name] for name in gone}
    for chosen, start, end in [
        (sampled(kept, 100), first, 10**9),
        (sampled(late, 60), since[0], 10**9),
        (sampled(dropped, 40, stateless=True), first, ended),
    ]:
        seen = {number: rows for number, rows in files_by_batch(handle, files).items() if start <= number < end}
        assert assert_answers(handle, expected(spark, world.network, chosen, seen)) > 100
    assert progress[-1]["queries"]["failed"] == 0
    assert len(progress[-1]["queries"]["busy"]) == 3
    assert min(progress[-1]["queries"]["busy"]) > 0
    assert progress[-1]["queries"]["parked"] == 1
    assert "tenant greedy is over its limit" in handle.queries("greedy")["parked"][0]
    assert progress[-1]["queries"]["live"] == MANY // 2 + 501


@contextlib.contextmanager
def process(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run of its own, which takes queries; it ends at the latest with this."""
    root = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(root / "src"), str(root)))}
    command = [sys.executable, "-m", "tests.spark.host", str(folder)]
    quiet = subprocess.DEVNULL
    made = subprocess.Popen(command, cwd=root, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        yield made
    finally:
        made.kill()
        made.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(made.pid, signal.SIGKILL)


def wait_for_queries(checkpoint: Path, made: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 180
    while time.monotonic() < end:
        assert made.poll() is None
        with contextlib.suppress(Exception):
            if ask(str(checkpoint), "queries")["live"]:
                return
        time.sleep(0.1)
    raise AssertionError("the run does not answer")


@pytest.mark.slow
def test_what_was_accepted_outlives_a_kill(
    spark: SparkSession, worlds: Worlds, capsys: pytest.CaptureFixture[str]
) -> None:
    network = meters()
    world = worlds(network)
    files = [readings(number) for number in range(4)]
    given = {f"q{number}": query(f"q{number}", number) for number in range(40)}
    world.folder.mkdir()
    path = world.folder / "queries.jsonl"
    at = str(world.checkpoint)
    path.write_text("\n".join([*map(json.dumps, given.values()), "{"]), encoding="utf-8")
    with process(world.folder) as made:
        wait_for_queries(world.checkpoint, made)
        assert main(["submit", str(path), "--to", at]) == 1  # the last line is no query
        made.kill()  # no file has come, so no batch has begun with them
        made.wait()
    said = capsys.readouterr()
    assert "40 of 41 queries accepted" in said.out
    assert f"{path}, line 41: query is '{{', but a line of JSON is one query" in said.err
    assert main(["drop", "q7", "q8", "--from", at]) == 0
    assert main(["queries", at]) == 0
    assert "stopped: 38 queries: 38 waiting" in capsys.readouterr().out
    world.add(files)
    answers = world.folder / "answers"
    world.drain(queries=[Files(str(answers)), Memory()])
    handle = world.handles[-1]
    seen = files_by_batch(handle, files)
    wanted = expected(spark, network, {name: one for name, one in given.items() if name not in ("q7", "q8")}, seen)
    assert assert_answers(handle, wanted) > 100
    assert handle.results("q7").is_empty()
    written = [pl.read_parquet(sorted(folder.glob("*.parquet"))) for folder in sorted(answers.glob("*/"))]
    assert len(written) == 3  # rows as they are, distances, and counts with means
    rows = pl.concat(written, how="diagonal").filter(query="q2").drop("query")
    assert_same_rows(rows.select(wanted["q2"].columns), wanted["q2"])


def test_results_of_a_name_used_again_are_those_of_the_last_query(spark: SparkSession) -> None:
    sink = Memory()
    sink.for_table("old").write(pl.DataFrame({"query": ["q", "r"], "x": [1, 2]}), 0, spark)
    sink.for_table("new").write(pl.DataFrame({"query": ["q"], "y": ["z"]}), 3, spark)
    assert sink.rows("q").to_dict(as_series=False) == {"y": ["z"]}
    assert sink.rows("r").to_dict(as_series=False) == {"x": [2]}
    assert sink.rows("unknown").is_empty()


# Where a run with queries dies: each call of it is a crash, and the run is started again.
DEATHS = {
    "after a change is written": (Point(catalog, "write_change", after=True), (1,)),
    "before a manifest is written": (Point(catalog, "write_manifest", after=False), (1, 2)),
    "after a manifest is written": (Point(catalog, "write_manifest", after=True), (1, 2)),
    "after the sinks": (POINTS["after the sinks"], (2, 3)),
    "after the commit": (POINTS["after the commit"], (2, 4)),
    "in the middle of a sweep": (POINTS["in the middle of a sweep"], (2,)),
}


@dataclass(slots=True)
class Tables:
    """A sink that keeps tables apart, and refuses other rows for a batch it has been given before."""

    tables: dict[str, Once] = field(default_factory=dict)

    def for_table(self, name: str) -> Once:
        return self.tables.setdefault(name, Once())

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        self.for_table("").write(rows, batch, spark)

    def rows(self, name: str, like: pl.DataFrame) -> pl.DataFrame:
        found = [table.rows().filter(query=name).drop("query") for table in self.tables.values()]
        return pl.concat([like.clear(), *(rows for rows in found if rows.height)])


def run_until_done(world: World, files: list[Batch], wanted: list[Given], **options: Any) -> Handle:
    """Start again after every crash, submit the queries of that start, and return the run that finished."""
    for queries in wanted:
        handle = world.start(trigger={"processingTime": "0 seconds"}, **options)
        try:
            handle.submit(queries.values())  # those that are there already are refused
            if not world.files:
                world.add(files)
            handle.processAllAvailable()
        except (CrashError, DroverError) as error:
            if "here" not in str(error):
                raise
        else:
            return handle
        finally:
            handle.stop()
    raise AssertionError("it never finished")


@both_engines
@pytest.mark.slow
@pytest.mark.parametrize("death", DEATHS)
def test_a_run_with_queries_that_dies_loses_and_doubles_nothing(
    spark: SparkSession, worlds: Worlds, death: str
) -> None:
    point, calls = DEATHS[death]
    world = worlds(meters())
    files = [readings(number) for number in range(6)]
    given = {f"q{number}": query(f"q{number}", number) for number in range(24)}
    more = given | {f"r{number}": query(f"r{number}", number) for number in range(8)}
    hot = Once()
    sink = Tables()
    with often_tidying(), dying(point, calls, raise_crash) as made:
        handle = run_until_done(world, files, [given, more, more], sinks={"hot": hot}, queries=sink)
    assert len([call for call in made if call in calls]) == len(calls)
    since = dict(handle.queries().filter(state="live").select("query", "since").iter_rows())
    assert since.keys() == more.keys()
    came = {number: files[(rows["ts"][0] - START) // timedelta(seconds=2)] for number, rows in hot.batches.items()}
    assert len(came) == len(files)
    for first in sorted({*since.values()}):
        chosen = {name: one for name, one in more.items() if since[name] == first}
        seen = {number: batch for number, batch in came.items() if number >= first}
        for name, wanted in expected(spark, world.network, chosen, seen).items():
            assert_same_rows(sink.rows(name, wanted), wanted)

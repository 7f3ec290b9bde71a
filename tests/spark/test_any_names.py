"""One run in which nearly every name is a word of the engine: streams, operators, columns, tables, queries, tenants.

tests/names tries every name, without Spark. Here the worst of them meet Spark, a database, files and a restart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.cli import main
from drover.network.files.network_file import dump
from drover.network.queries.read import write_query
from drover.spark.handle import Handle
from drover.spark.sinks import Files
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.names.network import (
    OUTPUTS,
    PLAIN,
    QUERY_NAMES,
    Naming,
    named_network,
    named_queries,
    plain_batches,
    renamed_batch,
    with_plain_columns,
)
from tests.names.test_flow import run_tables
from tests.spark.conftest import Worlds
from tests.spark.meters import expected, files_by_batch
from tests.spark.runs import World

Options = dict[str, Any]  # Any: the options of `run`
LONG: Final = "L" * 128
WORST: Final = Naming(
    {
        "network": "drover",
        "first": "latest",
        "second": "LATEST",
        "few": "routed",
        "parts": "query",
        "low": "node",
        "high": "stream",
        "others": "reader",
        "every": "select",
        "made": LONG,
        "sums": "queries",
        "pairs": "a-b",
        "seen": "__index__",
        "kept": "_",
        "asked": "table",
        "found": "dead_letters",
        "newest": "main",
        "c_time": "timestamp",
        "c_key": "node",
        "c_tag": "payload",
        "c_amount": "batch",
        "d_time": "spark_partition_id",
        "d_key": "input_file_name",
        "d_amount": "_metadata",
        "m_time": "current_timestamp",
        "m_key": "from",
        "m_sum": "sum",
        "a_count": "panes",
        "a_kinds": "start",
        "a_last": LONG,
        "j_tag": "left",
        "j_amount": "right",
        "counting": "member",
        "joining": "latest",
        "tenant": "default",
        "q_kept": "kept",
        "q_counted": "families",
        "q_made": "part",
        "q_joined": "hop",
        "q_count": "count",
        "q_kinds": "panes",
        "q_time": "time",
        "q_key": "member",
        "q_left": "family",
        "q_right": "number",
    }
)


def results_of(folder: Path, columns: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the rows that the run wrote for each query; queries with other columns are in other folders."""
    files = [pl.read_parquet(path) for path in sorted(folder.rglob("*.parquet"))]
    found = {}
    for query, rows in columns.items():
        own = [each.filter(pl.col("query") == query).drop("query") for each in files]
        found[query] = pl.concat([rows.clear(), *(each for each in own if each.height)])
    return found


def run_twice(world: World, files: list[Batch], options: Options) -> tuple[Handle, Handle]:
    """Run the first files, submit queries, run two more, and the rest in a second run."""
    # Every batch is a period, however short: the report needs one.
    control = {"mode": "observe", "period": 0}
    options = {**options, "queries": Files(str(world.folder / "answers")), "control": control}
    world.add(files[:1])
    first = world.start(trigger={"processingTime": "0 seconds"}, **options)
    first.processAllAvailable()
    receipt = first.submit(map(write_query, named_queries(WORST)))
    assert receipt.refused == ()
    world.add(files[1:3])
    first.processAllAvailable()
    assert first.explain(WORST("sums")).unit == WORST("sums")
    first.stop()
    world.add(files[3:])
    second = world.drain(**options)
    assert first.exception() is second.exception() is None
    return first, second


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"nodes": 2}, id="frames go through a shuffle"),
        pytest.param({"nodes": 1, "engine": "resident"}, id="frames go to a resident node"),  # there are two slots
    ],
)
def test_a_run_does_not_care_what_anything_is_called(
    spark: SparkSession, worlds: Worlds, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: Options
) -> None:
    plain = plain_batches(6, 30)
    network = named_network(WORST, tables=True)
    world = worlds(network)
    files = [renamed_batch(batch, network, WORST) for batch in plain]
    first, second = run_twice(world, files, options)

    without = named_network(WORST)  # the oracle does not read tables that the network writes
    batches = {**files_by_batch(first, files[:3]), **files_by_batch(second, files[3:])}
    wanted = expected_streams(spark, without, batches)
    for stream in OUTPUTS:
        assert_same_rows(world.output(WORST.stream(stream)), wanted[WORST.stream(stream)])
        assert wanted[WORST.stream(stream)].height
    tables = run_tables(PLAIN, tmp_path / "tables", plain)
    assert_same_rows(with_plain_columns(world.output(WORST("found")), tables), tables)

    submitted = {one.name: write_query(one) for one in named_queries(WORST)}
    seen = {number: batch for number, batch in batches.items() if number > min(batches)}
    answers = expected(spark, without, submitted, seen)
    found = results_of(world.folder / "answers", answers)
    assert set(found) == {WORST(plain) for plain in QUERY_NAMES}
    for query, rows in answers.items():
        assert_same_rows(found[query], rows)
        assert rows.height
    check_commands(world, capsys)


def check_commands(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Demand that the commands about a stopped run show the names as they are."""
    checkpoint = str(world.checkpoint)
    file = world.folder / "network.yaml"
    dump(world.network, file)
    for words, shown in (
        (("status", checkpoint), "drover: "),
        (("history", checkpoint), "drover"),
        (("explain", WORST("pairs"), "--from", checkpoint), "a-b"),
        (("explain", WORST("made"), "--from", checkpoint), LONG),
        (("queries", checkpoint), "member"),
        (("dead-letters", checkpoint), ""),
        (("check", str(file), "--against", checkpoint), "unchanged: 2 sources, 1 table"),
        (("show", str(file), "--schemas"), "current_timestamp"),
        (("headroom", str(file)), "LATEST"),
        (("report", checkpoint, "--out", str(world.folder / "r.html")), "r.html"),
    ):
        assert main(list(words)) == 0, words
        out, err = capsys.readouterr()
        assert err == ""
        assert shown in out
    page = (world.folder / "r.html").read_text(encoding="utf-8")
    assert all(name in page for name in ("routed", "query.node", LONG, "member", "__index__"))
    assert main(["status", checkpoint, "--json"]) == 0
    placed = json.loads(capsys.readouterr().out)["plan"]["node_of"]
    assert set(placed) >= {"routed", "query", "queries", "a-b", LONG, "__index__"}

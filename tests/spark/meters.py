"""A small network to submit queries to, many queries, and what Spark gives for some of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from numpy.random import default_rng
from pyspark.sql import SparkSession

import drover
from drover.network.model import Network
from drover.network.queries import Query
from drover.network.queries.notation import entry_of
from drover.network.queries.query import rename_inputs
from drover.network.queries.read import read_entry
from drover.network.types import polars_type
from drover.spark.handle import Handle
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams

SITES = 20
START = datetime(2024, 5, 1, tzinfo=UTC)


def meters() -> Network:
    """A source of readings, a stream made of it on some node, and nothing with state."""
    net = drover.Builder("meters")
    columns = {"ts": "timestamp", "site": "string", "value": "double", "n": "bigint"}
    readings = net.source("readings", columns, time="ts", lateness="1 s")
    readings.filter("hot", "value > 50").output()
    return net.build()


def readings(number: int, rows: int = 120) -> Batch:
    """The rows of one file: two seconds of event time, none of them late."""
    rng = default_rng(number)
    offsets = sorted(rng.integers(0, 2_000, rows).tolist())
    first = START + timedelta(seconds=2 * number)
    frame = {
        "ts": [first + timedelta(milliseconds=offset) for offset in offsets],
        "site": [f"s{one}" for one in rng.integers(0, SITES, rows)],
        "value": rng.integers(0, 100, rows).astype(float),
        "n": rng.integers(0, 10, rows),
    }
    types = {name: polars_type(kind) for name, kind in meters().streams["readings"].types.items()}
    return {"readings": pl.DataFrame(frame, schema=types)}


def query(name: str, number: int, tenant: str = "acme") -> dict[str, Any]:
    """One of four shapes; its constants follow from the number."""
    site = f"s{number % SITES}"
    least = number % 97
    where = f"site = '{site}' and value >= {least}.0"
    operators: dict[str, dict[str, Any]]
    match number % 4:
        case 0:
            operators = {
                "big": {"kind": "filter", "input": "readings", "where": f"n = {number % 10} and value > {least}.5"}
            }
        case 1:
            operators = {
                "mine": {"kind": "filter", "input": "hot", "where": where},
                "far": {"kind": "map", "input": "mine", "select": {"site": "site", "over": f"value - {least}"}},
            }
        case _:
            compute = {"rows": "count(*)", "mean": "avg(value)"}
            size = {"size": "4 s"} if number % 4 == 2 else {"size": "6 s", "advance": "3 s"}
            operators = {
                "mine": {"kind": "filter", "input": "readings", "where": where},
                "counts": {"kind": "aggregate", "input": "mine", **size, "compute": compute},
            }
    return {"name": name, "tenant": tenant, "operators": operators}


def parsed(given: Mapping[str, Any]) -> Query:
    found = read_entry(entry_of(given)).query
    assert found is not None
    return found


def files_by_batch(handle: Handle, files: Sequence[Batch]) -> dict[int, Batch]:
    """The files with the numbers of the batches that they came in: one file per batch and source.

    The files of two sources are not written at the same moment, so a batch may have read only one of them.
    """
    found: dict[int, dict[str, pl.DataFrame]] = defaultdict(dict)
    for source in {name for batch in files for name in batch}:
        numbers = [one["batch"] for one in handle.batches if one["rowsIn"].get(source)]
        for number, rows in zip(numbers, (batch[source] for batch in files), strict=True):
            found[number][source] = rows
    return {number: found[number] for number in sorted(found)}


def expected(
    spark: SparkSession, network: Network, queries: Mapping[str, Mapping[str, Any]], batches: Mapping[int, Batch]
) -> dict[str, pl.DataFrame]:
    """What Spark gives for queries that see these batches alone."""
    operators = list(network.operators)
    outputs = {}
    for index, given in enumerate(queries.values()):
        one = parsed(given)
        names = {operator.name: f"q{index}_{operator.name}" for operator in one.operators}
        operators += [rename_inputs(replace(operator, name=names[operator.name]), names) for operator in one.operators]
        outputs[given["name"]] = names[one.output]
    whole = Network(network.name, network.sources, tuple(operators), (*network.outputs, *outputs.values()))
    found = expected_streams(spark, whole, batches)
    return {name: found[stream] for name, stream in outputs.items()}


def assert_answers(handle: Handle, wanted: Mapping[str, pl.DataFrame]) -> int:
    """Compare the results of queries; return how many rows there were."""
    for name, rows in wanted.items():
        found = handle.results(name)
        assert_same_rows(found if found.width else rows.clear(), rows)
    return sum(rows.height for rows in wanted.values())

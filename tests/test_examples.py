"""The examples: the same network in Python and YAML, and real results on real data."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

import drover
from drover.control.tree import hierarchy_of
from drover.hierarchy.cluster import cluster_of
from drover.network.files.network_file import dumps, load, loads
from drover.network.queries import Shapes
from drover.network.queries.notation import entries_of
from drover.network.queries.read import read_entries
from examples import asof, hierarchy, meters, trades, traffic

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = [pytest.param(module, id=module.__name__.rpartition(".")[2]) for module in (traffic, meters, trades, asof)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_python_and_yaml_give_the_same_network(example: ModuleType) -> None:
    network = example.build()
    assert load(FOLDER / f"{network.name}.yaml") == network
    assert loads(dumps(network)) == network


def test_the_queries_to_traffic_are_sound_and_two_of_them_are_of_one_family() -> None:
    text = (FOLDER / "traffic.queries.yaml").read_text(encoding="utf-8")
    drafts = read_entries(entries_of(text, "traffic.queries.yaml"))
    shapes = Shapes(traffic.build())
    found = [shapes.shape_of(draft.query).shape.id for draft in drafts if draft.query is not None]
    assert (len(found), len(set(found))) == (3, 2)


def test_traffic_finds_clients_that_send_many_small_requests(spark: SparkSession) -> None:
    inputs = traffic.inputs(spark)
    assert sum(rows.count() for rows in inputs.values()) == 30_969
    suspects = drover.reference(traffic.build(), inputs, watermark="end").streams["suspects"]
    # The same question as one plain Spark query.
    log = inputs["east"].unionByName(inputs["west"])
    per_minute = log.groupBy(F.window("ts", "1 minute"), "client")
    plain = per_minute.agg(F.count("*").alias("n"), F.avg("bytes").alias("mean")).where("n >= 8 AND mean < 4000")
    expected = sorted((row.window.start, row.client, row.n, row.mean) for row in plain.collect())
    assert sorted((r.window_start, r.client, r.requests, r.mean_bytes) for r in suspects.collect()) == expected
    assert len(expected) > 50


@pytest.mark.slow
def test_meters_add_up_from_neighbourhood_to_city(spark: SparkSession) -> None:
    inputs = meters.inputs(spark)
    tables = meters.tables(spark)
    result = drover.reference(meters.build(), inputs, tables=tables, watermark="end")
    hours = result.streams["city_mean"].orderBy("window_start").collect()
    assert len(hours) == 7 * 24
    assert {row.meters for row in hours} == {358}
    total = inputs["readings"].agg(F.sum("kwh")).collect()[0][0]
    assert sum(row.kwh for row in hours) == pytest.approx(total)
    branches = [result.streams[f"level.{branch}"].count() for branch in ("high", "low", "usual")]
    assert sum(branches) == 6 * 7 * 24
    assert all(branches)
    latest = result.tables["latest"].agg(F.count("*"), F.min("ts"), F.max("ts")).collect()[0]
    assert (latest[0], latest[1]) == (358, latest[2])


@pytest.mark.slow
def test_trades_give_bars_and_find_expensive_ones(spark: SparkSession) -> None:
    inputs = trades.inputs(spark)
    assert inputs["trades"].count() == (3_044 if trades.is_real() else 4_000)
    result = drover.reference(trades.build(), inputs, watermark="end").streams
    bars = result["bars"].collect()
    volume = inputs["trades"].agg(F.sum("size")).collect()[0][0]
    assert sum(bar.volume for bar in bars) == volume
    assert all(bar.low <= min(bar.open, bar.close) <= max(bar.open, bar.close) <= bar.high for bar in bars)
    pairs = result["dear"].count()
    assert pairs > 0
    assert result["dear"].where("paid <= offered").count() == 0
    assert sum(row.pairs for row in result["dear_minutes"].collect()) == 2 * pairs  # a row falls into two windows


def test_a_surge_changes_how_often_meters_report_but_not_their_values() -> None:
    given = hierarchy.readings()
    quarters = 4 * hierarchy.HOURS
    assert given["meter"].n_unique() == 358
    assert given["source"].n_unique() == hierarchy.DISTRICTS * hierarchy.NEIGHBOURHOODS
    per_meter = dict(given.group_by("meter").len().iter_rows())
    surging = 4 * (hierarchy.SURGE[1] - hierarchy.SURGE[0])
    assert per_meter["m357"] == quarters
    assert per_meter["m000"] == quarters + surging * (hierarchy.MINUTES - 1)
    week = pl.read_csv(meters.READINGS, infer_schema_length=None).head(quarters)
    assert given["kwh"].sum() == pytest.approx(week.select(pl.exclude("ts_local")).sum().sum_horizontal()[0])


def test_operators_of_one_neighbourhood_run_at_its_collector() -> None:
    tree = hierarchy_of(hierarchy.build(), cluster_of(hierarchy.cluster()))
    where = {unit: tree.cluster.nodes[node] for unit, node in tree.complete_placement({}).items()}
    assert (where["two_107"], where["high_two_10"], where["use_10"]) == ("n10", "n10", "n10")
    assert (where["alarms_1"], where["district_1"], where["city_mean"]) == ("d1", "d1", "city")


@pytest.mark.slow
def test_the_hierarchy_agrees_with_plain_spark_and_reduces_overload(spark: SparkSession) -> None:
    stayed, moved = hierarchy.compare(spark, hours=12)  # four of them in the surge
    assert stayed.equal
    assert moved.equal
    assert (stayed.moves, stayed.periods) == (0, moved.periods)
    assert moved.moves > 0
    assert moved.levels < stayed.levels / 2

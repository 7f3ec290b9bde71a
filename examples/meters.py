"""Smart meters: use by neighbourhood, district and city, hour by hour, and the latest reading of every meter.

Readings find their neighbourhood in a table, climb three levels of averages, and districts above their usual use are
given out. Run it: python -m examples.meters
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl
from pyspark.sql import DataFrame, SparkSession

import drover
from examples.show import show

READINGS: Final = Path(__file__).parent / "data" / "meters-swiss-week.csv.gz"
METERS_PER_NEIGHBOURHOOD: Final = 10
NEIGHBOURHOODS_PER_DISTRICT: Final = 6


def build() -> drover.Network:
    """Return the network."""
    net = drover.Builder("meters")
    readings = net.source(
        "readings", {"ts": "timestamp", "meter": "string", "kwh": "double"}, time="ts", lateness="15 min"
    )
    places = net.table("places", {"meter": "string", "neighbourhood": "int", "district": "int"}, key="meter")
    latest = net.table("latest", {"meter": "string", "ts": "timestamp", "kwh": "double"}, key="meter")
    readings.write_table("remember", latest)
    placed = readings.read_table("placed", places, on="meter", columns=["neighbourhood", "district"])
    use = {"kwh": "sum(kwh)", "meters": "sum(meters)", "peak": "max(peak)"}
    neighbourhoods = placed.aggregate(
        "neighbourhoods",
        {"kwh": "sum(kwh)", "meters": "count(distinct meter)", "peak": "max(kwh)"},
        size="1 h",
        group_by=["district", "neighbourhood"],
    )
    districts = neighbourhoods.aggregate("districts", use, size="1 h", group_by="district")
    city = districts.aggregate("city", use, size="1 h")
    city.extend("city_mean", {"mean_kwh": "kwh / meters"}).output()
    means = districts.extend("district_mean", {"mean_kwh": "kwh / meters"})
    means.switch("level", {"high": "mean_kwh >= 3", "low": "mean_kwh < 1"}, rest="usual")
    for branch in ("high", "low", "usual"):
        net.stream(f"level.{branch}").output()
    return net.build()


def inputs(spark: SparkSession) -> dict[str, DataFrame]:
    """Return a week of real readings, a row per meter and quarter hour (local time, read as UTC)."""
    wide = pl.read_csv(READINGS, infer_schema_length=None)
    long = wide.unpivot(index="ts_local", variable_name="meter", value_name="kwh").select(
        pl.col("ts_local").str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", time_zone="UTC").alias("ts"),
        "meter",
        pl.col("kwh").cast(pl.Float64),
    )
    return {"readings": spark.createDataFrame(long.to_arrow())}


def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """Return where the meters stand (made up: ten to a neighbourhood, six neighbourhoods to a district)."""
    meters = pl.DataFrame({"number": range(358)}).select(
        meter=pl.format("m{}", pl.col("number").cast(pl.String).str.zfill(3)),
        neighbourhood=(pl.col("number") // METERS_PER_NEIGHBOURHOOD).cast(pl.Int32),
        district=(pl.col("number") // (METERS_PER_NEIGHBOURHOOD * NEIGHBOURHOODS_PER_DISTRICT)).cast(pl.Int32),
    )
    return {"places": spark.createDataFrame(meters.to_arrow())}


if __name__ == "__main__":
    show(build(), inputs, tables, order="window_start")

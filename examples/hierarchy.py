"""Run smart meters on a tree of machines: neighbourhoods, districts, a city. One district has a surge.

Every neighbourhood has a collector with little memory. It keeps sliding sums of use by meter, street by street, and
looks for high ones; districts and the city add up. The day is run twice: with operators that stay where they are, and
with operators that neighbours hand to each other. Run it: python -m examples.hierarchy
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.testing import assert_frame_equal
from pyspark.sql import SparkSession

import drover
from drover.spark.session import session
from examples.meters import READINGS

DISTRICTS: Final = 2
NEIGHBOURHOODS: Final = 2  # of a district
STREETS: Final = 10  # of a neighbourhood
METERS: Final = 90  # of a neighbourhood; the last one has 88
HOURS: Final = 24  # from midnight of Monday, 29 October 2018
SURGE: Final = (8, 20)  # hours in which the first district reports every minute, not every quarter of an hour
MINUTES: Final = 15
SLIDING: Final = {"one": "1 h", "two": "2 h"}
# kWh of a meter in each sliding window. No sum of readings comes close to these, so rounding cannot decide.
HIGH: Final = {"one": 3.50003, "two": 6.00003}
UPPER: Final = 0.6
# Bytes of state. Collectors are a little less than half full as long as meters report every quarter of an hour.
MEMORY: Final = {"city": 512 * 1024, "district": 256 * 1024, "neighbourhood": 144 * 1024}
SMALL_JOBS: Final = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}  # of plain Spark
SUMS: Final = {"kwh": "sum(kwh)", "peak": "max(kwh)"}
COLUMNS: Final = {"ts": "timestamp", "meter": "string", "kwh": "double"}


def places() -> list[tuple[int, int]]:
    """Return the neighbourhoods: their district, and their number in it."""
    return [(d, k) for d in range(DISTRICTS) for k in range(NEIGHBOURHOODS)]


def build(streets: int = STREETS) -> drover.Network:
    """Return the network: one source per neighbourhood, its streets, and the sums above them."""
    net = drover.Builder("hierarchy")
    use = {"kwh": "sum(kwh)", "meters": "sum(meters)", "peak": "max(peak)"}
    of_district = []
    for d in range(DISTRICTS):
        hours = []
        alarms = []
        for k in range(NEIGHBOURHOODS):
            rows = net.source(f"meters_{d}{k}", COLUMNS, time="ts", lateness="0 s")
            sound = rows.filter(f"sound_{d}{k}", "kwh >= 0 AND kwh < 20")
            own = [sound.filter(f"street_{d}{k}{s}", _in_street(d, k, s, streets)) for s in range(streets)]
            for name, size in SLIDING.items():
                sums = [
                    street.aggregate(f"{name}_{d}{k}{s}", SUMS, size=size, advance="5 min", group_by="meter")
                    for s, street in enumerate(own)
                ]
                every = sums[0].union(f"{name}_{d}{k}", *sums[1:]) if streets > 1 else sums[0]
                alarms.append(every.filter(f"high_{name}_{d}{k}", f"kwh >= {HIGH[name]}"))
            hourly = {"kwh": "sum(kwh)", "meters": "count(distinct meter)", "peak": "max(kwh)"}
            hours.append(sound.aggregate(f"use_{d}{k}", hourly, size="1 h"))
        alarms[0].union(f"alarms_{d}", *alarms[1:]).output()
        together = hours[0].union(f"uses_{d}", *hours[1:])
        of_district.append(together.aggregate(f"district_{d}", use, size="1 h"))
        of_district[-1].filter(f"busy_{d}", "kwh >= 1.00003 * meters").output()
    whole = of_district[0].union("districts", *of_district[1:]).aggregate("city_use", use, size="1 h")
    whole.extend("city_mean", {"mean_kwh": "kwh / meters"}).output()
    return net.build()


def _in_street(d: int, k: int, s: int, streets: int) -> str:
    """Return the predicate that selects the meters of a street."""
    first = METERS * (d * NEIGHBOURHOODS + k) + METERS // streets * s
    return f"meter >= 'm{first:03}' AND meter < 'm{first + METERS // streets:03}'"


def cluster() -> dict[str, Any]:  # Any: as in a run file
    """Return the tree: rows of a neighbourhood enter at its collector."""
    tree: dict[str, Any] = {"city": {"memory": MEMORY["city"]}}
    for d in range(DISTRICTS):
        tree[f"d{d}"] = {"parent": "city", "memory": MEMORY["district"]}
    for d, k in places():
        own = {"parent": f"d{d}", "memory": MEMORY["neighbourhood"], "sources": [f"meters_{d}{k}"]}
        tree[f"n{d}{k}"] = own
    return {"tree": tree, "marks": {"lower": 0.4, "upper": UPPER}}


def readings(hours: int = HOURS) -> pl.DataFrame:
    """Return real readings (local time, read as UTC) with their source; where meters stand is made up.

    In the surge a reading of a quarter of an hour is told as fifteen of a minute, each with a fifteenth of it.
    """
    wide = pl.read_csv(READINGS, infer_schema_length=None).head(4 * hours)
    number = pl.col("meter").str.slice(1).cast(pl.Int64) // METERS
    district = number // NEIGHBOURHOODS
    long = wide.unpivot(index="ts_local", variable_name="meter", value_name="kwh").select(
        pl.col("ts_local").str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", time_zone="UTC").alias("ts"),
        "meter",
        pl.col("kwh").cast(pl.Float64),
        pl.format("meters_{}{}", district, number % NEIGHBOURHOODS).alias("source"),
    )
    hour = (pl.col("ts") - long["ts"].min()).dt.total_hours()
    surging = (pl.col("source").str.starts_with("meters_0")) & hour.is_between(*SURGE, closed="left")
    often = long.filter(surging).join(pl.DataFrame({"minute": range(MINUTES)}), how="cross")
    minutes = often.select(pl.col("ts") + pl.duration(minutes="minute"), "meter", pl.col("kwh") / MINUTES, "source")
    return pl.concat([long.filter(~surging), minutes]).sort("ts", "meter")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one day."""

    mode: str
    periods: int
    overloaded: int  # node-periods above the upper mark
    levels: float  # sum of what is above the mark, in capacities
    moves: int
    messages: tuple[str, ...]  # reasons of moves
    rows: int  # in all outputs
    equal: bool  # whether they are those of the oracle


def play(
    spark: SparkSession, network: drover.Network, given: pl.DataFrame, expected: dict[str, pl.DataFrame], mode: str
) -> Outcome:
    """Run a day, an hour per batch and period, in mode observe (operators stay) or auto (neighbours negotiate)."""
    kept = {stream: drover.sinks.Memory() for stream in network.outputs}
    with tempfile.TemporaryDirectory(prefix="drover-hierarchy-", ignore_cleanup_errors=True) as folder:
        _write(given, Path(folder) / "in")
        frame = spark.readStream.schema("ts timestamp, meter string, kwh double, source string")
        stream = frame.option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
        sources = drover.streams(stream, "source", {source.name: source.name for source in network.sources})
        handle = drover.run(
            network,
            sources,
            kept,
            checkpoint=f"{folder}/checkpoint",
            cluster=cluster(),
            control={"mode": mode, "period": 0},
            trigger={"availableNow": True},
            endpoint=False,
        )
        handle.listen(lambda _: handle.control.wait())  # batches are short: wait for each decision
        handle.awaitTermination()
        records = handle.decisions
    excess = [load - UPPER for record in records for load in record.loads if load > UPPER]
    moved = [record for record in records if record.kind == "moved" and record.proposal is not None]
    found = {stream: sink.rows() for stream, sink in kept.items()}
    return Outcome(
        mode,
        len(records),
        len(excess),
        round(sum(excess), 2),
        sum(len(record.proposal.moves) for record in moved if record.proposal is not None),
        tuple(f"period {record.period}: {record.reason}" for record in moved),
        sum(frame.height for frame in found.values()),
        same(found, expected),
    )


def _write(given: pl.DataFrame, folder: Path) -> None:
    """Write a file per hour; Spark reads them in order of their age."""
    folder.mkdir()
    for number, (_, rows) in enumerate(given.group_by(pl.col("ts").dt.truncate("1h"), maintain_order=True)):
        path = folder / f"{number:05}.parquet"
        rows.write_parquet(path)
        os.utime(path, (number, number))


def oracle(spark: SparkSession, network: drover.Network, given: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return what plain Spark gives for the readings, once all of them are there."""
    inputs = {}
    for source in network.sources:
        own = given.filter(pl.col("source") == source.name).select(list(COLUMNS))
        inputs[source.name] = spark.createDataFrame(own.to_arrow())
    before = {key: spark.conf.get(key) for key in SMALL_JOBS}
    for key, value in SMALL_JOBS.items():
        spark.conf.set(key, value)
    streams = drover.reference(network, inputs, watermark="seen").streams
    found = {name: pl.DataFrame(streams[name].toArrow()) for name in network.outputs}
    for key, was in before.items():
        spark.conf.set(key, str(was))
    return found


def same(found: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> bool:
    """Return whether two runs gave the same rows, except for the last digits of sums."""
    try:
        for stream, rows in expected.items():
            mine = found[stream] if found[stream].width else rows.clear()
            assert_frame_equal(mine, rows, check_row_order=False, rel_tol=1e-9, abs_tol=1e-9)
    except AssertionError:
        return False
    return True


def compare(spark: SparkSession, hours: int = HOURS, streets: int = STREETS) -> tuple[Outcome, Outcome]:
    """Return the outcome with operators that stay, and with operators that move."""
    network = build(streets)
    given = readings(hours)
    expected = oracle(spark, network, given)
    stayed, moved = (play(spark, network, given, expected, mode) for mode in ("observe", "auto"))
    return stayed, moved


def main() -> None:
    """Run the day twice and print both outcomes."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    hours = range(1, HOURS + 1)
    options.add_argument("--hours", type=int, default=HOURS, choices=hours, help="how much of the day to run")
    divisors = [count for count in range(1, STREETS + 1) if METERS % count == 0]
    options.add_argument("--streets", type=int, default=STREETS, choices=divisors, help="fewer, and larger operators")
    options.add_argument("--json", action="store_true", help="one JSON object")
    given = options.parse_args()
    spark = session("example hierarchy", "local[2]")
    stayed, moved = compare(spark, given.hours, given.streets)
    spark.stop()
    if given.json:
        print(json.dumps({"stayed": asdict(stayed), "moved": asdict(moved)}))
        return
    for reason in moved.messages:
        print(reason)
    for outcome, what in ((stayed, "operators stay"), (moved, "neighbours negotiate")):
        print(
            f"{what}: {outcome.overloaded} of {outcome.periods * len(cluster()['tree'])} node-periods above "
            f"{UPPER:.0%}, by {outcome.levels:g} capacities together; {outcome.moves} moves; {outcome.rows:,} rows, "
            f"{'equal to' if outcome.equal else 'NOT THOSE OF'} plain Spark's"
        )


if __name__ == "__main__":
    main()

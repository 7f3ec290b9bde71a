"""The oracle against results worked out by hand, by brute force, and by Spark's own streaming engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

import drover
from drover.errors import DroverError
from drover.network.types import polars_type
from tests.spark import userfunctions

T0 = datetime(2024, 1, 1, tzinfo=UTC)
COLUMNS = {"ts": "timestamp", "k": "string", "v": "bigint"}
Row = tuple[Any, ...]  # Any: cells of every column type


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def frame(spark: SparkSession, source: Any, rows: Iterable[Row]) -> DataFrame:
    schema = {column.name: polars_type(column.type) for column in source.columns}
    return spark.createDataFrame(pl.DataFrame(list(rows), schema=schema, orient="row").to_arrow())


def rows_of(result: DataFrame) -> list[Row]:
    return in_order(pl.DataFrame(result.toArrow()).rows())


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [str(cell) for cell in row])


def run(
    spark: SparkSession, network: drover.Network, *inputs: Iterable[Row], stream: str = "out", **options: Any
) -> list[Row]:
    given = {source.name: frame(spark, source, rows) for source, rows in zip(network.sources, inputs, strict=True)}
    return rows_of(drover.reference(network, given, **options).streams[stream])


def one(make: Callable[[drover.Stream], drover.Stream], lateness: str = "0 s") -> drover.Network:
    net = drover.Builder("n")
    make(net.source("s", COLUMNS, time="ts", lateness=lateness)).output()
    return net.build()


def test_a_filter_keeps_what_is_true_and_neither_false_nor_null(spark: SparkSession) -> None:
    network = one(lambda s: s.filter("out", "v > 1"))
    rows = [(at(0), "a", 1), (at(1), "a", 2), (at(2), "a", None)]
    assert run(spark, network, rows) == [(at(1), "a", 2)]


def test_a_row_without_event_time_does_not_enter(spark: SparkSession) -> None:
    network = one(lambda s: s.filter("out", "v > 0"))
    assert run(spark, network, [(None, "a", 1), (at(0), "b", 1)]) == [(at(0), "b", 1)]


@pytest.mark.parametrize(
    ("branch", "values"),
    [
        pytest.param("big", [20, 30], id="the first case that is true"),
        pytest.param("even", [2], id="a later case gets only what is left"),
        pytest.param("other", [1, None], id="the rest gets false and NULL"),
    ],
)
def test_a_switch_sends_each_row_one_way(spark: SparkSession, branch: str, values: list[int | None]) -> None:
    net = drover.Builder("n")
    for stream in (
        net.source("s", COLUMNS, time="ts").switch("w", {"big": "v > 9", "even": "v % 2 = 0"}, rest="other").values()
    ):
        stream.output()
    rows = [(at(i), "a", v) for i, v in enumerate([1, 2, 20, 30, None])]
    found = run(spark, net.build(), rows, stream=f"w.{branch}")
    assert [row[2] for row in sorted(found)] == values


def test_a_union_matches_columns_by_name(spark: SparkSession) -> None:
    net = drover.Builder("n")
    first = net.source("a", {"ts": "timestamp", "x": "int", "y": "int"}, time="ts")
    second = net.source("b", {"y": "int", "x": "int", "ts": "timestamp"}, time="ts")
    first.union("out", second).output()
    assert run(spark, net.build(), [(at(0), 1, 2)], [(4, 3, at(1))]) == [(at(0), 1, 2), (at(1), 3, 4)]


@pytest.mark.parametrize(
    ("watermark", "starts"),
    [
        pytest.param("end", [0, 10, 20], id="at the end all windows close"),
        pytest.param("seen", [0, 10], id="after the last row at 25 s"),
        pytest.param(at(20), [0, 10], id="a watermark at a window's end closes it"),
        pytest.param(at(20) - timedelta(microseconds=1), [0], id="a watermark just before does not"),
        pytest.param({"s": at(10)}, [0], id="one watermark per source"),
    ],
)
def test_windows_close_when_the_watermark_reaches_their_end(
    spark: SparkSession, watermark: Any, starts: list[int]
) -> None:
    network = one(lambda s: s.aggregate("out", {"n": "count(*)"}, size="10 s"))
    rows = [(at(t), "a", 1) for t in (0, 3, 12, 25)]
    found = run(spark, network, rows, watermark=watermark)
    assert [row[0] for row in found] == [at(start) for start in starts]


def test_lateness_holds_the_watermark_back(spark: SparkSession) -> None:
    network = one(lambda s: s.aggregate("out", {"n": "count(*)"}, size="10 s"), lateness="10 s")
    assert [row[0] for row in run(spark, network, [(at(t), "a", 1) for t in (0, 3, 12, 25)])] == [at(0)]


def test_results_of_windows_fall_into_the_windows_that_hold_them(spark: SparkSession) -> None:
    def make(s: drover.Stream) -> drover.Stream:
        seconds = s.aggregate("seconds", {"n": "count(*)"}, size="1 s")
        return seconds.aggregate("out", {"total": "sum(n)", "windows": "count(*)"}, size="1 min")

    rows = [(at(t / 2), "a", 1) for t in range(240)]
    found = run(spark, one(make), rows, watermark="end")
    assert [(row[0], row[3], row[4]) for row in found] == [(at(0), 120, 60), (at(60), 120, 60)]


def test_a_window_times_out_after_its_first_row(spark: SparkSession) -> None:
    network = one(
        lambda s: s.aggregate("out", {"n": "count(*)", "last": "last(v)"}, size="60 s", group_by="k", timeout="5 s")
    )
    rows = [(at(10), "a", 1), (at(14.9), "a", 2), (at(15), "a", 3), (at(30), "b", 4), (at(33), "b", 5)]
    closed_a = (at(0), at(60), at(60) - timedelta(microseconds=1), "a", 2, 2)
    closed_b = (at(0), at(60), at(60) - timedelta(microseconds=1), "b", 2, 5)
    assert run(spark, network, rows, watermark="end") == [closed_a, closed_b]
    assert run(spark, network, rows, watermark=at(34)) == [closed_a]
    assert run(spark, network, rows, watermark=at(14)) == []


def test_a_synthetic_operator_passes_its_share(spark: SparkSession) -> None:
    rows = [(at(t), "a", t) for t in range(4000)]
    some = run(spark, one(lambda s: s.synthetic("out", cost=0.1, selectivity=0.25)), rows)
    assert 0.22 < len(some) / 4000 < 0.28
    assert len(set(some)) == len(some)
    more = run(spark, one(lambda s: s.synthetic("out", cost=0, selectivity=2.5, seed=9)), rows)
    assert 2.46 < len(more) / 4000 < 2.54
    assert len(set(more)) == 4000


def test_a_user_function_sees_rows_in_time_order_if_it_keeps_state(spark: SparkSession) -> None:
    rows = [(at(t), "a", t) for t in (5, 1, 3, 2, 4)]
    summed = run(spark, one(lambda s: s.apply("out", userfunctions.running_total)), rows, watermark="end")
    assert sorted(summed) == [(at(1), 1), (at(2), 3), (at(3), 6), (at(4), 10), (at(5), 15)]
    waiting = run(spark, one(lambda s: s.apply("out", userfunctions.running_total)), rows, watermark=at(2))
    assert sorted(waiting) == [(at(1), 1), (at(2), 3)]
    doubled = run(spark, one(lambda s: s.apply("out", userfunctions.doubled)), rows)
    assert sorted(doubled) == [(at(t), 2 * t) for t in (1, 2, 3, 4, 5)]


def test_tables_are_read_by_key_and_written_by_latest_time(spark: SparkSession) -> None:
    net = drover.Builder("n")
    s = net.source("s", COLUMNS, time="ts")
    names = net.table("names", {"k": "string", "name": "string"}, key="k")
    kept = net.table("kept", {"k": "string", "ts": "timestamp", "v": "bigint"}, key="k")
    s.read_table("out", names, on="k", columns="name").output()
    s.read_table("known", names, on="k", columns="name", drop_unmatched=True).output()
    s.write_table("w", kept)
    network = net.build()
    rows = [(at(2), "a", 20), (at(1), "a", 10), (at(2), "a", 15), (at(0), "b", 1), (at(0), None, 0)]
    given = {"s": frame(spark, network.sources[0], rows)}
    tables = {
        "names": frame(spark, network.tables[0], [("a", "Ann")]),
        "kept": frame(spark, network.tables[1], [("b", at(5), 7), ("c", at(0), 3)]),
    }
    result = drover.reference(network, given, tables=tables)
    assert {row[3] for row in rows_of(result.streams["out"])} == {"Ann", None}
    assert {row[1] for row in rows_of(result.streams["known"])} == {"a"}
    latest = [("a", at(2), 20), ("b", at(5), 7), ("c", at(0), 3), (None, at(0), 0)]
    assert rows_of(result.tables["kept"]) == in_order(latest)


def test_no_column_name_is_special(spark: SparkSession) -> None:
    net = drover.Builder("n")
    names = ("left", "right", "col", "r", "s", "t", "window", "order", "select", "end")
    source = net.source("s", {"ts": "timestamp"} | dict.fromkeys(names, "int"), time="ts")
    table = net.table("t", {"r": "int", "ts": "timestamp", "left": "int"}, key="r")
    source.write_table("write", table)
    work = source.synthetic("work", cost=0, selectivity=2)
    sums = work.aggregate("sums", {"end": "sum(col)", "start": "max(`order`)"}, size="1 s", group_by=names[:2])
    select = {"left": "left.`left`", "right": "right.`right`", "window": "right.`window`", "end": "left.`end`"}
    sums.join("out", source, within="2 s", on="left", select=select).output()
    network = net.build()
    given = {"s": frame(spark, network.sources[0], [(at(0), *range(10))])}
    result = drover.reference(network, given, watermark="end")
    assert rows_of(result.streams["out"]) == [(at(1) - timedelta(microseconds=1), 0, 1, 6, 4)]
    assert rows_of(result.tables["t"]) == [(3, at(0), 0)]


def test_inputs_that_do_not_fit_are_refused_by_name(spark: SparkSession) -> None:
    network = one(lambda s: s.filter("out", "v > 1"))
    good = frame(spark, network.sources[0], [])
    with pytest.raises(DroverError, match=r"inputs are \[\], but the network 'n' has the sources \['s'\]"):
        drover.reference(network, {})
    with pytest.raises(DroverError, match=r"column v bigint, but its DataFrame has string"):
        drover.reference(network, {"s": good.withColumn("v", good.k)})
    with pytest.raises(DroverError, match="no such column"):
        drover.reference(network, {"s": good.drop("v")})
    with pytest.raises(DroverError, match="must have a time zone"):
        drover.reference(network, {"s": good}, watermark=datetime(2024, 1, 1))  # noqa: DTZ001 - the fault itself
    with pytest.raises(DroverError, match="must be 'seen', 'end', a datetime"):
        drover.reference(network, {"s": good}, watermark={"x": at(0)})

"""The run whose checkpoint `data/checkpoint_0_1.tar.gz` holds: its network, its rows and its queries.

Release 0.1 wrote that checkpoint (`make_old_checkpoint.py` shows how), and it names this module as the home of two user
functions. Do not move or rename the module, the functions or anything in the network: the stored files would not fit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl
from pyspark.sql import DataFrame, SparkSession

import drover

Rows = dict[str, pl.DataFrame]  # the rows of one file per source

ARCHIVE: Final = Path(__file__).parent / "data" / "checkpoint_0_1.tar.gz"
PLACEHOLDER: Final = "/DROVER_CHECKPOINT_ROOT"  # stands in the archive for the folder of the run
SPARK_LOGS: Final = "checkpoint/spark/sources/*/*"  # the only files with paths: which files Spark has read

START: Final = datetime(2024, 5, 1, tzinfo=UTC)
FILES: Final = 9  # per source
DIED_IN: Final = 5  # the file whose batch release 0.1 computed but did not commit
NULL_TAG_IN: Final = 3  # the file that parks the operator `strict`
NULL_TIME_IN: Final = (2, 7)  # files with a row that becomes a dead letter
ROWS: Final = 10  # per file and source, besides late ones and dead letters
NODES: Final = 3

COLUMNS: Final = {"ts": "timestamp", "key": "int", "tag": "string", "amount": "bigint", "price": "double"}
POLARS: Final = {
    "ts": pl.Datetime("us", "UTC"),
    "key": pl.Int32(),
    "tag": pl.String(),
    "amount": pl.Int64(),
    "price": pl.Float64(),
}
CHEAP: Final = "price < 90"
COMPUTE: Final = {
    "n": "count(*)",
    "tags": "count(tag)",
    "keys": "count(distinct key)",
    "total": "sum(amount)",
    "mean": "avg(price)",
    "least": "min(price)",
    "most": "max(tag)",
    "spread": "stddev(price)",
    "opening": "first(amount)",
    "closing": "last(amount)",
}


@drover.function({"seen": "bigint"}, keeps_state=True)
def rows_so_far(frame: pl.DataFrame, state: bytes | None) -> tuple[pl.DataFrame, bytes]:
    """Number the rows."""
    before = int(state or b"0")
    seen = pl.Series("seen", range(before + 1, before + frame.height + 1), dtype=pl.Int64)
    return pl.DataFrame([seen]), str(before + frame.height).encode()


@drover.function({"passed": "bigint"}, cost="light")
def tagged(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the amounts, and fail if a row has no tag."""
    if frame["tag"].null_count():
        raise ValueError("a tag is missing")
    return frame.select(passed="amount")


def add_operators(orders: drover.Stream, payments: drover.Stream) -> None:
    """Add everything that plain Spark can check."""
    both = orders.union("both", payments)
    both.filter("some", "key <> 3").aggregate("windows", COMPUTE, size="20 s", advance="10 s", group_by="key").output()
    orders.aggregate("timed", {"n": "count(*)"}, size="20 s", timeout="7 s", group_by="key").output()
    orders.filter("cheap", CHEAP).extend("cents", {"cents": "cast(price * 100 as bigint)"}).output()
    names = {"x": "left.amount", "y": "right.amount"}
    orders.join("pairs", payments, within=("9 s", "7 s"), on="key", select=names, spread="auto").output()
    near = "abs(left.amount - right.amount) <= 2"
    orders.join("near", payments, within="8 s", where=near, select=names).output()
    both.apply("seen", rows_so_far).output()


def checked_network() -> drover.Network:
    """Return the part of the network that plain Spark can check."""
    net = drover.Builder("upgrade")
    orders, payments = (net.source(name, COLUMNS, time="ts", lateness="1 s") for name in ("orders", "payments"))
    add_operators(orders, payments)
    return net.build()


def whole_network() -> drover.Network:
    """Return the network of the run: an operator that fails and a table that it both reads and writes besides."""
    net = drover.Builder("upgrade")
    orders, payments = (net.source(name, COLUMNS, time="ts", lateness="1 s") for name in ("orders", "payments"))
    add_operators(orders, payments)
    orders.apply("strict", tagged).output()
    latest = net.table("latest", {"key": "int", "ts": "timestamp", "amount": "bigint"}, key="key")
    kept = orders.map("kept", {"key": "key", "ts": "ts", "amount": "amount"})
    kept.write_table("keep", latest)
    orders.map("asked", {"ts": "ts", "key": "key"}).read_table("known", latest, on="key", columns="amount").output()
    return net.build()


def rows_of(number: int) -> Rows:
    """Return the rows of one file per source: four seconds of event time, and from the fifth file on a late row."""
    found = {}
    for shift, source in enumerate(("orders", "payments")):
        rows = [_row(number, index, shift) for index in range(ROWS)]
        if number >= 4:
            rows.append((START + timedelta(seconds=4 * number - 15, milliseconds=37 + shift), 1, "late", 5, 1.5))
        if source == "orders" and number in NULL_TIME_IN:
            rows.append((None, 2, "timeless", 7, 2.5))
        if source == "orders" and number == NULL_TAG_IN:
            rows[0] = (*rows[0][:2], None, *rows[0][3:])
        found[source] = pl.DataFrame(rows, schema=POLARS, orient="row")
    return found


def _row(number: int, index: int, shift: int) -> tuple[datetime | None, int, str | None, int, float]:
    at = START + timedelta(seconds=4 * number, milliseconds=400 * index + 150 * shift)
    mixed = (number * 7 + index * 5 + shift * 3) % 40
    return at, (number + index * (1 + shift)) % 5, f"t{mixed % 6}", mixed, mixed * 4.25


def write_rows(folder: Path, numbers: Iterable[int]) -> None:
    """Put files where the sources of the run look."""
    for number in numbers:
        ready = []
        for source, rows in rows_of(number).items():
            path = folder / "in" / source / f"{number:05}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            aside = path.with_name(f"_{path.name}")  # Spark ignores names that begin with an underscore
            rows.write_parquet(aside)
            os.utime(aside, (number + 1, number + 1))  # Spark reads the oldest file first
            ready.append((aside, path))
        # At one moment, so that a running query reads the files of both sources in one batch.
        for aside, path in ready:
            aside.replace(path)


def start(spark: SparkSession, folder: Path, **options: Any) -> drover.Handle:  # Any: the options of `drover.run`
    """Start the run, or continue it; one file per source makes a batch."""
    network = whole_network()
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    sources: dict[str, DataFrame] = {
        name: spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in" / name))
        for name in ("orders", "payments")
    }
    outputs = {name: drover.sinks.Files(str(folder / "out" / name)) for name in network.outputs}
    usual: dict[str, Any] = {
        "checkpoint": str(folder / "checkpoint"),
        "nodes": NODES,
        "dead_letters": drover.sinks.Files(str(folder / "dead")),
        "queries": drover.sinks.Files(str(folder / "answers")),
        "limits": {"greedy": {"busy": 0}},
    }
    return drover.run(network, sources, outputs, **{**usual, **options})


def read_files(folder: Path) -> pl.DataFrame:
    """Return all rows that a file sink has written."""
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


def read_answers(folder: Path, query: str) -> pl.DataFrame:
    """Return all rows that one query has given; queries with the same columns share a folder."""
    for table in sorted(path for path in (folder / "answers").iterdir() if path.is_dir()):
        rows = read_files(table).filter(pl.col("query") == query)
        if rows.height:
            return rows.drop("query")
    return pl.DataFrame()


def query(name: str, shape: str, number: int, tenant: str = "acme") -> dict[str, Any]:  # Any: as in a query file
    """Return a query of one of four shapes, and hence families; its constants follow from the number."""
    mine = {"kind": "filter", "input": "orders", "where": f"key = {number % 5} and price >= {number}.0"}
    counts = {"rows": "count(*)", "total": "sum(amount)", "mean": "avg(price)"}
    shapes: dict[str, dict[str, dict[str, Any]]] = {
        "rows": {"big": {**mine, "where": f"price > {number}.5"}},
        "text": {
            "mine": {**mine, "input": "cheap", "where": f"tag = 't{number % 6}'"},
            "over": {"kind": "map", "input": "mine", "select": {"tag": "tag", "over": f"price - {number}"}},
        },
        "windows": {"mine": mine, "counts": {"kind": "aggregate", "input": "mine", "size": "12 s", "compute": counts}},
        "sliding": {
            "mine": mine,
            "counts": {"kind": "aggregate", "input": "mine", "size": "12 s", "advance": "6 s", "compute": counts},
        },
    }
    return {"name": name, "tenant": tenant, "operators": shapes[shape]}


FIRST: Final = [  # submitted after the first file
    query("big-1", "rows", 30),
    query("big-2", "rows", 60),
    query("text-1", "text", 1),
    query("text-2", "text", 2),
    query("windows-1", "windows", 1),
    query("windows-2", "windows", 2),
    query("sliding-1", "sliding", 1),
    query("gone-1", "rows", 50),
    query("gone-2", "windows", 4),
    query("leaving-1", "rows", 40),
    query("greedy-1", "sliding", 2, "greedy"),
]
BEGUN: Final = [query("begun-1", "windows", 3), query("begun-2", "text", 4)]  # of the batch that died
WAITING: Final = [query("waiting-1", "windows", 0), query("waiting-2", "rows", 70)]  # of the batch after it
DROPPED: Final = ("gone-1", "gone-2")  # before the checkpoint was closed
LEAVING: Final = ("leaving-1",)  # asked for while the last batch ran, so no batch was without it yet
PARKED: Final = ("greedy-1",)


def oracle_network(groups: Sequence[Sequence[Mapping[str, Any]]]) -> drover.Network:  # Any: as in a query file
    """Return a network for plain Spark: the checked part, and queries as operators of it.

    Queries of group i read the source `orders_<i>` in place of `orders`.
    """
    net = drover.Builder("oracle")
    orders, payments = (net.source(name, COLUMNS, time="ts", lateness="1 s") for name in ("orders", "payments"))
    add_operators(orders, payments)
    for index, group in enumerate(groups):
        own = {"orders": net.source(f"orders_{index}", COLUMNS, time="ts", lateness="1 s")}
        if any(operator["input"] == "cheap" for one in group for operator in one["operators"].values()):
            own["cheap"] = own["orders"].filter(f"cheap_{index}", CHEAP)
        for one in group:
            streams = dict(own)
            for name, operator in one["operators"].items():
                options = {field: value for field, value in operator.items() if field not in ("kind", "input")}
                add = getattr(streams[operator["input"]], operator["kind"])
                streams[name] = add(f"{_prefix(one)}_{name}", **options)
            net.stream(output_of(one)).output()
    return net.build()


def output_of(given: Mapping[str, Any]) -> str:  # Any: as in a query file
    """Return the stream that a query's rows have in the oracle's network."""
    return f"{_prefix(given)}_{list(given['operators'])[-1]}"


def _prefix(given: Mapping[str, Any]) -> str:  # Any: as in a query file
    return str(given["name"]).replace("-", "_")

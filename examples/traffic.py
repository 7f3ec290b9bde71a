"""Traffic monitoring: who sends many small requests? The network of a web log, minute by minute.

Two monitors see the requests; their union is counted and averaged per client; clients that are busy and clients whose
answers are small are joined. Run it: python -m examples.traffic
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

import drover
from examples.show import show

LOG: Final = Path(__file__).parent / "data" / "http-nasa-19950801.csv.gz"
COLUMNS: Final = {"ts": "timestamp", "client": "string", "url": "string", "status": "int", "bytes": "bigint"}


def build() -> drover.Network:
    """Return the network."""
    net = drover.Builder("traffic")
    east = net.source("east", COLUMNS, time="ts", lateness="10 s")
    west = net.source("west", COLUMNS, time="ts", lateness="10 s")
    requests = east.union("requests", west)
    counts = requests.aggregate("counts", {"requests": "count(*)"}, size="1 min", group_by="client")
    sizes = requests.aggregate("sizes", {"mean_bytes": "avg(bytes)"}, size="1 min", group_by="client")
    busy = counts.filter("busy", "requests >= 8")
    small = sizes.filter("small", "mean_bytes < 4000")
    busy.join("suspects", small, within="0 s", on=["client", "window_start", "window_end"]).output()
    return net.build()


def inputs(spark: SparkSession) -> dict[str, DataFrame]:
    """Return the real log, split by client number as if two monitors had seen it."""
    text = spark.read.csv(
        str(LOG), header=True, schema="ts long, client string, method string, url string, status int, bytes long"
    )
    log = text.select(F.timestamp_seconds("ts").alias("ts"), "client", "url", "status", "bytes")
    odd = F.substring("client", 2, 10).cast("int") % 2 == 1
    return {"east": log.where(~odd), "west": log.where(odd)}


if __name__ == "__main__":
    show(build(), inputs, order="requests desc, window_start, client")

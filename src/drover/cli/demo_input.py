"""The network and the rows of the demo. Both files are in the package, so that the demo runs in any directory.

Rule 1: no import of Spark: the session is an argument.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from drover.network.files.network_file import load
from drover.network.model import Network

FOLDER: Final = Path(__file__).parent / "demo_data"
LOG: Final = FOLDER / "http-nasa-19950801.csv.gz"
COLUMNS: Final = "ts long, client string, method string, url string, status int, bytes long"


def traffic() -> Network:
    """Return the network, which finds the clients that send many small requests in a minute."""
    return load(FOLDER / "traffic.yaml")


def requests(spark: Any) -> dict[str, Any]:  # Any: Spark's session and DataFrames, which this layer does not know
    """Return the real log by source, split by client number as if two monitors had seen it."""
    text = spark.read.csv(str(LOG), header=True, schema=COLUMNS)
    log = text.selectExpr("timestamp_seconds(ts) as ts", "client", "url", "status", "bytes")
    odd = "cast(substring(client, 2, 10) as int) % 2 = 1"
    return {"east": log.where(f"not ({odd})"), "west": log.where(odd)}

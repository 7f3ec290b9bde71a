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
RATE: Final = 400  # requests per second
DUE: Final = "due"  # column with the time at which a request arrives
BEGIN: Final = 1_000_000_000  # of that time; any second will do


def private_log() -> Network:
    """Return the network, which makes a log that may be published."""
    return load(FOLDER / "private_log.yaml")


def requests(spark: Any, seconds: float, rounds: int) -> Any:  # Any: Spark's session and DataFrames
    """Return the first requests of the real log in their order, due at a steady rate for so many seconds."""
    log = spark.read.csv(str(LOG), header=True, schema=COLUMNS).limit(int(seconds * RATE)).coalesce(1)
    due = f"timestamp_micros({BEGIN}000000 + cast(monotonically_increasing_id() * 1e6 / {RATE} as bigint)) as {DUE}"
    return log.selectExpr(due, "timestamp_seconds(ts) as ts", "client", "url", "status", "bytes", f"{rounds} as rounds")

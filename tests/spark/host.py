"""A run that takes queries and is meant to be killed; started by test_queries.py with the folder of its sources."""

from __future__ import annotations

import sys
from pathlib import Path

from drover.spark.run import run
from drover.spark.session import session
from drover.spark.sinks import Files
from tests.spark.meters import meters
from tests.spark.runs import sources_of


def main(folder: Path) -> None:
    spark = session("host", "local[1]", {"spark.driver.memory": "1g"})
    network = meters()
    sinks = {stream: Files(str(folder / "out" / stream)) for stream in network.outputs}
    handle = run(
        network,
        sources_of(spark, network, folder),
        sinks,
        checkpoint=str(folder / "checkpoint"),
        nodes=2,
        trigger={"processingTime": "0 seconds"},
        queries=Files(str(folder / "answers")),
    )
    handle.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""An archive of the Java classes that Spark loads, so that every Java of the tests starts in half the processor time.

Without it, Spark takes 10 processor seconds until its first job has run; with it, 5.6. `make test` writes the archive
once per Java and PySpark, which takes half a minute. Java ignores an archive that does not fit its class path.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import pyspark

from drover.spark import java
from drover.spark.session import DRIVER_OPTIONS, session

OPTIONS: Final = "DROVER_JAVA_OPTIONS"
# Every test is over before Java's second compiler has paid for itself: without it, and with the plain collector, the
# tests of expressions take half the processor time (24 s instead of 52 s).
QUICK_START: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
QUIET: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"  # about an archive that does not fit
SECONDS: Final = 300.0


def archive() -> Path:
    """Return where the archive for this Java and this PySpark lies, whether it is there or not."""
    home = java.choose_java(os.environ).path
    key = hashlib.sha256(f"{home}\n{pyspark.__version__}\n{QUICK_START}".encode()).hexdigest()[:12]
    return Path(sys.prefix) / f"drover-tests-{key}.jsa"


def use_archive(*, write: bool) -> None:
    """Let every Java that this process and its children start use the archive; write it first, if it is missing."""
    place = archive()
    if write and not place.exists():
        with contextlib.suppress(OSError, subprocess.SubprocessError):  # the tests pass without it
            _write(place)
    found = f"{QUIET} -XX:SharedArchiveFile={place}" if place.exists() and " " not in str(place) else ""
    os.environ[OPTIONS] = f"{QUICK_START} {found}".strip()


def _write(place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="drover-tests-") as folder:
        made = Path(folder) / "classes.jsa"
        command = [sys.executable, "-m", "tests.java_archive", str(made), folder]
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        made.replace(place)


def load_classes(made: Path, folder: Path) -> None:
    """Run what most tests run; Java writes the archive as it ends."""
    options = f"{QUICK_START} {QUIET} -XX:ArchiveClassesAtExit={made}"
    spark = session("classes", "local[2]", {DRIVER_OPTIONS: options})
    rows = spark.range(1000).selectExpr("id", "id % 7 AS key", "timestamp_seconds(id) AS ts", "string(id) AS word")
    for form in ("parquet", "json", "csv"):
        rows.write.format(form).save(f"{folder}/{form}")
        read = spark.read.schema(rows.schema).format(form).load(f"{folder}/{form}")
        counted = read.groupBy("key").agg({"id": "sum", "word": "max"})
        read.join(counted, "key").where("length(word) > 1").orderBy("id").toArrow()
    stream = spark.readStream.schema(rows.schema).parquet(f"{folder}/parquet")
    query = (
        stream.writeStream.foreachBatch(
            lambda batch, _: (
                batch.repartitionById(2, batch["key"].cast("int"))
                .mapInArrow(lambda batches: batches, batch.schema)
                .toArrow()
            )
        )
        .option("checkpointLocation", f"{folder}/checkpoint")
        .start()
    )
    query.processAllAvailable()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    load_classes(Path(sys.argv[1]), Path(sys.argv[2]))

"""Write the archive of a checkpoint that a later release must continue.

    python -m tests.spark.make_old_checkpoint FILE

Release 0.1 wrote `data/checkpoint_0_1.tar.gz` with this program. No test runs it: an archive that the current code
wrote would prove nothing. It shows how the stored files came to be, and it can write the archive of a later release.

The run leaves as many kinds of files as a small run can. In order:

1. Queries are submitted. Units and a query move by hand, and a join is spread twice, so two shapes of it are live.
2. An operator fails and is parked. A query is parked because its tenant is over its limit. Other queries are dropped.
3. A node is drained, and the control loop proposes moves for that. The run stops.
4. A second run dies after it has computed a batch and before it has committed it. Meanwhile, queries come and go.
5. The table goes back to what it was before the last committed rows, as after a crash between commit and table.
6. A proposal is approved, to be carried out at the next start.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame, SparkSession

import drover
from drover.cli import main as drover_command
from drover.spark.session import session
from tests.spark import old_checkpoint as run

# Whole versions, snapshots and sweeps come after many batches; here they come after a few. These are the names of the
# release that wrote the archive.
SOONER: Final = {
    "drover.flow.state.commits.LEAST_CHAIN": 1_000,  # bytes
    "drover.flow.query_log.files.LEAST_CHAIN": 1_000,  # bytes
    "drover.spark.driver.SWEEP_EVERY": 5,  # batches
    "drover.spark.queries.quotas.EVERY": 3,  # batches
}
PROPOSE: Final = {"mode": "propose", "period": 0, "warm_up": 2, "window": 3, "trial": 0}
TABLES_BEFORE: Final = "tables.before.db"  # the table before the last file of the first run
CONTINUOUS: Final = {"processingTime": "0 seconds"}

Json = dict[str, Any]  # Any: JSON


def main(archive: Path) -> None:
    with tempfile.TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
        for name, value in SOONER.items():
            patch.setattr(name, value)
        folder = Path(made).resolve()
        spark = session("checkpoint", "local[2]")
        try:
            batches = first_run(spark, folder) + second_run(spark, folder)
        finally:
            spark.stop()
        # As if the first run had died after its last commit and before it wrote the table: the commit has the rows.
        (folder / TABLES_BEFORE).replace(folder / "checkpoint" / "tables.db")
        approve_what_waits(folder)
        (folder / "facts.json").write_text(json.dumps(facts(folder, batches), indent=1, sort_keys=True))
        pack(folder, archive)


def first_run(spark: SparkSession, folder: Path) -> list[int]:
    """Run the first files, one after the other, and return the batch of each."""
    run.write_rows(folder, range(1))
    handle = run.start(spark, folder, trigger=CONTINUOUS, control=PROPOSE)
    batches = [finish_file(handle)]
    for number, change in enumerate(CHANGES, start=1):
        shutil.copy(folder / "checkpoint" / "tables.db", folder / TABLES_BEFORE)
        change(handle)
        run.write_rows(folder, range(number, number + 1))
        batches.append(finish_file(handle))
    handle.stop()
    assert handle.parked.keys() == {"strict"}, handle.parked
    return batches


def finish_file(handle: drover.Handle) -> int:
    """Wait until a file per source is processed and windows are closed; return the number of its batch."""
    handle.processAllAvailable()
    handle.control.wait()
    newest = [one for one in handle.batches if any(one["rowsIn"].values())][-1]
    assert all(newest["rowsIn"].values()), "the files of the sources came in two batches: start this program again"
    return int(newest["batch"])


def submit(handle: drover.Handle, queries: list[Json]) -> None:
    receipt = handle.submit(queries)
    assert not receipt.refused, receipt.refused


def take_queries(handle: drover.Handle) -> None:
    submit(handle, run.FIRST)


def spread_and_move(handle: drover.Handle) -> None:
    handle.spread("pairs", (1, 2))
    handle.move("windows", 0)


def drop_and_move_a_query(handle: drover.Handle) -> None:
    handle.drop(*run.DROPPED)
    places = dict(handle.queries().select("query", "node").iter_rows())
    handle.move("windows-1", (places["windows-1"] + 1) % run.NODES)
    handle.spread("pairs", 3)


def drain_a_node(handle: drover.Handle) -> None:
    handle.drain(1)


CHANGES: Final[list[Callable[[drover.Handle], None]]] = [
    take_queries,
    spread_and_move,
    drop_and_move_a_query,
    drain_a_node,
]


def second_run(spark: SparkSession, folder: Path) -> list[int]:
    """Run one more file, and die when its results are written but not committed; return the batch of the file."""
    died: list[int] = []

    def die(_rows: DataFrame, batch: int) -> None:
        if not died:
            died.append(batch)
            submit(handle, run.WAITING)
            handle.drop(*run.LEAVING)
        raise OSError("the disk is full")

    answers = drover.sinks.Files(str(folder / "answers"))
    handle = run.start(spark, folder, trigger=CONTINUOUS, control=PROPOSE, queries=[answers, die])
    handle.processAllAvailable()
    submit(handle, run.BEGUN)
    handle.move("seen", 0)
    run.write_rows(folder, range(run.DIED_IN, run.DIED_IN + 1))
    with contextlib.suppress(drover.DroverError):
        handle.processAllAvailable()
    with contextlib.suppress(drover.DroverError):
        handle.awaitTermination(60)
    handle.stop()
    assert len(died) == 1
    return died


def approve_what_waits(folder: Path) -> None:
    """Approve a proposal of the stopped run, as `drover apply` does."""
    shown = said("plan", "--from", str(folder / "checkpoint"))
    said("apply", shown["proposal"]["id"], "--from", str(folder / "checkpoint"))


def said(*words: str) -> Json:
    """Return what a command prints for programs."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert drover_command([*words, "--json"]) == 0
    found: Json = json.loads(out.getvalue())
    return found


def facts(folder: Path, batches: list[int]) -> Json:
    """Return what the release that wrote the checkpoint says about it."""
    at = str(folder / "checkpoint")
    with tempfile.TemporaryDirectory() as aside:
        report = said("report", at, "--out", f"{aside}/report.html")
    return {
        "batches": batches,
        "status": said("status", at),
        "history": said("history", at),
        "queries": said("queries", at),
        "explain": said("explain", "windows", "--from", at),
        "report": {name: value for name, value in report.items() if name != "report"},
    }


def pack(folder: Path, archive: Path) -> None:
    """Write the archive, without the name of this machine and with a placeholder for the folder."""
    (folder / "checkpoint" / "lock").write_text("")
    for path in folder.glob(run.SPARK_LOGS):
        path.write_text(path.read_text().replace(str(folder), run.PLACEHOLDER))
    for path in files_below(folder):
        assert str(folder).encode() not in path.read_bytes(), f"{path} holds the path of this machine"
    with tarfile.open(archive, "w:gz", compresslevel=9) as packed:
        for path in files_below(folder):
            packed.add(path, path.relative_to(folder), filter=_anonymous)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every file that belongs to the run; Hadoop's checksums of files are left out, since paths change."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not re.fullmatch(r"\..*\.(crc|tmp)", path.name):
            yield path


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode = 0o644
    return info


if __name__ == "__main__":
    main(Path(sys.argv[1]))

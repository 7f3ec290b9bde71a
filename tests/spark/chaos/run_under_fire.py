"""`drover run` as a process that can be struck: the command itself, with arguments as on the command line.

It folds and sweeps its checkpoint often, so that strikes hit these, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pyspark

from drover.cli import main
from drover.flow.state.commits import Checkpoint, latest
from drover.flow.state.storage import open_root
from drover.network.files.network_file import dump
from tests.spark.chaos.processes import RunProcess, processes_of
from tests.spark.chaos.strikes import Role
from tests.spark.crashes import often_tidying
from tests.spark.runs import chaos_network

ROOT: Final = Path(__file__).parents[3]
# Spark's own 2 minutes for a silent executor would be most of a test. Only where there are executors: without them, a
# driver that a busy machine keeps waiting must not give itself up.
IMPATIENT: Final = {
    "spark.network.timeout": "6s",
    "spark.network.timeoutInterval": "1s",
    "spark.executor.heartbeatInterval": "1s",
}
SETTINGS: Final = {
    "spark.driver.memory": "1g",
    # Runs are short: to compile the plans of their few rows takes longer than to interpret them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
RUN_FILE: Final = """\
run: 1
network: chaos.yaml
checkpoint: checkpoint
nodes: 3
engine: {engine}
sources:
  a: {read: parquet, path: in/a, options: {maxFilesPerTrigger: 1}}
  b: {read: parquet, path: in/b, options: {maxFilesPerTrigger: 1}}
sinks:
  windows: {write: parquet, path: out/windows}
  pairs: {write: parquet, path: out/pairs}
  seen: {write: parquet, path: out/seen}
"""


def make_spark_home(folder: Path) -> Path:
    """Make a home of Spark in whose `work` executors may leave their files."""
    home = folder / "spark"
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        if entry.name != "work":  # of others, who have run a local cluster without such a home
            (home / entry.name).symlink_to(entry)
    return home


def prepare(folder: Path, engine: str) -> None:
    """Make what `drover run` needs."""
    make_spark_home(folder)
    dump(chaos_network(), folder / "chaos.yaml")
    (folder / "chaos.run.yaml").write_text(RUN_FILE.replace("{engine}", engine), encoding="utf-8")


class RunUnderFire:
    """A process of `drover run` in a session of its own; what it says is appended to `log.txt`."""

    def __init__(self, folder: Path, master: str) -> None:
        chosen = SETTINGS | (IMPATIENT if "cluster" in master else {})
        settings = " ".join(f"--conf {key}={value}" for key, value in chosen.items())
        environment = {
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
            "SPARK_HOME": str(folder / "spark"),
            "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell",
        }
        self.folder = folder
        command = [sys.executable, "-m", __name__, "run", str(folder / "chaos.run.yaml"), "--master", master]
        with (folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def checkpoint(self) -> Checkpoint:
        """Return what is committed."""
        return latest(*open_root(str(self.folder / "checkpoint")))

    def processes(self, role: Role) -> list[RunProcess]:
        """Return its processes of a role, oldest first."""
        return sorted((one for one in processes_of(self.process.pid) if one.role is role), key=lambda one: one.pid)


if __name__ == "__main__":
    with often_tidying():
        sys.exit(main(sys.argv[1:]))

"""A real process that is killed at chosen points, until it has done its work; test_chaos.py kills it at any time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.control.engine_choice import DEFAULT_ENGINE, EngineChoice
from drover.flow.state.commits import latest
from drover.flow.state.storage import open_root
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.runs import chaos_network, ordered_batches, read_output, write_files

ROOT = Path(__file__).parents[2]
PATIENCE = 180.0  # seconds that one batch may take on a busy machine


class Victim:
    """A process of victim.py, or of another program, in a group of its own."""

    def __init__(
        self,
        folder: Path,
        dies: str = "",
        *,
        tree: str = "",
        engine: str = DEFAULT_ENGINE,
        program: str = "tests.spark.victim",
        **more: str,
    ) -> None:
        path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
        environment = os.environ | {
            "PYTHONPATH": path,
            "VICTIM_DIES": dies,
            "VICTIM_TREE": tree,
            "VICTIM_ENGINE": engine,
            **more,
        }
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", program, str(folder)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def committed(self) -> int:
        fs, path = open_root(str(self.folder / "checkpoint"))
        return latest(fs, path).batch

    def wait_for(self, batch: int) -> bool:
        """Wait until a batch is committed; False if it has ended before."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return False
            if self.committed() >= batch:
                return True
            time.sleep(0.05)
        raise AssertionError(f"batch {batch} did not come")

    def kill(self) -> None:
        """Kill the process, and then what it has started: Java and the workers."""
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def check(request: pytest.FixtureRequest, folder: Path, batches: list[dict[str, pl.DataFrame]]) -> None:
    spark: SparkSession = request.getfixturevalue("spark")  # only now: victims need the machine
    network = chaos_network()
    for stream, rows in expected_streams(spark, network, dict(enumerate(batches))).items():
        assert rows.height > 0
        assert_same_rows(read_output(folder, network, stream), rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dies", "engine"),
    [
        ("between two sinks:4", EngineChoice.SHUFFLE),
        ("after the sinks:3", EngineChoice.SHUFFLE),
        ("after the sinks:3", EngineChoice.RESIDENT),  # one is enough: these points are the driver's, not an engine's
        ("after the commit:2", EngineChoice.SHUFFLE),
        ("in the middle of a sweep:2", EngineChoice.SHUFFLE),
    ],
    indirect=["engine"],
)
def test_a_process_that_dies_at_a_chosen_point_loses_and_doubles_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, dies: str, engine: str
) -> None:
    batches = [dict(batch) for batch in ordered_batches(chaos_network(), 5, 15)]
    for number, batch in enumerate(batches):
        write_files(tmp_path, batch, number)
    for expected_code, point in ((-signal.SIGKILL, dies), (0, "")):
        victim = Victim(tmp_path, point, engine=engine)
        try:
            assert victim.process.wait(PATIENCE) == expected_code
        finally:
            victim.kill()
    check(request, tmp_path, batches)

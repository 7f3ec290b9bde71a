"""A real process, killed at random moments and at chosen ones, until it has done its work."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.flow.state.commits import latest
from drover.flow.state.storage import open_root
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.runs import chaos_network, ordered_batches, read_output, write_files

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("KILLS", "8"))
BATCHES = 6 * KILLS  # a victim gets through some before it is killed
PATIENCE = 180.0  # seconds that one batch may take on a busy machine


class Victim:
    """A process of victim.py in a group of its own."""

    def __init__(self, folder: Path, dies: str = "", master: str = "local[2]", *, tree: str = "") -> None:
        path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
        environment = os.environ | {
            "PYTHONPATH": path,
            "VICTIM_DIES": dies,
            "VICTIM_MASTER": master,
            "VICTIM_TREE": tree,
        }
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.victim", str(folder)],
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

    def executors(self) -> list[int]:
        """The processes of its executors: those of its own group with that class."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                mine = os.getpgid(int(path.name)) == self.process.pid
                if mine and b"CoarseGrainedExecutorBackend" in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
        return found

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
def test_a_process_that_is_killed_again_and_again_loses_and_doubles_nothing(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    chance = random.Random(11)
    batches = [dict(batch) for batch in ordered_batches(chaos_network(), BATCHES, 6)]
    for number, batch in enumerate(batches):
        write_files(tmp_path, batch, number)
    killed = 0
    while killed < KILLS:
        victim = Victim(tmp_path)
        try:
            alive = victim.wait_for(victim.committed() + 1)
            time.sleep(chance.uniform(0, 0.8))  # somewhere within a batch or two
        finally:
            victim.kill()
        assert alive, f"all batches were done after {killed} kills"
        killed += 1
    last = Victim(tmp_path)
    try:
        assert last.process.wait(PATIENCE * 2) == 0
    finally:
        last.kill()
    check(request, tmp_path, batches)


@pytest.mark.slow
@pytest.mark.parametrize(
    "dies", ["between two sinks:4", "after the sinks:3", "after the commit:2", "in the middle of a sweep:2"]
)
def test_a_process_that_dies_at_a_chosen_point_loses_and_doubles_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, dies: str
) -> None:
    batches = [dict(batch) for batch in ordered_batches(chaos_network(), 5, 15)]
    for number, batch in enumerate(batches):
        write_files(tmp_path, batch, number)
    for expected_code, point in ((-signal.SIGKILL, dies), (0, "")):
        victim = Victim(tmp_path, point)
        try:
            assert victim.process.wait(PATIENCE) == expected_code
        finally:
            victim.kill()
    check(request, tmp_path, batches)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="executors are found as Linux tells them")
def test_executors_that_are_killed_lose_and_double_nothing(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    chance = random.Random(5)
    batches = [dict(batch) for batch in ordered_batches(chaos_network(), 10, 15)]
    for number, batch in enumerate(batches):
        write_files(tmp_path, batch, number)
    victim = Victim(tmp_path, master="local-cluster[2,1,1024]")
    killed = 0
    try:
        for reached in (1, 4, 7):
            if not victim.wait_for(reached):
                break
            time.sleep(chance.uniform(0, 0.5))
            for executor in victim.executors()[:1]:
                os.kill(executor, signal.SIGKILL)
                killed += 1
        assert victim.process.wait(PATIENCE * 2) == 0
    finally:
        victim.kill()
    assert killed == 3
    check(request, tmp_path, batches)

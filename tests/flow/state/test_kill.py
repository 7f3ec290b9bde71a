from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from pyarrow.fs import LocalFileSystem

from drover.flow.state.commits import latest, load
from drover.flow.state.layout import COMMITS, STATE
from drover.flow.state.segments import live_rows, read_segments
from tests.flow.state.killed import LIVE

ROOT = Path(__file__).parents[3]
LOCAL = LocalFileSystem()
KILLS = 8


def test_a_run_that_is_killed_again_and_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    chance = random.Random(7)
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    reached = -1
    for _ in range(KILLS):
        command = [sys.executable, "-m", "tests.flow.state.killed", str(tmp_path)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [int(process.stdout.readline()) for _ in range(chance.randint(1, 8))]
            time.sleep(chance.uniform(0, 0.02))  # somewhere within a batch
            process.kill()
            said.extend(int(line) for line in process.stdout if line.endswith("\n"))
        assert said == list(range(reached + 1, said[-1] + 1))
        found = latest(LOCAL, str(tmp_path))
        assert found.batch in {said[-1], said[-1] + 1}  # it may die between the commit and saying so
        reached = found.batch
        for batch in range(max(0, found.batch - 2), found.batch + 1):
            check(tmp_path, batch)
    assert len(list((tmp_path / COMMITS).iterdir())) < 100
    assert len(list((tmp_path / STATE).iterdir())) < 40


def check(root: Path, batch: int) -> None:
    found = load(LOCAL, str(root), batch)
    assert found.notes == {"rows": batch + 1}
    for part in ("left", "right"):
        state = found.version.part("u", part)
        table = live_rows(read_segments(LOCAL, str(root / STATE), state.segments), "time", state.bound)
        assert table["time"].to_pylist() == list(range(max(0, batch - LIVE + 1), batch + 1))
        assert set(table["text"].to_pylist()) == {part}

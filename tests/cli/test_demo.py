"""`drover demo` as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_demo_falls_behind_moves_a_function_and_compares_batches(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "drover", "demo", "--json", "--report", "page.html"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    before, after, said = found["before"], found["after"], found["said"]
    assert before["slowest"] > found["trigger"], said
    assert any("falling behind: " in each or "overloaded: " in each for each in said)
    assert found["moved"] is True, said
    assert any("drover moves " in each and "Why: " in each for each in said)
    assert found["closing"].startswith("before the move: ")
    # How much faster it is afterwards depends on what else this machine does just then.
    assert f"; after it: batches of {after['last']:.2f} s" in found["closing"]
    assert found["equal"] is True
    assert found["rows"]["requests"] == found["results"]["seals"] == found["results"]["pseudonyms"] == 16_000
    assert found["report"] == str(tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()
    assert "Traceback" not in done.stderr
    assert list(tmp_path.glob("drover-*")) == []

"""`drover demo` as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_demo_ends_by_itself_agrees_with_the_oracle_and_leaves_nothing_behind(tmp_path: Path) -> None:
    page = str(tmp_path / "page.html")
    # Long enough for the control loop to see some periods on a machine that has other work, too.
    command = [sys.executable, "-m", "drover", "demo", "--json", "--seconds", "60", "--report", page]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["equal"] is True
    assert sum(found["rows"].values()) > 30_969  # of the log, some of them many times over
    assert found["results"]["suspects"] > 234
    assert found["moved"] is True
    assert [each.split()[0] for each in found["said"]][:1] == ["the"]  # burst
    assert any("proposal p" in each and "Why: " in each for each in found["said"])
    assert any("is carried out" in each for each in found["said"])
    assert any("3 nodes instead of 4" in each for each in found["said"])
    assert found["report"] == page
    assert "<html" in (tmp_path / "page.html").read_text()
    assert found["batches"] > 2
    assert "Traceback" not in done.stderr
    assert list(tmp_path.glob("drover-*")) == []

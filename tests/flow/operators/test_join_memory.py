"""Pairs are found in bounded memory, however many candidates windows have; each join runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.flow.operators.exploding import KINDS

ROOT = Path(__file__).parents[3]
MOST = 500  # MiB; the candidates of any of these joins, all at once, take 1,000 and more


@pytest.mark.parametrize("kind", KINDS)
def test_what_explodes_does_not_take_memory(kind: str) -> None:
    command = [sys.executable, "-m", "tests.flow.operators.exploding", kind, "2 x 1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    found, taken = map(int, done.stdout.split())
    assert found > 0
    assert taken < MOST

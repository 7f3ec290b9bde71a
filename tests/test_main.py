"""`python -m drover` is the command line."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from drover import __main__ as entry


def test_the_module_runs_the_command_line() -> None:
    found = subprocess.run([sys.executable, "-m", "drover", "--version"], capture_output=True, text=True, check=True)
    assert "drover" in found.stdout


def test_ctrl_c_during_the_import_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        """A module whose import is interrupted."""

        def __getattr__(self, _: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "drover.cli", Interrupted())
    assert entry.main() == 128 + signal.SIGINT

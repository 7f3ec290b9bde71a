"""Golden files: what a command printed when somebody last looked at it.

Run pytest with DROVER_UPDATE=1 to write them again, and read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drover.cli import main

GOLDEN = Path(__file__).parents[1] / "golden"


def agrees(name: str, found: str) -> bool:
    """Return whether a golden file says what was found."""
    path = GOLDEN / name
    if os.environ.get("DROVER_UPDATE"):
        path.write_text(found, encoding="utf-8")
    return path.read_text(encoding="utf-8") == found


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what a command prints that goes well."""
    assert main(list(words)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out

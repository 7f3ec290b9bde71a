"""Network files as arguments of commands."""

from __future__ import annotations

import sys
from typing import Final

from drover.network.files.disk import read_stream, read_text

STDIN: Final = "-"


def text_of(path: str) -> str:
    """Return the text of a file, or of standard input for `-`; FileError says why it cannot be had."""
    return read_stream(sys.stdin.buffer) if path == STDIN else read_text(path)

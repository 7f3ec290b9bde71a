"""A runner that reads the agent's output and writes acknowledgements to its input, one per line: `stopped NUMBER`.

Rule 1: a line that is not an acknowledgement is reported and changes nothing.
Rule 2: when the input ends, the runner is gone. Nobody could acknowledge anything, so the agent ends too.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Sequence
from typing import BinaryIO, Final

from drover.agents.runner import Acknowledge, Report, Warn
from drover.errors import shorten

LONGEST: Final = 1000  # bytes of a line; the longest number has a few dozen
WARNINGS: Final = 100  # lines that are reported; more could fill a disk
LINE: Final = re.compile(r"stopped +([0-9]{1,20}\.[0-9]{1,20})")


class LineRunner:
    """The program at the other end of the agent's standard streams."""

    def __init__(self, report: Report, warn: Warn, source: BinaryIO) -> None:
        self._report = report
        self._warn = warn
        self._source = source
        self._warned = 0

    def start(self, operators: Sequence[str]) -> None:
        """Print which operators to start."""
        self._report({"start": list(operators)})

    def stop(self, operators: Sequence[str], number: str) -> None:
        """Print which operators to stop."""
        self._report({"stop": list(operators), "request": number})

    async def serve(self, acknowledge: Acknowledge) -> None:
        """Read acknowledgements until the input ends."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        # A thread can read whatever the input is: asyncio refuses files and some devices.
        threading.Thread(target=self._read, args=(loop, lines), daemon=True, name="drover-acknowledgements").start()
        while line := await lines.get():
            self._take(line, acknowledge)

    def _read(self, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes]) -> None:
        line = b"\n"
        while line:
            before = line
            try:
                line = self._source.readline(LONGEST)
            except (OSError, ValueError):  # ValueError: the file was closed
                line = b""
            try:
                # The rest of an overlong line is no line of its own.
                if before.endswith(b"\n") or not line:
                    loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:
                return  # the loop has ended

    def _take(self, line: bytes, acknowledge: Acknowledge) -> None:
        text = line.decode(errors="replace").strip()
        # A line without its end was cut: `stopped 1.2` may have been `stopped 1.23`.
        if (found := LINE.fullmatch(text)) and line.endswith(b"\n"):
            acknowledge(found[1])
        elif text and self._warned < WARNINGS:
            self._warned += 1
            self._warn(f"the line {shorten(text)} on standard input is ignored. Write: stopped NUMBER.")

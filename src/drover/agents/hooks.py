"""A runner that is a command: `COMMAND start NAME` and `COMMAND stop NAME`, once per operator.

Rule 1: an operator has stopped when its stop command has ended with status 0. Nothing else counts.
Rule 2: a command that fails or takes too long is killed, reported, and run again until it succeeds.
Rule 3: an operator has one command at a time. An order waits for the end of the one before it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from drover.agents.runner import Acknowledge, Report, Warn
from drover.errors import DroverError, shorten

AGAIN: Final = 1.0  # seconds until a command that has failed runs again
AT_ONCE: Final = 16  # commands that run at the same time
START: Final = "start"
STOP: Final = "stop"


class HookRunner:
    """Runs a command for every operator to start and to stop."""

    def __init__(self, command: Sequence[str], node: str, limit: float, report: Report, warn: Warn) -> None:
        if not command:
            raise DroverError("--exec is empty, but must be a command. Write, for example: --exec ./operate.")
        self._command = command
        self._environment = {**os.environ, "DROVER_NODE": node}
        self._limit = limit
        self._report = report
        self._warn = warn
        self._wanted: dict[str, str] = {}  # by operator: its last order
        self._requests: dict[str, str] = {}  # by operator to stop: the number of its request
        self._left: Counter[str] = Counter()  # by request: operators that have not stopped yet
        self._changes: asyncio.Queue[str] = asyncio.Queue()
        self._slots = asyncio.Semaphore(AT_ONCE)

    def start(self, operators: Sequence[str]) -> None:
        """Run the start command of every operator, soon."""
        self._report({"start": list(operators)})
        for name in operators:
            self._order(name, START)

    def stop(self, operators: Sequence[str], number: str) -> None:
        """Run the stop command of every operator, soon."""
        self._report({"stop": list(operators), "request": number})
        self._left[number] = len(operators)
        for name in operators:
            self._requests[name] = number
            self._order(name, STOP)

    def _order(self, name: str, word: str) -> None:
        self._wanted[name] = word
        self._changes.put_nowait(name)

    async def serve(self, acknowledge: Acknowledge) -> None:
        """Run commands until cancelled."""
        busy: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                name = await self._changes.get()
                if name not in busy or busy[name].done():
                    busy[name] = group.create_task(self._follow(name, acknowledge))

    async def _follow(self, name: str, acknowledge: Acknowledge) -> None:
        """Run commands of one operator until its last order is carried out."""
        failures = 0
        while (word := self._wanted.get(name)) is not None:
            async with self._slots:
                fault = await self._run(word, name)
            if fault:
                if not failures:
                    self._warn(f"--exec {word} {name} {fault}. It runs again until it succeeds.")
                failures += 1
                await asyncio.sleep(AGAIN)
            elif self._wanted[name] == word:
                del self._wanted[name]
                self._done(name, word, acknowledge)

    def _done(self, name: str, word: str, acknowledge: Acknowledge) -> None:
        if word == START:
            self._report({"started": [name]})
            return
        number = self._requests.pop(name)
        self._left[number] -= 1
        if not self._left[number]:
            del self._left[number]
            acknowledge(number)

    async def _run(self, word: str, name: str) -> str:
        """Run a command, and return why it does not count; an empty text if it does."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                word,
                name,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),  # the agent's own output has its events
                env=self._environment,
                start_new_session=True,  # Ctrl-C is for the agent, which then stops its operators
            )
        except OSError as error:
            return f"cannot run ({shorten(str(error.strerror))})"
        try:
            async with asyncio.timeout(self._limit):
                status = await process.wait()
        except TimeoutError:
            return f"has run for more than {self._limit:g} s and was killed"
        finally:
            # Also when the agent ends: a command that nobody waits for could stop what another agent has started.
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return "" if status == 0 else f"ended with status {status}"

"""A page as one session: its blocks are run in order, in one folder, as a reader would who types them all.

Rule 1: commands of drover run in this process, on the Spark of the tests, so that a page takes seconds. A session that
is `alone` starts a process for each instead, as a reader does.
Rule 2: what a block says it prints is compared; `...` stands for what differs from run to run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from drover.cli import main
from tests.docs.markdown import Block

SHELL_SIGNS: Final = re.compile(r"[|<>&;$*`]|^\w+=")
PATIENCE: Final = 120.0  # seconds for a run in the background to get somewhere
START: Final = re.compile(r"^background(?:, until (?P<path>\S+) exists)?$")
LOOKING: Final = re.compile(r"drover (status|history|explain|queries)\b")  # commands that change nothing

Stop = Callable[[], object]
Background = Callable[[list[str]], Stop]  # starts `drover run` with these arguments, returns how to stop it


class Session:
    """The folder, the Python names and the runs in the background of one page."""

    def __init__(self, folder: Path, background: Background, *, alone: bool = False) -> None:
        self.alone = alone  # every command is a process of its own
        self.folder = folder
        self.printed = ""  # by the last block
        self._background = background
        self._names: dict[str, Any] = {"__name__": "__page__"}  # Any: whatever the page's code defines
        self._stops: list[Stop] = []

    def run(self, block: Block) -> None:
        """Do with a block what a reader does."""
        if block.title is not None:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        match block.language:
            case "sh":
                self._shell(block)
            case "console":
                self._console(block)
            case "python" if block.title is None:
                self._python(block)
            case "yaml" if block.note != "faulty":
                self._checked(block)
            case "json":
                json.loads(block.text)
            case "text" if block.note == "output":
                assert_like(block.text, self.printed, f"line {block.line}")
            case _:
                assert block.language in {"text", "yaml", "python", "csv", "mermaid"}, (
                    f"unknown language {block.language!r}"
                )

    def close(self) -> None:
        """Stop what still runs in the background."""
        while self._stops:
            self._stops.pop()()

    def _shell(self, block: Block) -> None:
        if block.note == "interrupt":
            self.close()
            return
        self.printed = ""
        for command in commands(block.text):
            if started := START.match(block.note):
                self._stops.append(self._background(shlex.split(command)[2:]))
                if started["path"] is not None:
                    wait_for(self.folder / started["path"])
            else:
                code, out, err = self._command(command)
                assert code == 0, f"{command} ended with {code}:\n{out}{err}"
                self.printed += out

    def _console(self, block: Block) -> None:
        for command, wanted in transcript(block.text):
            self._say(command)
            # A run takes its time until there is something to see, and readers look again.
            until = time.monotonic() + (PATIENCE if self._stops and LOOKING.match(command) else 0)
            while time.monotonic() < until and not is_like(wanted, self.printed):
                time.sleep(0.5)
                self._say(command)
            assert_like(wanted, self.printed, command)

    def _say(self, command: str) -> None:
        code, out, err = self._command(command)
        assert code in {0, 1}, f"{command} ended with {code}:\n{out}{err}"
        self.printed = out if code == 0 else out + err

    def _command(self, command: str) -> tuple[int, str, str]:
        """Run one command; return its exit code and what it wrote to standard output and standard error."""
        if command.startswith("drover ") and not self.alone and not SHELL_SIGNS.search(command):
            out = captured()
            err = captured()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(shlex.split(command, comments=True)[1:])
            return code, text_of(out), text_of(err)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=environment(self.folder),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def _python(self, block: Block) -> None:
        out = captured()
        code = compile("\n" * (block.line - 1) + block.text, "page", "exec")
        with contextlib.redirect_stdout(out):
            exec(code, self._names)  # noqa: S102 - our own pages
        self.printed = text_of(out)

    def _checked(self, block: Block) -> None:
        parsed = list(yaml.safe_load_all(block.text))
        if isinstance(parsed[0], Mapping) and {"drover", "run"} & set(parsed[0]):
            path = self.folder / (block.title or "block.yaml")
            path.write_text(block.text, encoding="utf-8")
            code, out, err = self._command(f"drover check {shlex.quote(str(path))}")
            assert code == 0, f"line {block.line}: {out}{err}"


def captured() -> io.TextIOWrapper:
    """Return a stream that knows UTF-8, as terminals do: drover draws with plain signs on others."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def text_of(stream: io.TextIOWrapper) -> str:
    """Return what was written to a stream."""
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8")


def commands(text: str) -> Iterator[str]:
    """Yield the commands of a shell block: a line each, unless it ends in a backslash; comments are left out."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        command = re.sub(r"(^|\s+)#.*", "", line).strip()
        if command:
            yield command


def transcript(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with the output that stands below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, wanted = re.sub(r"\\\n\s*", "", part, count=part.partition("\n")[0].count("\\")).partition("\n")
        yield next(commands(command)), wanted


def assert_like(wanted: str, found: str, what: str) -> None:
    """Compare output with what a page shows of it."""
    assert is_like(wanted, found), f"{what}\n--- the page shows\n{wanted}\n--- it prints\n{found}"


def is_like(wanted: str, found: str) -> bool:
    """Return whether output is as shown; `...` stands for anything, and space at line ends for nothing."""
    wanted, found = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (wanted, found))
    return doctest.OutputChecker().check_output(f"{wanted}\n", f"{found}\n", doctest.ELLIPSIS)


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} was not written within {PATIENCE:.0f} s"
        time.sleep(0.1)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a command: `drover` and `python` are this interpreter's, on this tree's sources."""
    tools = folder / ".bin"
    if not tools.exists():
        tools.mkdir()
        for name, call in {"drover": "-m drover", "python": ""}.items():
            script = tools / name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {call} "$@"\n', encoding="utf-8")
            script.chmod(0o755)
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": paths}

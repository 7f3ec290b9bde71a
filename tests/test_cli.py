from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drover.cli import COMMANDS, main

EVERY_KIND = str(Path(__file__).parent / "golden" / "every_kind.yaml")
RUN = [sys.executable, "-c", "import sys; from drover.cli import main; sys.exit(main())"]


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: drover {name}")
    assert "\\b" not in out


@pytest.mark.parametrize("arguments", [["chekc"], ["check"], ["check", "--jsno", "x"], ["show", "a", "b"]])
def test_a_wrong_command_line_says_how_to_ask(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "Usage: drover" in capsys.readouterr().err


def test_a_closed_output_pipe_is_not_an_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    found = subprocess.run([*RUN, "show", EVERY_KIND], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert found.returncode == 1
    assert found.stderr == b""


def test_interrupts_are_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_path: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["drover.cli.show"], "read_input", interrupt)
    assert main(["show", EVERY_KIND]) == 130
    assert capsys.readouterr().err.strip() == ""


def test_an_ascii_terminal_gets_ascii() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    found = subprocess.run([*RUN, "show", EVERY_KIND], capture_output=True, env=environment, check=True)
    assert b"|- errors" in found.stdout
    found.stdout.decode("ascii")

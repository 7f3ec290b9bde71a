from __future__ import annotations

import io
from pathlib import Path

import pytest

from drover.cli.inputs import read_input, read_network
from drover.errors import FileError

EXAMPLES = Path(__file__).parents[2] / "examples"


class Standard:
    """Standard input that holds some bytes."""

    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdin", Standard("from a pipe"))
    assert read_input("-") == "from a pipe"
    (tmp_path / "file").write_text("from a file", encoding="utf-8")
    assert read_input(str(tmp_path / "file")) == "from a file"


def test_a_run_file_stands_for_its_network(capsys: pytest.CaptureFixture[str]) -> None:
    network = read_network(str(EXAMPLES / "traffic.yaml"))
    assert read_network(str(EXAMPLES / "traffic.run.yaml")) == network
    assert capsys.readouterr().err == ""


def test_faults_of_a_run_file_are_raised(tmp_path: Path) -> None:
    file = tmp_path / "a.run.yaml"
    file.write_text("run: 1\nnetwork: nowhere.yaml\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"nowhere\.yaml"):
        read_network(str(file))

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.cli import main
from drover.cli.check import check_file
from tests.cli.golden import GOLDEN, agrees

PATIENCE = 120.0  # seconds, to tell slow from hanging; the slowest takes two on a quiet machine


@pytest.fixture
def _in_golden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)


@pytest.mark.usefixtures("_in_golden")
@pytest.mark.parametrize("name", ["ten_faults", "many_faults", "mistakes"])
def test_every_fault_is_reported_at_once(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run with DROVER_UPDATE=1 to write the golden files again."""
    assert main(["check", f"{name}.yaml"]) == 1
    text = capsys.readouterr().out
    assert agrees(f"{name}.check.txt", text)
    assert main(["check", "--json", f"{name}.yaml"]) == 1
    data = capsys.readouterr().out
    assert agrees(f"{name}.check.json", data)
    assert len(json.loads(data)["files"][0]["faults"]) == len(text.splitlines()) - 1


@pytest.mark.usefixtures("_in_golden")
def test_ten_different_faults_are_ten_lines_and_more() -> None:
    assert len({fault.rule for fault in check_file("ten_faults.yaml").faults}) >= 10
    assert len({fault.rule for fault in check_file("many_faults.yaml").faults}) >= 25


@pytest.mark.usefixtures("_in_golden")
def test_a_sound_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "every_kind.yaml"]) == 0
    said = "every_kind.yaml: ok: traffic has 2 sources, 2 tables, 10 operators and 4 outputs\n"
    assert capsys.readouterr().out == said
    assert main(["check", "--json", "every_kind.yaml"]) == 0
    assert json.loads(capsys.readouterr().out)["sound"] is True


def test_a_run_file_without_its_mark_is_one_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shop.run.yaml"
    path.write_text("network: net.yaml\nsources: {}\nsinks: {}\ncheckpoint: ck\n", encoding="utf-8")
    assert main(["check", str(path)]) == 1
    told = capsys.readouterr().out
    assert "Begin it with `run: 1`, and name the network file in `network`." in told
    assert told.endswith("1 fault\n")


@pytest.mark.usefixtures("_in_golden")
def test_several_files_are_checked_and_one_bad_one_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "every_kind.yaml", "absent.yaml"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("every_kind.yaml: ok")
    assert lines[1].startswith("absent.yaml: file is unreadable, but it must be opened")


def test_standard_input_is_a_file_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"drover: 7")))
    assert main(["check", "-"]) == 1
    assert capsys.readouterr().out.startswith("-:1: drover is '7', but")


def test_no_escape_sequence_reaches_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "evil\x1b[2J.yaml"
    evil = '"\\e[31m\\u202e"'
    path.write_text(f"drover: 1\nname: {evil}\nsources: {{{evil}: {{columns: {{{evil}: {evil}}}}}}}\n{evil}: 1\n")
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert len(out.splitlines()) > 3
    assert "\x1b" not in out
    assert "\u202e" not in out


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100_000_000)


def text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content, encoding="utf-8")


LAUGHS = "a0: &a0 [ha]\n" + "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 10))
START = "drover: 1\nname: n\nsources:\n  s: {columns: {a: int}}\n"
HOSTILE: dict[str, Callable[[Path], object]] = {
    "billion laughs": text(LAUGHS),
    "100,000 brackets": text("a: " + "[" * 100_000),
    "100,000 braces": text("{a: " * 100_000),
    "100,000 dashes": text("- " * 100_000),
    "500 levels of indentation": text("\n".join(" " * k + "a:" for k in range(500))),
    "100 MB": sparse,
    "binary junk": lambda path: path.write_bytes(bytes(range(256)) * 1000),
    "a program": lambda path: path.symlink_to(sys.executable),
    "a pipe": os.mkfifo,
    "a directory": lambda path: path.mkdir(),
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "an empty device": lambda path: path.symlink_to("/dev/null"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "repeated keys": text(START + "name: m\n"),
    "tabs": text("drover: 1\n\tname: n\n"),
    "a byte order mark": text("\ufeffdrover: 2\n"),
    "CRLF": text("drover: 2\r\nname: n\r\n"),
    "a huge scalar": text(
        START + f"operators:\n  f: {{kind: filter, input: s, where: {'a' * 10_000_000}}}\noutputs: f\n"
    ),
    "a huge name": text(START + f"operators:\n  {'a' * 1_000_000}: {{kind: filter, input: s, where: a > 1}}\n"),
    "a huge quoted key": text(START + f'"{"x" * 10_000_000}": 1\n'),
    "a huge sum": text(
        START + f"operators:\n  f: {{kind: filter, input: s, where: {'a + ' * 100_000} a}}\noutputs: f\n"
    ),
    "many brackets in SQL": text(
        START + f"operators:\n  f: {{kind: filter, input: s, where: {'(' * 50_000}a{')' * 50_000}}}\noutputs: f\n"
    ),
    "200,000 keys": text("drover: 1\n" + "".join(f"k{k}: 1\n" for k in range(200_000))),
    "200,000 columns": text(START.replace("a: int", ", ".join(f"c{k}: int" for k in range(200_000)))),
    "one column 200,000 times": text(START.replace("a: int", "a: int, " * 200_000)),
    "5,000 columns": text(START.replace("a: int", ", ".join(f"c{k}: int" for k in range(5_000)))),
    "50,000 operators": text(START + "operators:\n" + "".join(f"  o{k}: {{kind: filter}}\n" for k in range(50_000))),
    "20,000 unknown streams": text(
        START + "operators:\n" + "".join(f"  o{k}: {{kind: filter, input: x{k}, where: a}}\n" for k in range(20_000))
    ),
    "a cycle of 20,000": text(
        START
        + "operators:\n"
        + "".join(f"  o{k}: {{kind: filter, input: o{(k + 1) % 20_000}, where: a}}\n" for k in range(20_000))
    ),
    "a union of 100,000": text(START + f"operators:\n  u: {{kind: union, inputs: [{'s, ' * 100_000}]}}\n"),
    "100,000 outputs": text(START + f"outputs: [{'s, ' * 100_000}]\n"),
    "a long comment": text("#" * 10_000_000),
    "a long line of quotes": text("a: " + "''" * 1_000_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_a_quick_and_clear_answer(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "n.yaml"
    HOSTILE[name](path)
    start = time.monotonic()
    assert main(["check", str(path)]) == 1
    assert time.monotonic() - start < PATIENCE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{path}:")
    assert ", but " in lines[0]
    assert max(map(len, lines)) < 4_000


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: f"drover: 1\n{text}".encode(errors="ignore")))
def test_any_bytes_give_faults_and_nothing_else(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "n.yaml"
        path.write_bytes(data)
        verdict = check_file(str(path))
    assert (verdict.network is None) == bool(verdict.faults)

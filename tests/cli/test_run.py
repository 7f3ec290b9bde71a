"""`drover run` as a real process: what it writes, how it stops, and that it goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from drover.cli import main
from drover.control.engine_choice import EngineChoice
from drover.control.settings import Mode
from drover.errors import DroverError
from drover.network.files.network_file import loads
from tests.cli.checkpoints import small_checkpoint

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
ROWS = [(START + timedelta(seconds=i), f"n{i % 3}", i * 7 % 20) for i in range(120)]
NETWORK = """\
drover: 1
name: calls
sources:
  calls: {columns: {ts: timestamp, number: string, seconds: int}, time: ts}
operators:
  long: {kind: filter, input: calls, where: seconds > 4}
  counts: {kind: aggregate, input: long, size: 10 s, group_by: number, compute: {calls: count(*)}}
outputs: [long, counts]
"""
WITH_FUNCTION = NETWORK.replace(
    "  long: {kind: filter, input: calls,",
    """\
  clean:
    kind: user
    input: calls
    function: cleaning:clean
    columns: {ts: timestamp, number: string, seconds: int}
    time: ts
  long: {kind: filter, input: clean,""",
).replace("[long, counts]", "[counts]")
CLEANING = """\
import drover


@drover.function({"ts": "timestamp", "number": "string", "seconds": "int"}, time="ts")
def clean(frame):
    return frame
"""
RUN = """\
run: 1
network: net.yaml
sources:
  calls: {replay: csv, path: calls.csv, options: {header: true}, speed: 4}
sinks:
  long: {write: csv, path: out/long}
  counts: {write: json, path: out/counts}
checkpoint: check
nodes: 2
"""


WORDS = [("--control", mode) for mode in Mode] + [("--engine", engine) for engine in EngineChoice]


@pytest.mark.parametrize(("option", "word"), WORDS)
def test_options_take_the_words_of_a_run_file(
    option: str, word: Mode | EngineChoice, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path / "none.run.yaml"), option, word.value]) == 1
    assert "file is unreadable" in capsys.readouterr().err  # the option is not what is wrong


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.yaml").write_text(NETWORK, encoding="utf-8")
    (tmp_path / "calls.run.yaml").write_text(RUN, encoding="utf-8")
    lines = [f"{ts:%Y-%m-%dT%H:%M:%SZ},{number},{seconds}" for ts, number, seconds in ROWS]
    (tmp_path / "calls.csv").write_text("\n".join(["ts,number,seconds", *lines]), encoding="utf-8")
    return tmp_path


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "drover", "run", str(folder / "calls.run.yaml"), "--master", "local[2]", *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=dict(os.environ)
    )


def written(folder: Path) -> tuple[Counter[str], Counter[tuple[str, str, int]]]:
    """The rows in the files of both sinks, with how often each is there."""
    long: Counter[str] = Counter()
    for file in sorted((folder / "out" / "long").glob("*.csv")):
        long.update(line for line in file.read_text(encoding="utf-8").splitlines()[1:])
    counts: Counter[tuple[str, str, int]] = Counter()
    for file in sorted((folder / "out" / "counts").glob("*.json")):
        found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        counts.update((row["window_start"][:19].replace("T", " "), row["number"], row["calls"]) for row in found)
    return long, counts


def expected_counts() -> Counter[tuple[str, str, int]]:
    """The windows that the last row's time closes."""
    last = ROWS[-1][0]
    windows = Counter((ts - timedelta(seconds=ts.second % 10), number) for ts, number, seconds in ROWS if seconds > 4)
    done = {key: count for key, count in windows.items() if key[0] + timedelta(seconds=10) <= last}
    return Counter((f"{begin:%Y-%m-%d %H:%M:%S}", number, count) for (begin, number), count in done.items())


@pytest.mark.slow
def test_an_interrupted_run_stops_cleanly_and_can_be_continued(folder: Path) -> None:
    process = start(folder, "--json")
    assert process.stdout is not None
    entries = [json.loads(process.stdout.readline()) for _ in range(3)]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert "Exception" not in err
    assert "to continue: drover run" in err
    entries += map(json.loads, out.splitlines())
    assert [entry["batch"] for entry in entries] == list(range(len(entries)))
    rows_before = sum(entry["rowsIn"].get("calls", 0) for entry in entries)
    assert 0 < rows_before < len(ROWS)

    out, err = start(folder, "--once", "--json").communicate(timeout=240)
    more = [json.loads(line) for line in out.splitlines()]
    assert more[0]["batch"] == len(entries), err
    assert rows_before + sum(entry["rowsIn"].get("calls", 0) for entry in more) == len(ROWS)
    assert set(more[0]["seconds"]) == {"routing", "nodes", "compute", "sinks", "commit"}
    assert len(more[0]["busy"]) == more[0]["nodes"] == 2
    long, counts = written(folder)
    assert sum(long.values()) == len(long) == sum(seconds > 4 for _, _, seconds in ROWS)
    assert counts == expected_counts()


@pytest.mark.slow
def test_a_failing_function_is_reported_and_what_it_held_is_worked_off_once_it_is_mended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = folder / "cleaning.py"
    module.write_text(CLEANING.replace("return frame", "raise ValueError('not yet')"), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))
    (folder / "net.yaml").write_text(WITH_FUNCTION, encoding="utf-8")
    run = RUN.replace("speed: 4", "batches: 4").replace("  long: {write: csv, path: out/long}\n", "")
    (folder / "calls.run.yaml").write_text(run, encoding="utf-8")
    process = start(folder, "--once")
    out, err = process.communicate(timeout=240)
    assert process.returncode == 3, err
    assert "clean is parked since batch 0" in err.splitlines()[-1]
    assert "ValueError: not yet (at " in err.splitlines()[-1]
    assert f"It holds {len(ROWS)} rows" in err.splitlines()[-1]
    assert written(folder)[1] == Counter()
    module.write_text(CLEANING, encoding="utf-8")
    process = start(folder, "--once", "--resume", "clean")
    out, err = process.communicate(timeout=240)
    assert (process.returncode, out) == (0, ""), err
    assert written(folder)[1] == expected_counts()


@pytest.mark.slow
def test_an_error_of_spark_is_one_line(folder: Path) -> None:
    (folder / "calls.csv").unlink()
    process = start(folder, "--once")
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (1, "")
    assert err.splitlines()[-1].startswith("drover: source 'calls': [PATH_NOT_FOUND]")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param(
            ("nodes: 2", "nodes: 0"), "line 9: nodes is 0, but a run has at least one node", id="a faulty file"
        ),
        pytest.param(("run: 1", "drover: 1"), "a run file names the sources and sinks of a network", id="no run file"),
    ],
)
def test_bad_input_is_reported_before_spark_starts(
    folder: Path, change: tuple[str, str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "calls.run.yaml"
    path.write_text(RUN.replace(*change), encoding="utf-8")
    assert main(["run", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert fault in err
    assert "starting Spark" not in err


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        pytest.param([], False, id="nothing is allowed"),
        pytest.param(["--allow-changes", "long"], False, id="something else is allowed"),
        pytest.param(["--allow-changes", "other,counts"], True, id="it is named"),
        pytest.param(["--allow-changes", "other", "--allow-changes", "counts"], True, id="it is named later"),
        pytest.param(["--allow-changes"], True, id="everything is allowed"),
        pytest.param(["--allow-changes", "--once"], True, id="everything is allowed, before another option"),
    ],
)
def test_lost_state_is_refused_before_spark_starts(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    allowed: bool,
) -> None:
    small_checkpoint(folder / "check", loads(NETWORK), ["counts"])
    (folder / "net.yaml").write_text(NETWORK.replace("10 s", "20 s").replace("> 4", "> 5"), encoding="utf-8")
    file = str(folder / "calls.run.yaml")

    def start_spark(*_: object) -> None:
        raise DroverError("Spark starts")

    monkeypatch.setattr("drover.spark.session.session", start_spark)
    assert main(["run", file, *options]) == 1
    said = capsys.readouterr().err
    assert ("Spark starts" in said) is allowed
    if not allowed:
        assert "operators.counts: starts anew: size is '20 s', was '10 s'" in said
        assert f"To continue with these changes: drover run {file} --allow-changes counts" in said


def test_rows_of_other_runs_are_either_deleted_or_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder / "calls.run.yaml"), "--overwrite", "--adopt"]) == 2
    assert "--overwrite deletes rows of other runs and --adopt keeps them" in capsys.readouterr().err

"""`drover dead-letters`, and every other place that tells of rows that were not used: a run file from end to end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from drover.cli import main
from tests.cli.golden import said

NETWORK = """\
drover: 1
name: calls
sources:
  calls: {columns: {ts: timestamp, number: string, seconds: int}, time: ts}
operators:
  counts: {kind: aggregate, input: calls, size: 10 s, compute: {calls: count(*)}}
outputs: [calls, counts]
"""
RUN = """\
run: 1
network: net.yaml
sources:
  calls: {read: csv, path: in, options: {header: false, maxFilesPerTrigger: 1}}
sinks:
  counts: {write: json, path: out}
late: {write: json, path: late}
checkpoint: checkpoint
nodes: 2
"""
HEADER = "ts is no timestamp, seconds is no int"  # why the header line is no row
REASON = "event time ts is NULL or outside the years 1 to 9999"


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001 - it must run
    """A run whose files have a row without a time, and rows that come too late."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the other tests need it, too
    (tmp_path / "net.yaml").write_text(NETWORK, encoding="utf-8")
    (tmp_path / "calls.run.yaml").write_text(RUN, encoding="utf-8")
    (tmp_path / "in").mkdir()
    write(tmp_path, 0, "ts,number,seconds", "2024-05-01T12:00:01Z,n1,12", "2024-05-01T12:01:00Z,n1,1")
    write(tmp_path, 1, "2024-05-01T12:02:00Z,n1,1")
    write(tmp_path, 2, "2024-05-01T12:00:02Z,n2,1", "2024-05-01T12:00:03Z,n2,1", "2024-05-01T12:02:01Z,n2,1")
    return tmp_path


def write(folder: Path, number: int, *lines: str) -> None:
    path = folder / "in" / f"{number}.csv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    os.utime(path, (1_700_000_000 + number,) * 2)  # Spark reads files in the order of their times


def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["run", str(folder / "calls.run.yaml"), "--once"]) == 0
    return capsys.readouterr().err


def test_rows_that_were_not_used_are_told_everywhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = str(folder / "checkpoint")
    shown = run(folder, capsys)
    assert f"warning: 1 row of calls did not fit: {HEADER}\n" in shown
    assert f"rows that did not fit are in the checkpoint: drover dead-letters {checkpoint}\n" in shown
    assert "warning: 2 rows came too late for counts\n" in shown
    assert "late rows are only counted" not in shown
    files = sorted((folder / "late").glob("*.json"))
    late = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(one["operator"], one["source"], one["time"][:19], one["watermark"][:19]) for one in late] == [
        ("counts", "calls", "2024-05-01T12:00:02", "2024-05-01T12:01:00"),
        ("counts", "calls", "2024-05-01T12:00:03", "2024-05-01T12:01:00"),
    ]
    assert json.loads(late[0]["row"])["number"] == "n2"

    write(folder, 3, ",n3,1", "2024-05-01T12:02:30Z,n3,short", "2024-05-01T12:00:04Z,n4,1", "2024-05-01T12:03:00Z,n4,1")
    run(folder, capsys)  # a restart continues to count
    sentences = [
        f"3 dead letters of calls: {REASON} (1 of them).",
        "3 rows came too late for operator counts: 3 of calls.",
    ]
    status = said(capsys, "status", checkpoint)
    assert all(sentence in status for sentence in sentences)
    page = folder / "report.html"
    assert main(["report", checkpoint, "--out", str(page)]) == 0
    capsys.readouterr()  # it says on standard error what takes long
    assert all(sentence in page.read_text(encoding="utf-8") for sentence in sentences)

    text = said(capsys, "dead-letters", checkpoint)
    assert f"calls      1  {REASON}" in text
    assert "the last 3 of 3 that are kept" in text
    assert '"number":"n3"' in text
    assert '{"_corrupt_record":"ts,number,seconds"}' in text
    found: dict[str, Any] = json.loads(said(capsys, "dead-letters", checkpoint, "--json"))
    assert found["totals"] == {"calls": {"rows": 3, "reasons": {REASON: 1, "seconds is no int": 1, HEADER: 1}}}
    assert (found["notKept"], [row["batch"] for row in found["rows"]]) == (0, [0, 4, 4])  # batch 3 closed windows


def test_a_header_line_is_asked_for_and_no_batch_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "calls.run.yaml").write_text(RUN.replace("header: false, ", ""), encoding="utf-8")
    assert main(["run", str(folder / "calls.run.yaml"), "--once"]) == 1
    shown = capsys.readouterr().err
    assert "0.csv is 'ts,number,seconds', which has the names of the columns" in shown
    assert "header: true" in shown


def test_a_folder_that_is_no_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dead-letters", str(tmp_path)]) == 1
    assert "is not the checkpoint of a run: there is no network in it" in capsys.readouterr().err

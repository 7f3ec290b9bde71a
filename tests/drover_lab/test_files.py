from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from drover.errors import DroverError
from drover.network.files.disk import write_bytes
from drover_lab import files
from drover_lab.run import run
from tests.drover_lab.toy import TOY


def test_rows_figure_and_verdicts_are_written(tmp_path: Path) -> None:
    result = run(TOY)
    written = files.write(result, tmp_path / "a" / "b")
    assert sorted(Path(file).suffix for file in written) == [".csv", ".json", ".parquet", ".png", ".svg"]
    assert sorted(str(path) for path in (tmp_path / "a" / "b").iterdir()) == sorted(written)
    assert_frame_equal(pl.read_parquet(tmp_path / "a" / "b" / "X-fig1.parquet"), result.rows)
    assert_frame_equal(pl.read_csv(tmp_path / "a" / "b" / "X-fig1.csv"), result.rows)  # to the last digit
    shown = json.loads((tmp_path / "a" / "b" / "X-fig1.json").read_text(encoding="utf-8"))
    assert [claim["holds"] for claim in shown["claims"]] == [True, False, False]
    assert {"claim", "text", "measured", "holds"} <= set(shown["claims"][0])
    assert (shown["rows"], shown["files"]) == (31, written)


def test_rows_that_were_kept_are_taken_only_if_they_are_those(tmp_path: Path) -> None:
    result = run(TOY)
    files.write(result, tmp_path)
    kept = files.read(TOY, tmp_path, quick=False)
    assert kept is not None
    assert_frame_equal(kept.rows, result.rows)
    assert kept.verdicts == result.verdicts
    assert files.read(TOY, tmp_path, quick=True) is None, "other parameters"
    assert files.read(replace(TOY, columns={"other": ""}), tmp_path, quick=False) is None, "other columns"
    assert files.read(replace(TOY, name="X-fig2"), tmp_path, quick=False) is None, "another name"
    result.rows.with_columns(version=pl.lit("0")).write_parquet(tmp_path / "X-fig1.parquet")
    assert files.read(TOY, tmp_path, quick=False) is None, "another version"
    (tmp_path / "X-fig1.parquet").write_bytes(b"PAR1 no more")
    assert files.read(TOY, tmp_path, quick=False) is None, "a damaged file"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(run(TOY, quick=True), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DroverError, match="No space left"):
        files.write(run(TOY), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_bytes(tmp_path / "x", b"\x00\xff\n")
    assert (tmp_path / "x").read_bytes() == b"\x00\xff\n"


def test_a_folder_that_cannot_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DroverError, match=r"out is .*file/x.*Name another one"):
        files.open_folder(tmp_path / "file" / "x")

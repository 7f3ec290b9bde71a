from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from drover.errors import DroverError
from drover.experiments import files, pages
from drover.experiments.draw import draw, looks
from drover.experiments.run import run
from drover.network.files.disk import write_bytes
from tests.experiments.toy import TOY

PNG, SVG = b"\x89PNG", b"<?xml"


def test_rows_figure_and_verdicts_are_written(tmp_path: Path) -> None:
    result = run(TOY)
    written = files.write(result, tmp_path / "a" / "b")
    assert sorted(Path(file).suffix for file in written) == [".csv", ".json", ".parquet", ".png", ".svg"]
    assert sorted(str(path) for path in (tmp_path / "a" / "b").iterdir()) == sorted(written)
    assert_frame_equal(pl.read_parquet(tmp_path / "a" / "b" / "X-fig1.parquet"), result.rows)
    assert_frame_equal(pl.read_csv(tmp_path / "a" / "b" / "X-fig1.csv"), result.rows)  # to the last digit
    told = json.loads((tmp_path / "a" / "b" / "X-fig1.json").read_text(encoding="utf-8"))
    assert [claim["holds"] for claim in told["claims"]] == [True, False, False]
    assert {"claim", "text", "measured", "holds"} <= set(told["claims"][0])
    assert (told["rows"], told["files"]) == (31, written)


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


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DroverError, match=r"out is .*file/x.*Name another one"):
        files.open_folder(tmp_path / "file" / "x")


def test_equal_rows_give_equal_figures() -> None:
    one, other = (draw(TOY, run(TOY).rows) for _ in range(2))
    assert one == other
    assert one["png"].startswith(PNG)
    assert one["svg"].startswith(SVG)
    assert draw(TOY, run(TOY, quick=True).rows) != one


def test_figures_show_panels_lines_and_what_is_printed() -> None:
    svg = draw(TOY, run(TOY).rows)["svg"].decode()
    for word in ("X-fig1: Products", "3, as printed", "drawn", "product"):
        assert word in svg


def test_a_line_looks_the_same_in_every_panel() -> None:
    rows = run(TOY).rows
    whole = looks(rows, TOY.panels[0])
    assert [style["label"] for style in whole.values()] == ["1", "3", "7"]
    assert len({(style["color"], style["marker"]) for style in whole.values()}) == 3
    assert looks(rows, replace(TOY.panels[0], where={"factor": 7})) == whole


def test_a_page_and_an_index(tmp_path: Path) -> None:
    result = run(TOY)
    pages.write_page(result, tmp_path)
    pages.write_index([result], {"X": "A text", "Y": "Another"}, tmp_path)
    page = (tmp_path / "X-fig1.md").read_text(encoding="utf-8")
    assert page.splitlines()[3] == "drover experiment run X-fig1"
    assert "| `larger` | Three times is more. | 3 > 1 | yes |" in page
    assert "| `unknown` | Nine times is more. | not judged: nine was not run | **not judged** |" in page
    assert "Why `smaller` does not hold, as far as we see: It is not." in page
    assert "| factor \\ size | 1 | 2 | 4 | 8 |" in page
    assert "| 3 | 3 ± 0 | 6 ± 0 | 12 ± 0 |  |" in page
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| [X-fig1](X-fig1.md) | Products | 1 of 3; not `smaller`, `unknown` |" in index
    assert "Another" not in index
    assert "Quick" not in index


def test_rows_are_shared_by_those_who_measure_the_same() -> None:
    assert pages.run_key(TOY, quick=False) == pages.run_key(replace(TOY, name="X-fig2", claims=()), quick=False)
    assert pages.run_key(TOY, quick=False) != pages.run_key(TOY, quick=True)

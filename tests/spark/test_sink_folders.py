"""Folders of sinks: which run may write where, and what is deleted."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.spark.run_identity import RunIdentity
from drover.spark.sink_folders import (
    ExistingRows,
    FolderClaim,
    SinkFolder,
    check_folders,
    claim_folders,
    existing_rows,
)

A, B = (RunIdentity(letter * 32) for letter in "ab")
OLD = RunIdentity("c" * 32, upgraded=True)
REFUSE = ExistingRows.REFUSE
OVERWRITE = ExistingRows.OVERWRITE
ADOPT = ExistingRows.ADOPT
WAYS_OUT = (
    "and rows of this run would be mixed with them. Name another folder, write --overwrite (existing='overwrite') to "
    "delete these files, or --adopt (existing='adopt') to add rows to them."
)


def claim(path: Path, run: RunIdentity, existing: ExistingRows = REFUSE, committed: int = -1) -> FolderClaim:
    """Check one folder and claim it."""
    claims = check_folders([SinkFolder(path, existing)], run, committed)
    claim_folders(claims)
    return claims[0]


def put(path: Path, *names: str) -> None:
    path.mkdir(parents=True, exist_ok=True)
    for name in names:
        (path / name).write_text("x", encoding="utf-8")


def names(path: Path) -> list[str]:
    return sorted(str(one.relative_to(path)) for one in path.rglob("*") if one.is_file())


def refused(path: Path, run: RunIdentity, existing: ExistingRows = REFUSE, committed: int = -1) -> str:
    before = names(path)
    with pytest.raises(DroverError) as caught:
        check_folders([SinkFolder(path, existing)], run, committed)
    assert names(path) == before
    return str(caught.value)


def test_a_new_folder_belongs_to_the_run_that_writes_first(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert claim(folder, A).word == ""
    put(folder, "000000000000.parquet")
    assert claim(folder, A).word == ""
    assert names(folder) == ["000000000000.parquet", f"_drover-run-{A.id}"]


def test_another_run_is_refused_with_the_ways_out(tmp_path: Path) -> None:
    claim(tmp_path, A)
    put(tmp_path, "000000000000.parquet", "000000000001.parquet")
    assert refused(tmp_path, B) == f"the sink folder {tmp_path} has 2 files of run aaaaaaaa, {WAYS_OUT}"


def test_a_folder_without_rows_belongs_to_its_run_too(tmp_path: Path) -> None:
    claim(tmp_path, A)
    assert refused(tmp_path, B) == (
        f"the sink folder {tmp_path} belongs to run aaaaaaaa, though it has no rows yet. Name another folder, or write "
        "--overwrite (existing='overwrite') if that run is over."
    )
    claim(tmp_path, B, OVERWRITE)
    assert names(tmp_path) == [f"_drover-run-{B.id}"]


def test_overwriting_deletes_what_drover_wrote_and_nothing_else(tmp_path: Path) -> None:
    claim(tmp_path, A)
    put(tmp_path, "000000000000.parquet", ".000000000001.parquet.tmp", "README", "_SUCCESS")
    put(tmp_path / "n-3a651761", "000000000000.parquet")
    put(tmp_path / "mine", "000000000000.parquet")
    assert claim(tmp_path, B, OVERWRITE).word == ""
    assert names(tmp_path) == ["README", "_SUCCESS", f"_drover-run-{B.id}", "mine/000000000000.parquet"]
    put(tmp_path, "000000000000.parquet")
    claim(tmp_path, B, OVERWRITE)  # its own rows stay
    assert "000000000000.parquet" in names(tmp_path)


def test_files_that_drover_did_not_write_are_never_overwritten(tmp_path: Path) -> None:
    put(tmp_path, "000000000000.parquet", "part-0001.parquet")
    for existing in (REFUSE, OVERWRITE):
        assert refused(tmp_path, A, existing) == (
            f"the sink folder {tmp_path} has 2 files of rows, and drover has not written part-0001.parquet. Name "
            "another folder, or write --adopt (existing='adopt') to add rows to these."
        )


def test_a_run_that_adopts_rows_names_its_files_differently_from_then_on(tmp_path: Path) -> None:
    claim(tmp_path, A)
    put(tmp_path, "000000000000.parquet")
    assert claim(tmp_path, B, ADOPT).word == "-bbbbbbbb"
    put(tmp_path, "000000000000-bbbbbbbb.parquet")
    assert claim(tmp_path, B).word == "-bbbbbbbb"
    assert claim(tmp_path, A).word == ""
    assert claim(tmp_path, RunIdentity("d" * 32), OVERWRITE).word == ""
    assert names(tmp_path) == [f"_drover-run-{'d' * 32}"]


def test_a_checkpoint_of_an_earlier_version_continues_in_its_folders(tmp_path: Path) -> None:
    put(tmp_path, *(f"{batch:012}.json" for batch in range(4)))
    assert "has 4 files of a run that drover does not know" in refused(tmp_path, OLD, committed=1)
    assert claim(tmp_path, OLD, committed=2).word == ""
    assert len(names(tmp_path)) == 5
    assert f"has 4 files of run {OLD.id[:8]}" in refused(tmp_path, A, committed=2)


def test_rows_of_nobody_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "n-3a651761", "000000000000.parquet")
    assert (
        refused(tmp_path, A) == f"the sink folder {tmp_path} has 1 file of a run that drover does not know, {WAYS_OUT}"
    )


def test_no_folder_is_changed_if_one_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "used", "000000000000.parquet")
    put(tmp_path / "old", "000000000000.parquet")
    folders = [SinkFolder(tmp_path / "old", OVERWRITE), SinkFolder(tmp_path / "used", REFUSE)]
    with pytest.raises(DroverError, match="used has 1 file"):
        check_folders(folders, A, -1)
    assert names(tmp_path) == ["old/000000000000.parquet", "used/000000000000.parquet"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    put(tmp_path, "out")
    with pytest.raises(DroverError, match=r"out is a file, but must be a folder\. Name another path\."):
        check_folders([SinkFolder(tmp_path / "out", REFUSE)], A, -1)


def test_there_are_three_choices() -> None:
    assert existing_rows("adopt") is ADOPT
    with pytest.raises(
        DroverError, match=r"existing is 'append', but must be one of refuse, overwrite, adopt\. Choose one"
    ):
        existing_rows("append")


def test_readers_of_the_folder_do_not_see_the_marker(spark: SparkSession, tmp_path: Path) -> None:
    claim(tmp_path, A)
    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "000000000000.parquet")
    assert spark.read.parquet(str(tmp_path)).count() == 2
    assert pl.read_parquet(tmp_path).height == 2
    assert pyarrow.dataset.dataset(tmp_path, format="parquet").count_rows() == 2  # as pandas reads a folder

"""Spark's own logs: which files a start reads, and that a batch costs its new files only."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.state import digests
from drover.flow.state.storage import open_root
from drover.spark.spark_logs import check_form, delete_unfinished, follow, newest_compacted, number_of
from tests.spark.spark_files import write_logs


def names(found: dict[str, str]) -> list[str]:
    return sorted(name.removeprefix("spark/") for name in found)


def test_before_the_first_batch_there_is_nothing(tmp_path: Path) -> None:
    assert follow(*open_root(tmp_path), {}, -1) == {}


def test_the_last_files_of_each_log_and_all_since_the_compacted_one_are_known(tmp_path: Path) -> None:
    write_logs(tmp_path, begun=7, done=6, sources=2)
    found = follow(*open_root(tmp_path), {}, 7)
    of_source = ["5.compact", "6", "7"]
    assert names(found) == sorted(
        [
            "metadata",
            *(f"offsets/{batch}" for batch in (5, 6, 7)),
            *(f"commits/{batch}" for batch in (5, 6)),
            *(f"sources/{source}/{name}" for source in (0, 1) for name in of_source),
        ]
    )


def test_following_batch_by_batch_finds_what_a_fresh_look_finds(tmp_path: Path) -> None:
    known: dict[str, str] = {}
    for batch in range(12):
        write_logs(tmp_path, begun=batch, done=batch - 1)
        known = follow(*open_root(tmp_path), known, batch)
        assert known == follow(*open_root(tmp_path), {}, batch)


def test_a_batch_reads_only_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_logs(tmp_path, begun=9, done=8)
    known = follow(*open_root(tmp_path), {}, 9)
    write_logs(tmp_path, begun=10, done=9)
    read: list[str] = []
    original = digests.read_digest

    def counted(fs: FileSystem, root: str, name: str) -> str | None:
        found = original(fs, root, name)
        if found is not None:
            read.append(name)
        return found

    monkeypatch.setattr("drover.spark.spark_logs.read_digest", counted)
    follow(*open_root(tmp_path), known, 10)
    assert sorted(read) == ["spark/commits/9", "spark/offsets/10", "spark/sources/0/10"]


def test_a_source_may_write_several_files_in_a_batch_or_none(tmp_path: Path) -> None:
    write_logs(tmp_path, begun=3, done=2)
    known = follow(*open_root(tmp_path), {}, 3)
    for name in ("4", "5.compact", "6"):
        (tmp_path / "spark" / "sources" / "0" / name).write_text("v1\n{}")
    assert [name for name in names(follow(*open_root(tmp_path), known, 3)) if name.startswith("sources")] == [
        "sources/0/4",
        "sources/0/5.compact",
        "sources/0/6",
    ]


def test_other_files_in_the_folders_do_not_count(tmp_path: Path) -> None:
    write_logs(tmp_path, begun=1, done=0)
    before = follow(*open_root(tmp_path), {}, 1)
    for name in (".1.crc", ".tmp-2", "2.tmp", "x"):
        (tmp_path / "spark" / "sources" / "0" / name).write_text("")
    assert follow(*open_root(tmp_path), {}, 1) == before


@pytest.mark.parametrize(("name", "number"), [("offsets/12", 12), ("9.compact", 9), (".9.crc", None), ("x", None)])
def test_files_are_known_by_number(name: str, number: int | None) -> None:
    assert number_of(name) == number


def test_the_newest_compacted_file_is_found() -> None:
    assert newest_compacted(["9.compact", "10", "19.compact", "20"]) == 19
    assert newest_compacted(["0", "1"]) == -1


@pytest.mark.parametrize("text", ['v1\n{"nextBatchWatermarkMs":0}', "v1\n{}\n{}", "v1\n{}\n-\n5", "v2\n[]"])
def test_a_file_of_a_log_has_a_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "3").write_text(text)
    check_form(*open_root(tmp_path), "3")


@pytest.mark.parametrize(
    "data", [b"", b"v1", b"v1\n", b"v1\n{", b"w1\n{}", b'v1\n{"a":0', b"\xff\n{}", b'v1\n{"\xff":0}']
)
def test_a_file_without_that_form_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "3").write_bytes(data)
    with pytest.raises(StateError, match=r"/3: expected a file of Spark's log.*Delete this file"):
        check_form(*open_root(tmp_path), "3")


def test_only_what_spark_has_not_finished_is_deleted(tmp_path: Path) -> None:
    unfinished = [".0.0e98e7d0-0c3a-4a7e.tmp", "..0.0e98e7d0-0c3a-4a7e.tmp.crc", ".9.compact.0e98e7d0-0c3a-4a7e.tmp"]
    kept = ["0", "9.compact", ".0.crc", "tmp", "notes.tmp"]
    folder = tmp_path / "spark" / "offsets"
    folder.mkdir(parents=True)
    for name in [*unfinished, *kept]:
        (folder / name).write_text("v1")
    delete_unfinished(*open_root(tmp_path))
    assert sorted(path.name for path in folder.iterdir()) == sorted(kept)

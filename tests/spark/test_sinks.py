from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from drover.errors import DroverError
from drover.network.types import parse_type, polars_type
from drover.spark.sink_folders import ExistingRows, SinkFolder
from drover.spark.sinks import (
    Console,
    Files,
    Memory,
    Several,
    empty_rows,
    refuse_shared,
    sink_folders,
    with_words,
    write_parquet,
)

START = datetime(2024, 1, 1, tzinfo=UTC)
VALUES: dict[str, list[object]] = {
    "bigint": [1, None, -(2**63)],
    "double": [0.5, float("nan"), None],
    "string": ["a text of some length", "", None],
    "boolean": [True, None, False],
    "timestamp": [START, None, START + timedelta(microseconds=1)],
    "date": [date(2024, 2, 29), None, date(1, 1, 1)],
    "decimal(10,2)": [Decimal("1.25"), None, Decimal("-0.01")],
    "binary": [b"\x00", None, b""],
}


@pytest.mark.parametrize("large", [0, 1 << 30], ids=["piece by piece", "in one piece"])
def test_parquet_is_the_same_in_pieces(tmp_path: Path, large: int) -> None:
    schema = {kind: polars_type(parse_type(kind)) for kind in VALUES}
    given = pl.concat([pl.DataFrame(VALUES, schema=schema)] * 300, rechunk=False)
    with (tmp_path / "rows.parquet").open("wb") as file:
        write_parquet(given, file, large, piece=250)
    assert_frame_equal(pl.read_parquet(tmp_path / "rows.parquet"), given)


@pytest.mark.parametrize("uri", ["s3a://bucket/out", "hdfs:///out", "file://elsewhere/out"])
def test_a_folder_on_another_machine_is_refused(uri: str) -> None:
    with pytest.raises(DroverError) as caught:
        Files(uri)
    assert str(caught.value) == (
        f"folder is '{uri}', but files of sinks are written to local disks. Name a local folder. Or give a function of "
        "a DataFrame and a batch number, which can write anywhere."
    )


def test_a_file_uri_is_a_path(tmp_path: Path) -> None:
    assert Files(f"file://{tmp_path}/a%20b") == Files(f"{tmp_path}/a b")


def test_the_folders_of_all_sinks_are_found_and_get_their_words(tmp_path: Path) -> None:
    memory = Memory()
    sink = Several((Files(str(tmp_path / "a")), Several((memory, Files(str(tmp_path / "b"), existing="adopt")))))
    assert list(sink_folders([Console(), sink], ExistingRows.OVERWRITE)) == [
        SinkFolder(tmp_path / "a", ExistingRows.OVERWRITE),
        SinkFolder(tmp_path / "b", ExistingRows.ADOPT),
    ]
    bound = with_words(sink, {tmp_path / "a": "", tmp_path / "b": "-0123abcd"})
    assert isinstance(bound, Several)
    assert bound.sinks[0] == sink.sinks[0]
    assert bound.sinks[1] == Several((memory, Files(str(tmp_path / "b"), existing="adopt", word="-0123abcd")))


def test_two_outputs_with_one_sink_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (tmp_path / "link").symlink_to(folder)
    one = Files(str(folder))
    memory = Memory()
    for other in (one, Files(f"{folder}/"), Files(f"{folder}/x/.."), Files(f"file://{tmp_path}/link")):
        with pytest.raises(DroverError, match=r"output 'a' and late have one sink, the folder .*Give each a sink"):
            refuse_shared([("output 'a'", Several((memory, one))), ("late", other)])
    with pytest.raises(DroverError, match="a and b have one sink, the same object"):
        refuse_shared([("a", memory), ("b", memory)])
    refuse_shared([("a", one), ("b", Files(str(folder), "json")), ("c", Files(f"{folder}/c")), ("d", memory)])


def test_a_choice_that_does_not_exist_is_refused() -> None:
    with pytest.raises(DroverError, match="existing is 'append', but must be one of refuse, overwrite, adopt"):
        Files("out", existing="append")


SPARK: Any = None  # Any: files need no SparkSession


def test_a_batch_that_has_no_rows_any_more_leaves_no_file(tmp_path: Path) -> None:
    sink = Files(str(tmp_path / "out"))
    rows = pl.DataFrame({"k": [1]})
    sink.write(rows.clear(), 3, SPARK)
    assert not (tmp_path / "out").exists()
    for batch in (3, 4):
        sink.write(rows, batch, SPARK)
    sink.write(rows.clear(), 3, SPARK)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["000000000004.parquet"]


def test_the_folder_of_a_table_is_durable_before_its_first_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("drover.files.sync", synced.append)
    Files(str(tmp_path)).for_table("n-0123abcd")
    assert synced == [tmp_path.parent, tmp_path]
    (tmp_path / "file").touch()
    with pytest.raises(DroverError, match=r"file/n: the folder cannot be written: .*Not a directory"):
        Files(str(tmp_path / "file")).for_table("n")


def test_rows_have_the_types_of_their_stream() -> None:
    found = empty_rows({"k": parse_type("bigint"), "at": parse_type("date")})
    assert found.schema == {"k": pl.Int64(), "at": pl.Date()}
    assert found.is_empty()

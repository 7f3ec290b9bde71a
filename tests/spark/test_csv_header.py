"""A header line in a CSV file is recognised, unless somebody said what the first line is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import drover
from drover.errors import DroverError
from drover.spark.csv_header import check_header

COLUMNS = ("ts", "number", "seconds")


def written(folder: Path, line: str, name: str = "calls.csv") -> str:
    path = folder / name
    data = f"{line}\n2024-05-01T12:00:01Z,n1,12\n".encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


@pytest.mark.parametrize("name", ["calls.csv", "calls.csv.gz"])
@pytest.mark.parametrize(
    ("line", "options"),
    [
        pytest.param("ts,number,seconds", {}, id="all names"),
        pytest.param('\ufeff"TS", Number ,other', {"sep": ","}, id="quoted, in another case, some"),
        pytest.param("ts;number;seconds", {"delimiter": ";"}, id="another separator"),
        pytest.param("ts\tnumber\tseconds", {"sep": r"\t"}, id="a tab in two characters"),
    ],
)
def test_a_first_line_of_names_is_refused(tmp_path: Path, line: str, options: dict[str, str], name: str) -> None:
    path = written(tmp_path, line, name)
    for given in (path, f"file://{path}", str(tmp_path), f"{tmp_path}/*.csv*"):
        with pytest.raises(DroverError) as caught:
            check_header("csv", given, options, COLUMNS)
        said = str(caught.value)
        assert said.startswith(f"the first line of {path} is ")
        assert said.endswith(
            "which has the names of the columns, but would be read as a row. Add the option header: true to skip it, "
            "or header: false if it is a row."
        )


@pytest.mark.parametrize(
    ("kind", "line", "options"),
    [
        pytest.param("csv", "2024-05-01T12:00:00Z,n1,12", {}, id="a row"),
        pytest.param("csv", "ts,number,seconds", {"header": "true"}, id="it is skipped"),
        pytest.param("csv", "ts,number,seconds", {"Header": "false"}, id="it is a row"),
        pytest.param("json", "ts,number,seconds", {}, id="another format"),
        pytest.param("csv", "", {}, id="an empty line"),
    ],
)
def test_other_lines_are_read(tmp_path: Path, kind: str, line: str, options: dict[str, str]) -> None:
    check_header(kind, written(tmp_path, line), options, COLUMNS)


def test_files_that_are_not_there_are_left_to_spark(tmp_path: Path) -> None:
    (tmp_path / "_hidden.csv").write_text("ts,number,seconds\n", encoding="utf-8")
    (tmp_path / "bad.csv.gz").write_bytes(b"no gzip")
    for path in (str(tmp_path), str(tmp_path / "none.csv"), "s3a://bucket/calls.csv", None):
        check_header("csv", path, {}, COLUMNS)


def test_a_replay_in_python_is_checked_too(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path, "ts,number,seconds")
    schema = "ts timestamp, number string, seconds int"
    with pytest.raises(DroverError, match="Add the option header: true"):
        drover.replay(spark, path, time="ts", schema=schema)
    drover.replay(spark, path, time="ts", schema=schema, options={"header": "true"})

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from numpy.testing import assert_allclose

from drover.cli.whatif.traces import read_trace
from drover.cli.whatif.workload import RateTrace
from drover.errors import DroverError

SOURCES = ("east", "west")


def traces_in(path: Path) -> dict[str, tuple[list[float], list[float]]]:
    return {
        name: (trace.ends.tolist(), trace.values.tolist()) for name, trace in read_trace(str(path), SOURCES).items()
    }


def written(folder: Path, text: str) -> Path:
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "time,east,west\n5,1,2\n6,3,4\n8,5,6\n",
            {"east": ([1, 3, 5], [1, 3, 5]), "west": ([1, 3, 5], [2, 4, 6])},
            id="a column for each source",
        ),
        pytest.param("time,east\n0,1\n1,0.5\n", {"east": ([1, 2], [1, 0.5])}, id="not every source"),
        pytest.param("time,east\n7,3\n", {"east": ([1], [3])}, id="one line"),
        pytest.param(
            "time,stream,rate\n0,east,1\n0,west,2\n10,east,3\n",
            {"east": ([10, 20], [1, 3]), "west": ([20], [2])},
            id="a line for each change",
        ),
        pytest.param(
            "time,stream,rate\n0,east,1\n10,west,2\n",
            {"east": ([20], [1]), "west": ([10, 20], [0, 2])},
            id="silent until the first line",
        ),
        pytest.param(
            "time,east\n1995-08-01T00:00:00,1\n1995-08-01T00:01:30,2\n", {"east": ([90, 180], [1, 2])}, id="dates"
        ),
    ],
)
def test_both_shapes(text: str, found: dict[str, tuple[list[float], list[float]]], tmp_path: Path) -> None:
    path = written(tmp_path, text)
    assert traces_in(path) == found
    table = pl.read_csv(path, try_parse_dates=True)
    table.write_parquet(tmp_path / "t.parquet")
    assert traces_in(tmp_path / "t.parquet") == found


def test_packed_files(tmp_path: Path) -> None:
    import gzip  # noqa: PLC0415 - only here

    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"time,east\n0,1\n2,3\n"))
    assert traces_in(tmp_path / "t.csv.gz") == {"east": ([2, 4], [1, 3])}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "cannot be read", id="nothing"),
        pytest.param("t,east\n0,1\n", "has the columns t, east, but one must be time", id="no time"),
        pytest.param("time,east\n", "has no lines", id="no lines"),
        pytest.param(
            "time,est\n0,1\n", "has a column 'est', but the network has no such source. Did you", id="a source"
        ),
        pytest.param("time,stream,rate\n0,est,1\n", "has the stream 'est', but the network", id="a stream"),
        pytest.param("time,east\n0,x\n", "has 'x' as rate of east, but a rate is a number", id="a word"),
        pytest.param("time,east\n0,1\n1,-2\n", "has -2 as rate of east in line 3", id="a negative rate"),
        pytest.param("time,east\n0,1\n1,\n", "has none as rate of east in line 3", id="a gap"),
        pytest.param("time,east\n0,1\n1,inf\n", "has inf as rate of east in line 3", id="an infinite rate"),
        pytest.param("time,east\n0,1\n0,2\n", "has times that do not rise", id="a time twice"),
        pytest.param(
            "time,stream,rate\n0,east,1\n0,east,2\n", "has times of east that do not rise", id="and in a stream"
        ),
        pytest.param("time,east\n2,1\n0,2\n", "has times that do not rise", id="times that fall"),
        pytest.param("time,east\n,1\n2,1\n", "lacks time in line 2", id="a time missing"),
        pytest.param("time,east\nnoon,1\n", "has 'noon' as time, but it must be seconds", id="a word for a time"),
        pytest.param("time,east\ninf,1\n", "has a time that is not finite", id="an infinite time"),
    ],
)
def test_faults(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DroverError) as caught:
        read_trace(str(written(tmp_path, text)), SOURCES)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("t.txt", "a trace is one of .csv, .csv.gz, .parquet", id="another ending"),
        pytest.param("none.csv", "is not a file", id="not there"),
        pytest.param("folder.csv", "is not a file", id="a folder"),
        pytest.param("t.parquet", "cannot be read", id="no Parquet"),
        pytest.param("t.csv.gz", "cannot be read", id="broken"),
    ],
)
def test_files_that_are_not_traces(name: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for each in ("t.txt", "t.parquet", "t.csv.gz"):
        (tmp_path / each).write_bytes(b"\x1f\x8bPAR1 nothing of the kind")
    with pytest.raises(DroverError, match=says):
        read_trace(str(tmp_path / name), SOURCES)


def test_the_mean_of_a_trace_weighs_steps_by_their_length(tmp_path: Path) -> None:
    trace = read_trace(str(written(tmp_path, "time,east\n0,10\n1,40\n")), SOURCES)["east"]
    assert isinstance(trace, RateTrace)
    assert_allclose([trace.mean, trace.seconds, trace.total], [25.0, 2.0, 50.0])

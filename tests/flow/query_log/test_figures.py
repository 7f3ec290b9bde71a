"""Stored figures: the last ones replace those before, and damage is reported."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyarrow.fs import LocalFileSystem

from drover.errors import StateError
from drover.flow.query_log.figures import FIGURES, Figures, TopicRates, read_figures, write_figures
from drover.flow.query_log.files import pack

FS = LocalFileSystem()
QUERIES = pl.DataFrame([(3, 1.5, 0.5, 0.01, 7, 4096)], schema=FIGURES, orient="row")
SOME = Figures(9, 12.5, 1.25, {"readings": 100.0}, (0.5, 0.25), QUERIES)


def test_the_last_figures_are_read_back(tmp_path: Path) -> None:
    assert read_figures(FS, str(tmp_path)) is None
    write_figures(FS, str(tmp_path), replace(SOME, batch=1))
    write_figures(FS, str(tmp_path), SOME)
    found = read_figures(FS, str(tmp_path))
    assert found is not None
    assert_frame_equal(found.queries, QUERIES)
    assert replace(found, queries=QUERIES).sent == SOME.sent
    assert (found.batch, found.seconds, found.replication, found.busy) == (9, 12.5, 1.25, (0.5, 0.25))


def test_rates_of_topics_are_read_back_and_older_files_have_none(tmp_path: Path) -> None:
    by_site = TopicRates("readings", "`site`", pl.DataFrame({"value": ["a", None], "rate": [1.5, 0.0]}))
    by_number = TopicRates("readings", "`n`", pl.DataFrame({"value": [3], "rate": [2.5]}))
    write_figures(FS, str(tmp_path), replace(SOME, topics=(by_site, by_number)))
    found = read_figures(FS, str(tmp_path))
    assert found is not None
    assert [(one.stream, one.column) for one in found.topics] == [("readings", "`site`"), ("readings", "`n`")]
    for one, other in zip(found.topics, (by_site, by_number), strict=True):
        assert_frame_equal(one.table, other.table)
    older = {"batch": 1, "seconds": 1.0, "replication": 1.0, "sent": {}, "busy": []}
    (file,) = (tmp_path / "queries").iterdir()
    file.write_bytes(pack(older, [QUERIES]))
    found = read_figures(FS, str(tmp_path))
    assert found is not None
    assert found.topics == ()


HEAD = {"batch": 1, "seconds": 1.0, "replication": 1.0, "sent": {}, "busy": [], "topics": [["readings", "`site`"]]}
NEGATIVE = pl.DataFrame({"value": ["a"], "rate": [-1.0]})
ENDLESS = pl.DataFrame({"value": ["a"], "rate": [math.inf]})
UNKNOWN = pl.DataFrame({"value": ["a"], "rate": [None]}, schema_overrides={"rate": pl.Float64})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"nothing of the kind", "checksum", id="damaged"),
        pytest.param(pack({"batch": 1}, [QUERIES]), "seconds", id="a field missing"),
        pytest.param(pack({"batch": 1}, [QUERIES.drop("busy")]), "columns", id="a column missing"),
        pytest.param(pack(HEAD, [QUERIES]), "shorter", id="rates missing"),
        pytest.param(pack(HEAD, [QUERIES, NEGATIVE]), "negative rate of 'readings'", id="a negative rate"),
        pytest.param(pack(HEAD, [QUERIES, ENDLESS]), "rates of 'readings'", id="an infinite rate"),
        pytest.param(pack(HEAD, [QUERIES, UNKNOWN]), "rate of 'readings'", id="no rate"),
        pytest.param(pack(HEAD, [QUERIES, QUERIES]), "rate", id="other columns"),
    ],
)
def test_bad_figures_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    write_figures(FS, str(tmp_path), SOME)
    (file,) = (tmp_path / "queries").iterdir()
    file.write_bytes(content)
    with pytest.raises(StateError, match=said):
        read_figures(FS, str(tmp_path))

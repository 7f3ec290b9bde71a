"""What Spark's progress tells of rows that wait."""

from __future__ import annotations

from typing import Any

import pytest

from drover.spark.backlog import SourceWatch, backlog_of

KAFKA = {
    "description": "KafkaV2[Subscribe[clicks]]",
    "endOffset": {"clicks": {"0": 10, "1": 12}},
    "metrics": {"avgOffsetsBehindLatest": "15.5", "maxOffsetsBehindLatest": "20"},
}
RATE = {
    "description": "RateStreamV2[rowsPerSecond=100]",
    "endOffset": 7,
    "latestOffset": 9,
    "inputRowsPerSecond": 100.0,
}
FILES = {"description": "FileStreamSource[file:/in]", "endOffset": {"logOffset": 3}, "latestOffset": {"logOffset": 3}}


@pytest.mark.parametrize(
    ("sources", "rows"),
    [
        pytest.param([], -1.0, id="no source"),
        pytest.param([FILES], -1.0, id="files do not tell"),
        pytest.param([KAFKA], 31.0, id="Kafka, mean over two partitions"),
        pytest.param([RATE], 200.0, id="two seconds of a rate source"),
        pytest.param([{**RATE, "endOffset": "7", "latestOffset": "9"}], 200.0, id="offsets as text"),
        pytest.param([{**RATE, "latestOffset": None}], -1.0, id="a source without a latest offset"),
        pytest.param([{**FILES, "endOffset": "none"}], -1.0, id="an offset that is no JSON"),
        pytest.param([{"endOffset": 5, "latestOffset": 8}], 3.0, id="numbers of rows"),
        pytest.param([{"metrics": {"numRowsOutstanding": "4"}}], 4.0, id="a source that counts"),
        pytest.param([FILES, KAFKA], 31.0, id="one tells, one does not"),
    ],
)
def test_rows_that_wait(sources: list[dict[str, Any]], rows: float) -> None:
    assert backlog_of({"sources": sources}) == rows


def test_before_the_first_batch_nothing_is_known() -> None:
    assert backlog_of(None) == -1.0


@pytest.mark.parametrize(
    ("watermark", "lag"),
    [
        pytest.param(None, {}, id="none yet"),
        pytest.param(990_000_000, {"watermark_lag": 10.0}, id="ten seconds"),
        pytest.param(1_001_000_000, {}, id="in the future"),
    ],
)
def test_the_lag_of_a_watermark(watermark: int | None, lag: dict[str, float]) -> None:
    assert SourceWatch(watermark=watermark).lag(1000.0) == lag
    assert SourceWatch(watermark=watermark).lag(1e9) == {}, "the data is old"
    assert SourceWatch().backlog() == -1.0

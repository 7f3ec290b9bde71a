from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession

from drover.errors import DroverError
from drover.spark.replay import Reader, replay

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
SCHEMA = "ts timestamp, name string, value int"


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    """Eleven rows out of order, two of them at the same time."""
    seconds = [7, 3, 9, 0, 3, 5, 1, 8, 2, 6, 4]
    return spark.createDataFrame([(START + timedelta(seconds=s), f"n{i}", s) for i, s in enumerate(seconds)], SCHEMA)


def run_through(stream: DataFrame, checkpoint: Path, fail_at: int | None = None) -> dict[int, list[Row]]:
    """The rows of each batch, in order."""
    seen: dict[int, list[Row]] = {}

    def take(frame: DataFrame, batch: int) -> None:
        if batch == fail_at:
            raise RuntimeError("enough")
        seen[batch] = frame.orderBy("ts", "name").collect()

    writer = (
        stream.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    )
    query = writer.start()
    try:
        query.awaitTermination()
    except StreamingQueryException:
        assert fail_at is not None
    return seen


@pytest.mark.slow
def test_rows_come_once_and_in_order_in_as_many_batches_as_asked(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    seen = run_through(replay(spark, rows, time="ts", batches=4), tmp_path)
    assert [len(seen[batch]) for batch in sorted(seen)] == [2, 3, 3, 3]
    assert [row for batch in sorted(seen) for row in seen[batch]] == rows.orderBy("ts", "name").collect()


def test_a_restart_goes_on_with_the_next_row(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    before = run_through(replay(spark, rows, time="ts", batches=4), tmp_path, fail_at=2)
    after = run_through(replay(spark, rows.repartition(3), time="ts", batches=4), tmp_path)
    assert (sorted(before), sorted(after)) == ([0, 1], [2, 3])
    seen = before | after
    assert [row for batch in sorted(seen) for row in seen[batch]] == rows.orderBy("ts", "name").collect()


def test_a_file_is_replayed_by_its_schema(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("ts,name,value\n2024-05-01 12:00:01,b,2\n2024-05-01 12:00:00,a,1\n", encoding="utf-8")
    stream = replay(spark, path, time="ts", schema=SCHEMA, options={"header": "true"})
    (batch,) = run_through(stream, tmp_path / "checkpoint").values()
    assert [(row.name, row.value) for row in batch] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        pytest.param({"time": "name"}, "time is 'name', but must be a column of type timestamp", id="not a time"),
        pytest.param({"time": "when"}, "time is 'when', but must be a column of type timestamp", id="no such column"),
        pytest.param({"time": "ts", "speed": 0.0}, "speed is 0.0, but must be above 0", id="no speed"),
        pytest.param({"time": "ts", "batches": 0}, "batches is 0, but there must be at least one", id="no batches"),
    ],
)
def test_what_is_refused(spark: SparkSession, rows: DataFrame, options: dict[str, object], fault: str) -> None:
    with pytest.raises(DroverError, match=fault):
        replay(spark, rows, **options)  # type: ignore[arg-type]


def test_a_name_that_does_not_tell_its_format_is_refused(spark: SparkSession) -> None:
    with pytest.raises(DroverError, match=r"rows is 'rows.txt', but its name must end in one of .csv"):
        replay(spark, "rows.txt", time="ts")


class Clock:
    """A clock that stands still until it is moved."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


def test_the_pace_follows_the_clock_once_the_first_row_is_through(
    spark: SparkSession, rows: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("drover.spark.replay.clock", clock)
    reader = Reader(options_of(spark, rows, monkeypatch, speed=2.0))
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset({"row": 0}, limit) == {"row": 1}
    clock.now += 50.0  # the first batch takes its time, and nothing piles up
    assert reader.latestOffset({"row": 1}, limit) == {"row": 1}
    clock.now += 1.4  # 2.8 s of event time
    assert reader.latestOffset({"row": 1}, limit) == {"row": 3}
    clock.now += 0.1
    assert reader.latestOffset({"row": 3}, limit) == {"row": 5}
    clock.now += 60.0
    assert reader.latestOffset({"row": 5}, limit) == {"row": 11}
    assert reader.latestOffset({"row": 11}, limit) == {"row": 11}
    assert reader.partitions({"row": 11}, {"row": 11}) == []


def options_of(spark: SparkSession, rows: DataFrame, monkeypatch: pytest.MonkeyPatch, speed: float) -> dict[str, str]:
    """The options that `replay` would hand to its reader."""
    kept: dict[str, str] = {}
    reader = type(spark.readStream)
    real = reader.option

    def option(self: object, key: str, value: str) -> object:
        kept[key] = value
        return real(self, key, value)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "option", option)
    replay(spark, rows, time="ts", speed=speed)
    return kept

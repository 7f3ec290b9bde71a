"""Dead letters without a sink: the newest are kept in the checkpoint, within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drover.errors import StateError
from drover.spark.dead_letter_store import DeadLetterStore, read_dead_letters
from drover.spark.dead_letters import LETTER

NO_SPARK: Any = None  # this sink does not use it


def letters(*texts: str) -> pl.DataFrame:
    return pl.DataFrame([("s", "no time", text) for text in texts], schema=LETTER, orient="row")


def kept(root: Path, committed: int = 99) -> list[tuple[int, str]]:
    return read_dead_letters(str(root), committed).select("batch", "row").rows()


def test_letters_are_read_in_order_up_to_the_last_commit(tmp_path: Path) -> None:
    sink = DeadLetterStore(str(tmp_path))
    assert kept(tmp_path) == []
    sink.write(letters("c"), 7, NO_SPARK)
    sink.write(letters("a", "b"), 3, NO_SPARK)
    sink.write(letters("c"), 7, NO_SPARK)  # repeated
    assert kept(tmp_path) == [(3, "a"), (3, "b"), (7, "c")]
    assert kept(tmp_path, committed=6) == [(3, "a"), (3, "b")]


def test_the_oldest_go_first(tmp_path: Path) -> None:
    sink = DeadLetterStore(str(tmp_path), most_rows=3)
    for batch, texts in enumerate(["ab", "c", "d", "e"]):
        sink.write(letters(*texts), batch, NO_SPARK)
    assert kept(tmp_path) == [(1, "c"), (2, "d"), (3, "e")]
    sink.write(letters(*"fghij"), 4, NO_SPARK)
    assert kept(tmp_path) == [(4, "h"), (4, "i"), (4, "j")]


def test_long_rows_are_bounded_by_their_bytes(tmp_path: Path) -> None:
    sink = DeadLetterStore(str(tmp_path), most_bytes=6_000)
    sink.write(letters(*(f"{number}" * 1000 for number in range(5))), 0, NO_SPARK)
    assert [row[:1] for _, row in kept(tmp_path)] == ["2", "3", "4"]
    for batch in range(1, 20):
        sink.write(letters("x"), batch, NO_SPARK)
    assert sum(path.stat().st_size for path in (tmp_path / "dead_letters").iterdir()) <= 6_000


def test_a_damaged_file_is_named_and_other_files_are_left_alone(tmp_path: Path) -> None:
    DeadLetterStore(str(tmp_path), most_rows=1).write(letters("a"), 0, NO_SPARK)
    (tmp_path / "dead_letters" / "README").write_text("mine", encoding="utf-8")
    DeadLetterStore(str(tmp_path), most_rows=1).write(letters("b"), 1, NO_SPARK)
    assert sorted(path.name for path in (tmp_path / "dead_letters").iterdir()) == ["000000000001-1.parquet", "README"]
    (tmp_path / "dead_letters" / "000000000001-1.parquet").write_bytes(b"")
    with pytest.raises(StateError, match=r"000000000001-1.parquet: expected dead letters of a batch.*Delete this file"):
        kept(tmp_path)

"""Polars and Spark compute the same, bit for bit, whatever the table lets people write.

DROVER_EXPRESSION_BATCHES and DROVER_EXPRESSION_SEED widen the search beyond what every run does.
"""

from __future__ import annotations

import os
import random
from typing import Final

import pytest
from polars.testing import assert_series_equal
from pyspark.sql import SparkSession

from drover.network.expressions import parse, to_polars
from drover.network.expressions.casts import CASTS
from drover.network.expressions.functions import ROWS
from tests.network.expressions.engines import compare
from tests.network.expressions.frames import COLUMNS, TYPES, random_frame, random_layout
from tests.network.expressions.texts import Writer

BATCHES: Final = int(os.environ.get("DROVER_EXPRESSION_BATCHES", "14"))
SEED: Final = int(os.environ.get("DROVER_EXPRESSION_SEED", "1"))
PER_BATCH: Final = 160  # one Spark job each; 14 batches make 2,240 pairs
SIZES: Final = (24, 12, 0, 1, 40)  # rows


def batch(seed: int) -> tuple[list[str], set[str]]:
    """Return the texts of one batch and the names of the rows they use."""
    used: set[str] = set()
    writer = Writer(random.Random(seed), used)
    kinds = [TYPES[i % len(TYPES)] for i in range(PER_BATCH)]
    return [writer.text(kind, 1 + i % 4) for i, kind in enumerate(kinds)], used


@pytest.mark.parametrize("seed", range(SEED * 1_000_000, SEED * 1_000_000 + BATCHES))
def test_both_engines_agree(spark: SparkSession, seed: int) -> None:
    texts, _ = batch(seed)
    chance = random.Random(seed)
    frame = random_layout(chance, random_frame(chance, SIZES[seed % len(SIZES)]))
    wrong = compare(spark, frame, COLUMNS, texts)
    assert not wrong, "\n\n".join(map(str, wrong[:5]))


@pytest.mark.parametrize("seed", range(SEED * 1_000_000, SEED * 1_000_000 + BATCHES))
def test_lazy_and_eager_frames_give_the_same_result(seed: int) -> None:
    texts, _ = batch(seed)
    chance = random.Random(seed)
    frame = random_layout(chance, random_frame(chance, SIZES[seed % len(SIZES)]))
    for text in texts:
        column = to_polars(parse(text, COLUMNS)).alias("the result")
        eager = frame.with_columns(column)
        lazy = frame.lazy().with_columns(column).collect()
        assert_series_equal(lazy["the result"], eager["the result"], check_exact=True)


@pytest.mark.skipif(BATCHES < 10 or SEED != 1, reason="the default search must cover the table, others need not")
def test_every_function_and_cast_is_among_the_texts() -> None:
    used = set().union(*(batch(SEED * 1_000_000 + i)[1] for i in range(BATCHES)))
    wanted = {row.name for row in ROWS} | {f"cast {a.name} {b.name}" for a, b in CASTS}
    assert wanted - used == set()


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_the_meaning_does_not_depend_on_ansi_mode(spark: SparkSession, ansi: str) -> None:
    texts, _ = batch(7)
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        wrong = compare(spark, random_frame(random.Random(7), 24), COLUMNS, texts)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before or "true")
    assert not wrong, "\n\n".join(map(str, wrong[:5]))

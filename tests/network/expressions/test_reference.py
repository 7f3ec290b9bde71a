from __future__ import annotations

import os
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from drover.network.expressions import parse_aggregate
from drover.network.expressions.aggregates import AGGREGATES
from drover.network.expressions.examples import AGGREGATE_EXAMPLES, FUNCTION_EXAMPLES, OTHER_SPELLINGS
from drover.network.expressions.functions import FUNCTIONS
from drover.network.expressions.reference import FAMILIES, reference
from drover.network.expressions.words import CONSTANTS, RESERVED
from drover.network.types import BIGINT, DOUBLE
from tests.network.expressions import test_words
from tests.network.expressions.engines import compare

EXPRESSIONS = Path(__file__).parents[3] / "docs" / "reference" / "expressions.md"


def test_the_reference_is_up_to_date() -> None:
    """Run with DROVER_UPDATE=1 to write docs/reference/expressions.md again."""
    if os.environ.get("DROVER_UPDATE"):
        EXPRESSIONS.write_text(reference(), encoding="utf-8")
    assert EXPRESSIONS.read_text(encoding="utf-8") == reference()


def test_everything_has_an_example() -> None:
    assert [row.name for rows in FAMILIES.values() for row in rows] == list(FUNCTIONS)
    assert list(FUNCTION_EXAMPLES) == list(FUNCTIONS)
    assert list(AGGREGATE_EXAMPLES) == list(AGGREGATES)
    for name, text in AGGREGATE_EXAMPLES.items():
        assert parse_aggregate(text, {"price": DOUBLE}).function == name


def test_the_words_that_need_backticks_are_those_that_are_tested() -> None:
    assert sorted(test_words.RESERVED) == list(RESERVED)
    assert sorted(test_words.CONSTANTS) == list(CONSTANTS)


def test_examples_agree(spark: SparkSession) -> None:
    texts = [*FUNCTION_EXAMPLES.values(), *OTHER_SPELLINGS.values()]
    assert compare(spark, pl.DataFrame({"a": [1]}), {"a": BIGINT}, texts) == []

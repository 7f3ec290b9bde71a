"""Constants lifted out of random expressions: the text can be read again, and means the same."""

from __future__ import annotations

import random

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_series_equal

from drover.errors import ExpressionError
from drover.network.expressions import Expression, parse, parse_aggregate, to_polars
from drover.network.expressions.tree import Value
from drover.network.queries.lift import Lifter
from drover.network.queries.text import write, write_aggregate
from drover.network.types import BOOLEAN, DataType, arrow_type
from tests.network.expressions.frames import COLUMNS, TYPES, random_frame
from tests.network.expressions.texts import Writer

TEXTS = 300
DEPTH = 4


def random_texts(seed: int) -> list[str]:
    writer = Writer(random.Random(seed), set())
    kinds = [*TYPES, *[BOOLEAN] * len(TYPES)]  # half of all are conditions
    return [writer.text(writer.chance.choice(kinds), DEPTH) for _ in range(TEXTS)]


@pytest.mark.parametrize("seed", range(2))
def test_what_is_written_can_be_read(seed: int) -> None:
    written = 0
    for text in random_texts(seed):
        tree = parse(text, COLUMNS)
        try:
            again = parse(write(tree), COLUMNS)
        except ExpressionError:
            continue  # too long or too deep
        assert again == tree
        written += 1
    assert written > TEXTS * 0.9


@pytest.mark.parametrize("seed", range(2))
def test_what_is_lifted_means_the_same(seed: int) -> None:
    """A constant is a column like any other: no engine may see a difference."""
    chance = random.Random(seed)
    frame = random_frame(chance, 60)
    lifted = 0
    for text in random_texts(seed + 100):
        lifter = Lifter("c_")

        def read(one: str, lifter: Lifter = lifter) -> Expression:
            constants = {f"c_{index}": literal.type for index, literal in enumerate(lifter.found)}
            return parse(one, {**COLUMNS, **constants})

        changed = lifter.expression(text, read)
        if not lifter.found:
            assert changed == text
            continue
        lifted += 1
        constants = {
            f"c_{index}": _column(literal.value, literal.type, frame.height)
            for index, literal in enumerate(lifter.found)
        }
        wide = frame.with_columns(series.alias(name) for name, series in constants.items())
        # Polars may compute a text without columns once; as a column it is as long as the frame.
        before = frame.with_columns(to_polars(parse(text, COLUMNS)).alias("result"))["result"]
        after = wide.with_columns(to_polars(read(changed)).alias("result"))["result"]
        assert_series_equal(before, after, check_exact=True)
    assert lifted > TEXTS / 10


def _column(value: Value, kind: DataType, height: int) -> pl.Series:
    return pl.DataFrame(pa.table({"c": pa.array([value] * height, arrow_type(kind))}))["c"]


@pytest.mark.parametrize("text", ["count(*)", "sum(b + 1)", "count(DISTINCT a)", "first(x * 2)"])
def test_an_aggregate_that_is_written_can_be_read(text: str) -> None:
    types = {name: parse("1" if name != "x" else "1.5", {}).type for name in ("a", "b", "x")}
    aggregate = parse_aggregate(text, types)
    assert parse_aggregate(write_aggregate(aggregate), types) == aggregate

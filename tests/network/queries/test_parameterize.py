"""Random expressions with parameters for their constants mean the same."""

from __future__ import annotations

import random

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_series_equal

from drover.network.expressions import Expression, parse, to_polars
from drover.network.expressions.tree import Value
from drover.network.queries.parameterize import Parameterizer
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
def test_an_expression_with_parameters_means_the_same(seed: int) -> None:
    """A parameter is a column like any other, so no engine may see a difference."""
    chance = random.Random(seed)
    frame = random_frame(chance, 60)
    parameterized = 0
    for text in random_texts(seed + 100):
        parameters = Parameterizer("c_")

        def read(one: str, parameters: Parameterizer = parameters) -> Expression:
            constants = {f"c_{index}": literal.type for index, literal in enumerate(parameters.constants)}
            return parse(one, {**COLUMNS, **constants})

        changed = parameters.rewrite(text, read)
        if not parameters.constants:
            assert changed == text
            continue
        parameterized += 1
        constants = {
            f"c_{index}": _column(literal.value, literal.type, frame.height)
            for index, literal in enumerate(parameters.constants)
        }
        wide = frame.with_columns(series.alias(name) for name, series in constants.items())
        # Polars may compute a text without columns once; as a column it is as long as the frame.
        before = frame.with_columns(to_polars(parse(text, COLUMNS)).alias("result"))["result"]
        after = wide.with_columns(to_polars(read(changed)).alias("result"))["result"]
        assert_series_equal(before, after, check_exact=True)
    assert parameterized > TEXTS / 10


def _column(value: Value, kind: DataType, height: int) -> pl.Series:
    return pl.DataFrame(pa.table({"c": pa.array([value] * height, arrow_type(kind))}))["c"]

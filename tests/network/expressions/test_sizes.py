"""The size of what is compiled is known before it is compiled: each row states how often it copies an argument."""

from __future__ import annotations

from typing import Final

import pytest

from drover.network.expressions import parse, to_polars, to_spark
from drover.network.expressions.casts import CASTS
from drover.network.expressions.functions import FUNCTIONS
from drover.network.expressions.table import Constant
from drover.network.types import DataType
from tests.network.expressions.texts import SHAPES, Shape

ALL_SHAPES: Final = [shape for shapes in SHAPES.values() for shape in shapes]


def written(shape: Shape) -> tuple[str, dict[str, DataType]]:
    """Return the text of a call on columns that occur once each, and those columns."""
    texts = []
    columns = {}
    for i, data_type in enumerate(shape.types):
        parameter = shape.row.takes[min(i, len(shape.row.takes) - 1)]
        if isinstance(parameter, Constant):
            texts.append(parameter.samples[-1])
        else:
            columns[f"column{i}"] = data_type
            texts.append(f"column{i}")
    form = shape.row.form or f"{shape.row.name}({', '.join(f'{{{i}}}' for i in range(len(texts)))})"
    return form.format(*texts, rest=", ".join(texts[1:])), columns


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_row_copies_an_argument_more_often_than_it_says(name: str) -> None:
    for shape in ALL_SHAPES:
        if shape.row.name == name:
            text, columns = written(shape)
            tree = parse(text, columns)
            for column in columns:
                assert to_spark(tree).count(f"`{column}`") <= shape.row.copies, text
                assert str(to_polars(tree)).count(f'col("{column}")') <= shape.row.copies, text


def test_no_cast_copies_its_argument_more_often_than_it_says() -> None:
    for (source, target), cast in CASTS.items():
        tree = parse(f"CAST(x AS {target})", {"x": source})
        assert to_spark(tree).count("`x`") <= cast.copies
        assert str(to_polars(tree)).count('col("x")') <= cast.copies

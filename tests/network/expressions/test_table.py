"""The rows of the function table: what a parameter takes, and the type of a result.

What each row means is checked by test_agreement.py, how often it copies an argument by test_sizes.py.
"""

from __future__ import annotations

import pytest

from drover.network.expressions.functions import BY_NAME, FUNCTIONS, ROWS
from drover.network.expressions.table import (
    A_COUNT,
    A_DAY,
    A_NUMBER,
    ANYTHING,
    ORDERABLE,
    Constant,
    Parameter,
    first_type,
    last_type,
)
from drover.network.types import BIGINT, BINARY, DATE, DOUBLE, INT, STRING, TIMESTAMP_NTZ, DataType, decimal


@pytest.mark.parametrize(
    ("parameter", "data_type", "accepted"),
    [
        pytest.param(A_NUMBER, DOUBLE, True, id="a double is a number"),
        pytest.param(A_NUMBER, decimal(10, 2), False, id="a decimal is none"),
        pytest.param(A_COUNT, BIGINT, False, id="a bigint is no count"),
        pytest.param(A_DAY, TIMESTAMP_NTZ, True, id="a timestamp has a day"),
        pytest.param(A_DAY, STRING, False, id="a string has none"),
        pytest.param(ORDERABLE, decimal(38, 0), True, id="decimals of any size are ordered"),
        pytest.param(ORDERABLE, BINARY, False, id="bytes are not"),
        pytest.param(ANYTHING, BINARY, True, id="but they are values"),
    ],
)
def test_which_types_a_parameter_accepts(parameter: Parameter, data_type: DataType, accepted: bool) -> None:
    assert parameter.accepts(data_type) is accepted


def test_the_type_of_a_result() -> None:
    assert FUNCTIONS["length"].result([STRING]) == INT
    assert FUNCTIONS["+"].result([BIGINT, BIGINT]) == BIGINT
    assert FUNCTIONS["date_trunc"].result([STRING, TIMESTAMP_NTZ]) == TIMESTAMP_NTZ
    assert (first_type([INT, DATE]), last_type([INT, DATE])) == (INT, DATE)


def test_a_name_or_alias_belongs_to_one_row() -> None:
    names = [name for row in ROWS for name in (row.name, *row.aliases)]
    assert sorted(names) == sorted(BY_NAME)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_numbers_of_a_row_fit_together(name: str) -> None:
    row = FUNCTIONS[name]
    assert 0 <= row.optional < len(row.takes)
    assert row.copies >= 1
    assert not (row.repeats and row.optional)
    assert all(parameter.samples for parameter in row.takes if isinstance(parameter, Constant))

"""Bounds: what a filter compares, and keys that compare as values do."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.flow.families.bounds import find_bounds, order_keys
from drover.network.operators import Filter
from drover.network.queries import Query, Shapes
from tests.flow.families.test_shared_aggregates import NETWORK

NUMBERS = (-math.inf, -1e300, -1.5, -5e-324, 0.0, 5e-324, 1.5, 1e300, math.inf, math.nan)


@given(values=st.lists(st.sampled_from(range(len(NUMBERS))), min_size=2, max_size=2), descends=st.booleans())
def test_keys_of_floats_compare_as_in_spark(values: list[int], descends: bool) -> None:
    column = pl.Series([NUMBERS[value] for value in values])
    (one, other), known = order_keys(column, descends=descends)
    assert known.all()
    assert (one < other) == (values[0] > values[1] if descends else values[0] < values[1])
    assert (one == other) == (values[0] == values[1])


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2), descends=st.booleans())
def test_keys_of_whole_numbers_compare_as_they_do(values: list[int], descends: bool) -> None:
    one, other = order_keys(pl.Series(values, dtype=pl.Int64), descends=descends)[0].tolist()
    assert (one < other) == (values[0] > values[1] if descends else values[0] < values[1])


def test_the_two_zeros_are_equal_and_null_is_not_known() -> None:
    keys, known = order_keys(pl.Series([0.0, -0.0, None]))
    assert keys[0] == keys[1]
    assert known.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("where", "signs"),
    [
        pytest.param("x > 1.0", [">"], id="a bound"),
        pytest.param("1.0 >= x", ["<="], id="with the limit in front"),
        pytest.param("x > 1.0 AND 4 > abs(k)", [">", "<"], id="several bounds"),
        pytest.param("source = 'a'", [], id="a key alone"),
        pytest.param("x > 1.0 + 2.0", [">"], id="a limit that is computed"),
        pytest.param("x > 1.0 OR k > 2", None, id="one or the other"),
        pytest.param("x > 1.0 AND x > k * 2.5", None, id="a limit that depends on the row"),
        pytest.param("source > 'a'", None, id="texts"),
        pytest.param("x <> 1.0", None, id="another comparison"),
    ],
)
def test_a_condition_is_bounds_or_something_else(where: str, signs: list[str] | None) -> None:
    shape = Shapes(NETWORK).shape_of(Query("q", "t", (Filter(name="f", input="rows", where=where),), "f")).shape
    found = find_bounds(shape.steps[0], shape)
    assert (None if found is None else [bound.sign for bound in found]) == signs

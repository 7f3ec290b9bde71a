"""Which queries have the same shape, and what their constants are."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.errors import NetworkError
from drover.network.expressions.tree import Value
from drover.network.operators import Join, Named
from drover.network.queries import Query, Shapes, examine_query, shape_of
from tests.flow.families.queries import random_network, random_query, varied
from tests.network.queries.cases import NETWORK, filtering


@pytest.mark.parametrize(
    ("where", "constants"),
    [
        pytest.param("source = 'a'", ("a",), id="text"),
        pytest.param("k > 5", (5,), id="whole number"),
        pytest.param("k > -5", (-5,), id="a sign belongs to its number"),
        pytest.param("k > -2147483648", (-2147483648,), id="the least int is one"),
        pytest.param("big > -9223372036854775808", (-9223372036854775808,), id="the least bigint is one"),
        pytest.param("big > 5", (5,), id="a number is what it is compared with"),
        pytest.param("x > 5", (5.0,), id="a double from a whole number"),
        pytest.param("x BETWEEN 1 AND 2.5", (1.0, 2.5), id="between"),
        pytest.param("k + 1 BETWEEN 3 AND 4", (1, 3, 1, 4), id="one literal in two places"),
        pytest.param("source IN ('a', 'b')", ("a", "b"), id="a list"),
        pytest.param("k IN (1, NULL)", (), id="a list with NULL belongs to the shape"),
        pytest.param("k = NULL", (), id="so does NULL"),
        pytest.param("ok = TRUE", (), id="and the truth"),
        pytest.param("source LIKE 'a%'", (), id="and a pattern"),
        pytest.param("substring(source, 2, 3) = 'bc'", ("bc",), id="and a position"),
        pytest.param("ts > ts - INTERVAL '5' MINUTE", (), id="and an interval"),
        pytest.param("day = DATE '2024-02-29'", (dt.date(2024, 2, 29),), id="date"),
        pytest.param("pmod(k, 7) = 3", (3,), id="a divisor that must be written out"),
        pytest.param("tiny = CAST(100 AS TINYINT)", (100,), id="a cast literal"),
        pytest.param("CASE WHEN k > 1 THEN 5 ELSE 6 END = k", (1,), id="values that are chosen stay"),
    ],
)
def test_constants(where: str, constants: tuple[Value, ...]) -> None:
    assert shape_of(filtering(where), NETWORK).constants == constants


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("k > 5", "k > 7", True, id="other constants"),
        pytest.param("k > 5", "k  >  -7", True, id="other blanks, another sign"),
        pytest.param("k > 5", "(k > 5)", True, id="parentheses"),
        pytest.param("x > 5", "x > 5.5", True, id="what is a double anyway"),
        pytest.param("big > 5", "big > 5000000000", True, id="what is a bigint anyway"),
        pytest.param("k > 5", "k > 5.5", False, id="another type of constant"),
        pytest.param("k > 5", "k > 5000000000", False, id="a constant too large for an int"),
        pytest.param("k > 5", "k >= 5", False, id="another sign"),
        pytest.param("k > 5", "k > NULL", False, id="NULL"),
        pytest.param("source LIKE 'a%'", "source LIKE 'b%'", False, id="another pattern"),
        pytest.param("k IN (1, 2)", "k IN (1, 2, 3)", False, id="a longer list"),
    ],
)
@pytest.mark.parametrize("warm", [True, False])
def test_the_same_shape(one: str, other: str, same: bool, warm: bool) -> None:
    shapes = Shapes(NETWORK)
    first = shapes.shape_of(filtering(one))
    second = (shapes if warm else Shapes(NETWORK)).shape_of(filtering(other, "another"))
    assert (first.shape.id == second.shape.id) == same


@given(seed=st.integers(0, 10_000))
def test_a_template_gives_what_the_parser_gives(seed: int) -> None:
    rng = default_rng(seed)
    network = random_network(rng)
    query = random_query(rng, network, "q0")
    shapes = Shapes(network)
    shapes.shape_of(query)
    for number in range(3):
        other = varied(rng, query, f"q{number}")
        if examine_query(other, network):
            continue
        quick = shapes.shape_of(other)
        slow = shape_of(other, network)
        assert quick.shape.id == slow.shape.id
        assert [(type(value), value) for value in quick.constants] == [(type(value), value) for value in slow.constants]


def test_an_integer_zero_with_a_sign_is_not_minus_zero() -> None:
    shapes = Shapes(NETWORK)
    shapes.shape_of(filtering("x > -5"))
    assert str(shapes.shape_of(filtering("x > -0")).constants) == str(shape_of(filtering("x > -0"), NETWORK).constants)


def test_faulty_names_are_found_although_the_template_is_known() -> None:
    shapes = Shapes(NETWORK)
    shapes.shape_of(filtering("k > 1"))
    for query in (filtering("k > 1", name="events"), Query("q q", "t", filtering("k > 1").operators, "f")):
        with pytest.raises(NetworkError):
            shapes.shape_of(query)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"how": "left"}, "how", id="an outer join"),
        pytest.param({"spread": (2, 2)}, "spread", id="a spread join"),
    ],
)
def test_a_faulty_join_is_refused_after_a_valid_one_of_the_same_text(change: dict[str, object], field: str) -> None:
    shapes = Shapes(NETWORK)
    join = Join(name="j", left="s.hot", right="s.cold", left_window=1, right_window=1, select=(Named("y", "left.x"),))
    shapes.shape_of(Query("valid", "t", (join,), "j"))
    with pytest.raises(NetworkError, match=rf"operators\.j\.{field}"):
        shapes.shape_of(Query("faulty", "t", (replace(join, **change),), "j"))  # type: ignore[arg-type]  # any field

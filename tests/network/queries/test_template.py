"""Templates: which literals fill which constants, and which are fixed."""

from __future__ import annotations

import pytest

from drover.errors import NetworkError
from drover.network.expressions.tree import Value
from drover.network.model import late_streams
from drover.network.queries import Query
from drover.network.queries.parameterized import parameterize_query
from drover.network.queries.shape import make_shape
from drover.network.queries.template import Parameterized, Template, learn_template, normalize_query
from tests.network.queries.cases import NETWORK, filtering


def attempt(query: Query) -> Parameterized | None:
    try:
        return parameterize_query(query, NETWORK, late_streams(NETWORK))
    except NetworkError:
        return None


def template_of(where: str) -> Template:
    found = attempt(filtering(where))
    assert found is not None
    return learn_template(filtering(where), *found, make_shape(found[0]), attempt)


@pytest.mark.parametrize(
    ("learned", "filled", "constants"),
    [
        pytest.param("k > 5", "k > 7", (7,), id="a literal is a constant"),
        pytest.param("k > -5", "k > -7", (-7,), id="with its sign"),
        pytest.param("x > 5", "x > 7", (7.0,), id="as a double"),
        pytest.param("k + 1 BETWEEN 3 AND 4", "k + 2 BETWEEN 5 AND 6", (2, 5, 2, 6), id="in two places"),
    ],
)
def test_a_template_fills_constants(learned: str, filled: str, constants: tuple[Value, ...]) -> None:
    normalized = normalize_query(filtering(filled))
    assert normalized is not None
    found = template_of(learned).fill(normalized[1])
    assert [(type(one), one) for one in found] == [(type(one), one) for one in constants]


def test_a_literal_that_changes_the_shape_is_fixed() -> None:
    assert template_of("source LIKE 'a%' AND k > 5").fixed == (0,)


def test_normalized_queries_differ_in_settings_but_not_in_names_and_literals() -> None:
    one = normalize_query(filtering("k > 5", name="f"))
    other = normalize_query(filtering("k > 6", name="g"))
    another = normalize_query(filtering("k > 5", stream="s.hot"))
    assert one is not None
    assert other is not None
    assert another is not None
    assert one[0] == other[0]
    assert one[0] != another[0]

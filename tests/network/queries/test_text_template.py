"""Text templates: which hole of a skeleton fills which constant, and which belong to the key."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from drover.network.expressions.tree import Literal
from drover.network.queries import Shapes
from drover.network.queries.query import LONGEST_EXPRESSION
from drover.network.queries.skeletons import scan
from drover.network.queries.text_template import NO_LITERAL, SkeletonHoles, find_holes, learn_text_template
from tests.network.queries.cases import NETWORK
from tests.network.queries.texts import as_text, query_text

SHAPES = Shapes(NETWORK)


def skeleton_of(query: dict[str, Any]) -> tuple[str, list[str]]:
    found = scan(pl.Series([as_text(query)]))
    return found.skeletons[0], found.holes_of(0)


def holes_of(where: str) -> SkeletonHoles | None:
    return find_holes(*skeleton_of(query_text("q", where)), SHAPES)


@pytest.mark.parametrize(
    ("where", "literal", "key"),
    [
        pytest.param("k > 5", (NO_LITERAL, 0, NO_LITERAL), (2,), id="a constant, and the size of the window"),
        pytest.param("k + 1 > 1 and source = 'a'", (-1, 0, 1, 2, -1), (4,), id="equal literals"),
        pytest.param("source LIKE 'a' and k = 3", (-1, 0, 1, -1), (1, 3), id="a pattern is fixed"),
        pytest.param("repeat(source, 3) = 'a'", (-1, 0, 1, -1), (1, 3), id="a size is fixed"),
    ],
)
def test_holes_are_literals_or_part_of_the_key(where: str, literal: tuple[int, ...], key: tuple[int, ...]) -> None:
    found = holes_of(where)
    assert found is not None
    assert (found.literal, found.key, found.name, found.tenant) == (literal, key, 0, None)


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("nothing > 5", id="a query that is refused"),
        pytest.param("k >", id="not SQL"),
        pytest.param(" and ".join(["k > 5"] * 70), id="more literals than a template may have"),
    ],
)
def test_no_template(where: str) -> None:
    assert holes_of(where) is None


def test_a_query_without_a_name_has_no_template() -> None:
    assert find_holes(*skeleton_of({"operators": query_text("q", "k > 5")["operators"]}), SHAPES) is None


def test_constants_come_from_holes_or_are_always_the_same() -> None:
    skeleton, holes = skeleton_of(query_text("q", "x > -5 and k = CAST('7' AS INT) + 1"))
    found = find_holes(skeleton, holes, SHAPES)
    assert found is not None
    template = learn_text_template(skeleton, [holes[hole] for hole in found.key], found, SHAPES)
    assert template is not None
    shown = [one.value if isinstance(one, Literal) else (one[0], one[1](3)) for one in template.constants]
    assert shown[0] == (1, -3.0)
    assert template.room == LONGEST_EXPRESSION - len("x > -5 and k = CAST('7' AS INT) + 1")


def test_a_key_that_is_refused_has_no_template() -> None:
    skeleton, holes = skeleton_of(query_text("q", "k > 5"))
    found = find_holes(skeleton, holes, SHAPES)
    assert found is not None
    assert learn_text_template(skeleton, ["0"], found, SHAPES) is None
    assert learn_text_template(skeleton, ["7"], found, SHAPES) is not None

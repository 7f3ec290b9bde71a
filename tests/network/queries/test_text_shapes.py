"""Shapes of many texts at once are those that the parser finds one by one."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.errors import NetworkError
from drover.network.model import Network
from drover.network.queries import Query, Shapes
from drover.network.queries.notation import entries_of
from drover.network.queries.query import LONGEST_EXPRESSION
from drover.network.queries.read import read_entry, write_query
from drover.network.queries.text_shapes import TextShapes
from tests.flow.families.queries import random_network, random_query, varied
from tests.network.queries.cases import NETWORK
from tests.network.queries.texts import as_text, query_text, text_batches


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drover.network.queries.text_shapes.FEW", 2)
    monkeypatch.setattr("drover.network.queries.text_shapes.AT_A_TIME", 10)


def query_of(text: str) -> Query:
    found = read_entry(entries_of(text, ".jsonl")[0]).query
    assert found is not None
    return found


def check(texts: list[str], network: Network) -> int:
    """Compare the shapes of texts with those that the parser finds; return how many were found at once."""
    count = 0
    for found in TextShapes(Shapes(network)).shape_of(pl.Series(texts, dtype=pl.String)):
        rows = zip(*(one.to_pylist() for one in found.constants), strict=True) if found.constants else None
        constants = list(rows) if rows is not None else [()] * len(found.positions)
        for at, position in enumerate(found.positions.tolist()):
            query = query_of(texts[position])
            alone = Shapes(network).shape_of(query)
            assert (found.names[at], found.tenants[at]) == (query.name, query.tenant)
            assert found.shape.id == alone.shape.id
            assert repr(constants[at]) == repr(alone.constants)
            count += 1
    return count


@given(queries=text_batches())
def test_texts_at_once_are_texts_one_by_one(queries: list[dict[str, Any]]) -> None:
    check([as_text(query) for query in queries], NETWORK)


@given(seed=st.integers(0, 10_000))
def test_random_queries_at_once_are_those_one_by_one(seed: int) -> None:
    rng = default_rng(seed)
    network = random_network(rng)
    queries = [random_query(rng, network, f"p{number}") for number in range(2)]
    others = [varied(rng, queries[number % 2], f"q{number}") for number in range(12)]
    check([as_text(write_query(other)) for other in others], network)


def test_many_queries_are_found_at_once() -> None:
    texts = [as_text(query_text(f"q{n}", f"x > {n}.5 and source = 's{n}'", "5 s", n % 2 > 0)) for n in range(40)]
    assert check(texts, NETWORK) == 40


def test_a_refused_text_in_front_does_not_hide_the_others() -> None:
    texts = [as_text(query_text("a b", "k > 1")), *(as_text(query_text(f"q{n}", f"k > {n}")) for n in range(9))]
    assert check(texts, NETWORK) == 9


@pytest.mark.parametrize("more", [0, 1])
def test_an_expression_that_may_be_too_long_is_left_to_the_parser(more: int) -> None:
    longest = LONGEST_EXPRESSION - len("source = ''")
    texts = [as_text(query_text(f"q{n}", f"source = '{'x' * (longest + more if n == 5 else n)}'")) for n in range(9)]
    assert check(texts, NETWORK) <= 9 - more
    if more:
        with pytest.raises(NetworkError, match=f"at most {LONGEST_EXPRESSION} characters"):
            Shapes(NETWORK).shape_of(query_of(texts[5]))


def test_numbers_beyond_doubles_are_left_to_the_parser() -> None:
    texts = [as_text(query_text(f"q{n}", f"x > {'1e999' if n == 3 else '1e9'}")) for n in range(9)]
    assert check(texts, NETWORK) == 8

"""Normalized expressions: literals become placeholders with their types, and unclear texts are left to the parser."""

from __future__ import annotations

import pytest

from drover.network.expressions import parse
from drover.network.expressions.tree import Literal
from drover.network.queries.normalize import SAMPLES, normalize


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        pytest.param("k > 5", "k > #i", id="int"),
        pytest.param("k > 5000000000", "k > #l", id="bigint"),
        pytest.param("x > .5e3", "x > #d", id="double"),
        pytest.param("a = 'b c'", "a = #s", id="string"),
        pytest.param("day = DATE '2024-02-29'", "day = #D", id="date"),
        pytest.param("t > TIMESTAMP '2024-02-29 01:02:03'", "t > #T", id="timestamp"),
        pytest.param("`a 1` = k1", "`a 1` = k1", id="digits of a name are no literal"),
    ],
)
def test_literals_become_placeholders(text: str, normalized: str) -> None:
    found = normalize(text)
    assert found is not None
    assert found[0] == normalized
    # The literals put back give the text again.
    first, *others = normalized.split("#")
    assert first + "".join(literal + after[1:] for (literal, _), after in zip(found[1], others, strict=True)) == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a = 'it''s'", id="a quote in a string"),
        pytest.param("k > 5 -- five", id="a comment"),
        pytest.param("a = x'00'", id="a binary literal"),
        pytest.param("k > 10L", id="a suffix"),
        pytest.param("k > 2147483648", id="the edge of int"),
        pytest.param("x > 1e999", id="infinity"),
        pytest.param("day = DATE '2024-02-30'", id="no date"),
        pytest.param("a = 'ß'", id="not ASCII"),
    ],
)
def test_an_unclear_text_is_left_to_the_parser(text: str) -> None:
    assert normalize(text) is None


@pytest.mark.parametrize("letter", SAMPLES)
def test_samples_are_literals_of_their_type(letter: str) -> None:
    for text, value in SAMPLES[letter]:
        assert normalize(text) == (f"#{letter}", [(text, value)])
        tree = parse(text, {})
        assert isinstance(tree, Literal)
        assert type(tree.value) is type(value)

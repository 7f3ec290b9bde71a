from __future__ import annotations

import pytest

from drover.wording import count, plural


@pytest.mark.parametrize(
    ("number", "words"),
    [
        pytest.param(0, "0 faults", id="none"),
        pytest.param(1, "1 fault", id="one"),
        pytest.param(2, "2 faults", id="several"),
        pytest.param(12_345, "12,345 faults", id="thousands are separated"),
        pytest.param(0.9, "1 fault", id="the noun goes with the number that is shown"),
        pytest.param(1.4, "1 fault", id="a fraction is rounded"),
        pytest.param(1.6, "2 faults", id="a fraction is rounded up"),
    ],
)
def test_a_count_has_its_noun(number: float, words: str) -> None:
    assert count(number, "fault") == words


def test_an_irregular_plural_is_given() -> None:
    assert [count(number, "query", "queries") for number in (0, 1, 2)] == ["0 queries", "1 query", "2 queries"]
    assert [plural(number, "query", "queries") for number in (1, 2)] == ["query", "queries"]


def test_a_noun_alone() -> None:
    assert [plural(number, "node") for number in (0, 1, 2)] == ["nodes", "node", "nodes"]

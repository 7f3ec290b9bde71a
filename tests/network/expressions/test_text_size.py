"""How long texts can become: poison is refused, and what people write is not."""

from __future__ import annotations

import pytest

from drover.errors import ExpressionError
from drover.network.expressions import parse
from drover.network.expressions.text_size import MOST_FIXED, MOST_TIMES, TextSize
from drover.network.types import BIGINT, STRING

COLUMNS = {"s": STRING, "t": STRING, "n": BIGINT}


@pytest.mark.parametrize(
    ("text", "fixed", "times"),
    [
        pytest.param("s", 0, 1, id="a column"),
        pytest.param("'abc'", 3, 0, id="a literal"),
        pytest.param("concat(s, 'ab', t)", 2, 2, id="concat"),
        pytest.param("s || t || s", 0, 3, id="bars"),
        pytest.param("concat_ws('--', s, t, 'x')", 5, 2, id="with a separator"),
        pytest.param("repeat(concat(s, 'ab'), 100)", 200, 100, id="repeat"),
        pytest.param("repeat(s, -1)", 0, 0, id="repeat less than once"),
        pytest.param("lpad(repeat(s, 100), 7, 'x')", 7, 0, id="padding cuts"),
        pytest.param("rpad(s, 7)", 7, 0, id="padding on the right"),
        pytest.param("replace(s, 'ab', '12345')", 0, 3, id="a longer replacement"),
        pytest.param("replace(s, 'ab', '')", 0, 1, id="a shorter replacement"),
        pytest.param("replace(s, '', 'abc')", 0, 1, id="nothing is replaced"),
        pytest.param("CAST(n AS STRING)", 40, 0, id="a number as text"),
        pytest.param("CASE WHEN n > 0 THEN repeat(s, 9) ELSE 'abc' END", 40, 9, id="the longest branch"),
        pytest.param("upper(trim(substring(repeat(s, 3), 2)))", 40, 3, id="what only cuts"),
    ],
)
def test_bounds(text: str, fixed: int, times: int) -> None:
    assert parse(text, COLUMNS).text_size == TextSize(fixed, times)


def test_what_is_made_on_the_way_counts() -> None:
    assert parse("length(repeat(s, 500)) > 3", COLUMNS).largest_text.times == 500


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("repeat(repeat(s, 1000), 1000)", "at most 20,000 times, and this one 1,000,000", id="nested"),
        pytest.param("repeat(repeat('ab', 1000), 1000)", "at most 1,000,000 characters, and this one of", id="literal"),
        pytest.param("length(repeat(repeat(s, 5000), 5000)) > 0", "and this one 25,000,000 times", id="in a condition"),
        pytest.param("replace(repeat(s, 5000), 'a', 'bbbbb')", "and this one 25,000 times", id="replace"),
        pytest.param("concat(repeat(s, 9000), repeat(t, 9000), repeat(s, 9000))", "27,000 times", id="concat"),
    ],
)
def test_poison_is_refused(text: str, says: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, COLUMNS)
    assert says in str(caught.value)


@pytest.mark.parametrize("text", ["repeat(s, 10000)", "repeat(repeat(s, 100), 100)", "repeat('ab', 10000)"])
def test_what_stays_within_the_limits_is_accepted(text: str) -> None:
    found = parse(text, COLUMNS).largest_text
    assert found.fixed <= MOST_FIXED
    assert found.times <= MOST_TIMES

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given

from drover.errors import ExpressionError
from drover.network.durations import LONGEST, SYNONYMS, UNITS, format_duration, parse_duration
from tests.strategies import durations


@given(durations())
def test_a_length_of_time_is_read_as_it_is_printed(micros: int) -> None:
    assert parse_duration(format_duration(micros)) == micros
    assert parse_duration(timedelta(microseconds=micros)) == micros


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        pytest.param("0", 0, id="nothing needs no unit"),
        pytest.param("10 s", 10_000_000, id="a number and a unit"),
        pytest.param("10s", 10_000_000, id="with no blank between"),
        pytest.param(" 5 Minutes ", 300_000_000, id="in any case, with blanks around"),
        pytest.param("1 h 30 min", 5_400_000_000, id="several units"),
        pytest.param("1h30min", 5_400_000_000, id="close together"),
        pytest.param("36525 d", LONGEST, id="a hundred years"),
    ],
)
def test_lengths_of_time_as_people_write_them(text: str, micros: int) -> None:
    assert parse_duration(text) == micros


@pytest.mark.parametrize(("unit", "word"), [(unit, word) for unit, words in SYNONYMS.items() for word in words])
def test_every_word_for_a_unit(unit: str, word: str) -> None:
    assert parse_duration(f"2 {word}") == 2 * UNITS[unit]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        pytest.param("10", "this is not a length of time", id="a number without a unit"),
        pytest.param("", "this is not a length of time", id="nothing at all"),
        pytest.param("s", "this is not a length of time", id="a unit without a number"),
        pytest.param("1.5 s", "this is not a length of time", id="a fraction"),
        pytest.param("-1 s", "this is not a length of time", id="a negative number"),
        pytest.param("1 s and more", "this is not a length of time", id="words behind it"),
        pytest.param("1 month", "'month' is not a unit of time", id="a month has no fixed length"),
        pytest.param("2 years", "'years' is not a unit of time", id="nor has a year"),
        pytest.param("36526 d", "between 0 and 100 years", id="more than a hundred years"),
        pytest.param(timedelta(seconds=-1), "between 0 and 100 years", id="a negative time difference"),
        pytest.param("9" * 19 + " us", "this is not a length of time", id="a number of nineteen digits"),
    ],
)
def test_texts_that_are_not_lengths_of_time(value: str | timedelta, says: str) -> None:
    with pytest.raises(ExpressionError, match=says) as refused:
        parse_duration(value)
    assert "for example 10 s" in str(refused.value)


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "0 s"),
        (1, "1 us"),
        (90_000_000, "1 min 30 s"),
        (86_400_000_001, "1 d 1 us"),
        (-1_500_000, "-1 s 500 ms"),
    ],
)
def test_lengths_of_time_are_printed_in_the_longest_units(micros: int, text: str) -> None:
    assert format_duration(micros) == text

"""LIKE: patterns as both engines get them; the ids read as the specification."""

from __future__ import annotations

from typing import Final

import pytest
from pyspark.sql import SparkSession

from drover.network.expressions.like import (
    MAX_PATTERN,
    like_to_regex,
    like_to_spark,
    readable_pattern,
    with_backslash,
)
from tests.network.expressions.one_row import Case, check_in_polars, check_in_spark, listed

CASES: Final[tuple[Case, ...]] = (
    ("s LIKE 'a_b'", True, "_ is one code point"),
    ("'a\\nb' LIKE 'a%'", True, "% matches newlines"),
    ("'50%' LIKE '50\\\\%'", True, "a backslash makes % itself"),
    ("'50x' LIKE '50\\%'", False, "once or twice"),
    ("'a_c' LIKE 'a/_c' ESCAPE '/'", True, "ESCAPE names another sign"),
    ("'abc' LIKE 'a/_c' ESCAPE '/'", False, "which works"),
    ("'a.c' LIKE 'a.c' AND NOT 'abc' LIKE 'a.c'", True, "a point is a point"),
)


@pytest.mark.parametrize(("text", "expected"), listed(CASES))
def test_meaning_in_polars(text: str, expected: object) -> None:
    check_in_polars(text, expected)


def test_meaning_in_spark(spark: SparkSession) -> None:
    check_in_spark(spark, CASES)


@pytest.mark.parametrize(
    ("pattern", "regex", "spark"),
    [
        pytest.param("a%", r"(?s)\Aa.*\z", "'a%'", id="any text"),
        pytest.param("_b", r"(?s)\A.b\z", "'_b'", id="one character"),
        pytest.param("%%%", r"(?s)\A.*\z", "'%'", id="%% is %"),
        pytest.param(r"\%", r"(?s)\A\x{25}\z", "CAST(X'5C25' AS STRING)", id="an escaped sign"),
        pytest.param("a.c", r"(?s)\Aa\x{2E}c\z", "'a.c'", id="a sign of regular expressions"),
        pytest.param("", r"(?s)\A\z", "''", id="nothing"),
    ],
)
def test_a_pattern_in_either_engine(pattern: str, regex: str, spark: str) -> None:
    assert like_to_regex(pattern) == regex
    assert like_to_spark(pattern) == spark


@pytest.mark.parametrize(
    ("value", "readable"),
    [
        pytest.param("a%_", True, id="wildcards"),
        pytest.param("\\\\", True, id="an escaped backslash"),
        pytest.param("\\a", False, id="a backslash before a letter"),
        pytest.param("a\\", False, id="a backslash at the end"),
        pytest.param("a" * MAX_PATTERN, True, id="as long as allowed"),
        pytest.param("a" * (MAX_PATTERN + 1), False, id="too long"),
        pytest.param(None, False, id="NULL"),
    ],
)
def test_patterns_that_are_accepted(value: str | None, readable: bool) -> None:
    assert readable_pattern(value) is readable


@pytest.mark.parametrize(
    ("pattern", "escape", "expected"),
    [
        pytest.param("10/%", "/", r"10\%", id="another sign becomes a backslash"),
        pytest.param("a//b", "/", "a/b", id="the sign itself, written twice"),
        pytest.param("a\\b", "/", r"a\\b", id="a backslash is a letter then"),
        pytest.param("a/b", "/", None, id="the sign escapes nothing else"),
        pytest.param("a/", "/", None, id="nor the end"),
    ],
)
def test_another_escape_character(pattern: str, escape: str, expected: str | None) -> None:
    assert with_backslash(pattern, escape) == expected

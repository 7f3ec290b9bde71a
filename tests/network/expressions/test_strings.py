"""Strings, which are code points; the ids read as the specification."""

from __future__ import annotations

from typing import Final

import pytest
from pyspark.sql import SparkSession

from tests.network.expressions.one_row import Case, check_in_polars, check_in_spark, listed

CASES: Final[tuple[Case, ...]] = (
    ("concat(s, lost)", None, "concat with NULL is NULL"),
    ("concat_ws('-', 'x', lost, 'y')", "x-y", "concat_ws skips NULL"),
    ("length(lost)", None, "functions of NULL are NULL"),
    ("length(s)", 3, "length counts code points"),
    ("octet_length(s)", 6, "octet_length counts bytes"),
    ("substring(s, 2, 1)", "😀", "substring counts code points from 1"),
    ("substring(s, 0, 2)", "a😀", "0 means 1"),
    ("substring(s, -2)", "😀b", "negative positions count from the end"),
    ("substring('abc', -5, 3)", "a", "a start before the text uses up the length"),
    ("substring('abc', 5)", "", "a start behind the text gives nothing"),
    ("substring('abc', 1, -1)", "", "neither does a negative length"),
    ("left(s, 2)", "a😀", "left"),
    ("right(s, 9)", "a😀b", "right of more than there is"),
    ("right(s, -1)", "", "right of nothing"),
    ("upper('straße')", "STRASSE", "upper may lengthen"),
    ("lower('ΟΔΟΣ')", "οδοσ", "lower never makes a final sigma"),
    ("trim('  a\\n ')", "a\n", "trim removes spaces only"),
    ("reverse('e\u0301x')", "x\u0301e", "reverse turns code points"),
    ("lpad('abc', 2, 'x')", "ab", "lpad cuts"),
    ("lpad('a', 4, 'xy')", "xyxa", "lpad repeats its pad"),
    ("rpad('a', 3)", "a  ", "rpad takes a space by default"),
    ("instr(s, 'b')", 3, "instr counts code points"),
    ("locate('z', s)", 0, "0 if it is not there"),
    ("position('' IN s)", 1, "nothing is at the beginning"),
    ("replace('a$1a', 'a', '$0')", "$0$1$0", "replace knows no groups"),
    ("replace(s, '', 'x')", "a😀b", "replacing nothing changes nothing"),
    ("split_part('a,b', ',', -1)", "b", "parts count from the end too"),
    ("split_part('a,b', ',', 3)", "", "a part that is not there is empty"),
)


@pytest.mark.parametrize(("text", "expected"), listed(CASES))
def test_meaning_in_polars(text: str, expected: object) -> None:
    check_in_polars(text, expected)


def test_meaning_in_spark(spark: SparkSession) -> None:
    check_in_spark(spark, CASES)

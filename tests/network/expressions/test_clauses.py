"""Clauses with a syntax of their own mean calls of the table: a clause and its plain form give the same tree."""

from __future__ import annotations

from typing import Final

import pytest

from drover.network.expressions import parse
from drover.network.types import DataType
from tests.network.expressions import refusals
from tests.network.expressions.refusals import COLUMNS, Refusal

REFUSALS: Final[tuple[Refusal, ...]] = (
    ("price AS p", "not a type to cast to", "Known: "),
    ("CAST(price AS ARRAY<INT>)", "not a type to cast to", "Known: "),
    ("CAST(price AS VARCHAR(5))", "'VARCHAR' is not a type to cast to", "Known: "),
    ("at + INTERVAL '1' MONTH", "an interval is a whole number of", "INTERVAL '5' MINUTE"),
    ("EXTRACT(SECOND FROM at)", "EXTRACT takes", "second.x."),
    ("count IS 1", "IS goes with NULL, TRUE, FALSE", "Write ="),
    ("name LIKE 'a' ESCAPE 'ab'", "ESCAPE follows LIKE and names one character", "ESCAPE '/'"),
    ("name LIKE 'a/b' ESCAPE '/'", "'/' escapes only %, _ and itself", "Write it twice"),
    ("INT '5'", "there is no literal int 'text'", "CAST.'text' AS int."),
    ("at + INTERVAL '1.5' DAY", "an interval is a whole number of", "INTERVAL '5' MINUTE"),
)


@pytest.mark.parametrize(("text", "rule", "way_out"), refusals.listed(REFUSALS))
def test_refusal(text: str, rule: str, way_out: str) -> None:
    refusals.check_refusal(text, rule, way_out)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        pytest.param("count BETWEEN 1 AND 2", "count >= 1 AND count <= 2", id="BETWEEN"),
        pytest.param("count NOT BETWEEN 1 AND 2", "NOT (count >= 1 AND count <= 2)", id="NOT BETWEEN"),
        pytest.param("count IS NULL", "isnull(count)", id="IS NULL"),
        pytest.param("count IS NOT NULL", "isnotnull(count)", id="IS NOT NULL"),
        pytest.param("ok IS TRUE", "ok <=> TRUE", id="IS TRUE"),
        pytest.param("ok IS NOT TRUE", "NOT (ok <=> TRUE)", id="IS NOT TRUE"),
        pytest.param("CASE count WHEN 1 THEN 2 END", "CASE WHEN count = 1 THEN 2 ELSE NULL END", id="CASE x WHEN"),
        pytest.param("if(ok, 1, 2) = 1", "if(ok, 1, 2) == 1", id="=="),
        pytest.param("name LIKE 'a/%' ESCAPE '/'", r"name LIKE 'a\\%'", id="ESCAPE"),
        pytest.param("name NOT LIKE 'a'", "NOT (name LIKE 'a')", id="NOT LIKE"),
        pytest.param("name NOT LIKE 'a/%' ESCAPE '/'", "NOT (name LIKE 'a/%' ESCAPE '/')", id="NOT LIKE with ESCAPE"),
        pytest.param("count::double", "CAST(count AS DOUBLE)", id="::"),
        pytest.param("TRY_CAST(count AS DOUBLE)", "CAST(count AS DOUBLE)", id="TRY_CAST"),
        pytest.param("EXTRACT(DOW FROM at)", "dayofweek(at)", id="EXTRACT"),
        pytest.param("position('a' IN name)", "locate('a', name)", id="position"),
        pytest.param("at - INTERVAL '2' HOURS", "at + INTERVAL '-120' MINUTE", id="intervals"),
        pytest.param("INTERVAL 1 WEEK + at", "at + INTERVAL '7' DAY", id="an interval first"),
    ],
)
def test_a_clause_and_its_plain_form(text: str, same: str) -> None:
    assert parse(text, COLUMNS) == parse(same, COLUMNS)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("TINYINT", "tinyint"),
        ("INTEGER", "int"),
        ("LONG", "bigint"),
        ("STRING", "string"),
        ("TIMESTAMP_LTZ", "timestamp"),
        ("TIMESTAMP_NTZ", "timestamp_ntz"),
    ],
)
def test_the_type_that_a_cast_names(target: str, expected: str) -> None:
    source = {"tinyint": "count", "timestamp": "day", "timestamp_ntz": "day"}.get(expected, "ok")
    found: DataType = parse(f"CAST({source} AS {target})", COLUMNS).type
    assert str(found) == expected

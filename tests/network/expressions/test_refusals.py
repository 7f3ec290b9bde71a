"""What is refused, with the text of each refusal: the rule, and the way out."""

from __future__ import annotations

from typing import Final

import pytest

from drover.errors import ExpressionError
from drover.network.expressions import (
    Column,
    parse,
    parse_pair,
    parse_pair_predicate,
    parse_predicate,
    to_polars,
    to_spark,
)
from drover.network.types import BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType, decimal

COLUMNS: Final[dict[str, DataType]] = {
    "price": DOUBLE, "count": INT, "name": STRING, "day": DATE, "at": TIMESTAMP, "m": decimal(10, 2), "ok": BOOLEAN,
    "raw": BINARY,
}  # fmt: skip

REFUSALS: Final = [
    ("pirce > 1", "no column 'pirce'", "Did you mean price. Known: price, count"),
    ("PRICE > 1", "no column 'PRICE'", "Known: price"),
    ("left.price", "no input 'left' here", "Write no prefix"),
    ("lenght(name)", "no function 'lenght'", "Did you mean length?"),
    ("exp(price)", "last digit differs between engines", "sqrt"),
    ("now()", "function of its row", "Put the value into a column"),
    ("current_timestamp", "function of its row", "Put the value into a column"),
    ("rand()", "function of its row", "Put the value into a column"),
    ("name RLIKE 'a+'", "regular expressions differ", "Write LIKE"),
    ("sum(price)", "an aggregate is not a function of one row", "where the network has an aggregate"),
    ("count(*)", "an aggregate is not a function of one row", "where the network has an aggregate"),
    ("row_number() OVER (ORDER BY price)", "no window function", "windowed aggregate"),
    ("(SELECT 1)", "no subquery", "Join the other stream"),
    ("price IN (SELECT 1)", "no subquery", "Join the other stream"),
    ("price; price", "';' has no meaning", "backticks"),
    ("@price", "'@' has no meaning", "backticks"),
    (":price", "':' has no meaning", "backticks"),
    ("x -> x", "'->' has no meaning", "backticks"),
    ("price -- note", "no comments and no hints", "Remove"),
    ("/*+ hint */ price", "no comments and no hints", "Remove"),
    ("price AS p", "no type to cast to", "Known: "),
    ("price p", "no SQL expression .at 'p'.", "missing operator"),
    ("", "exactly one expression", "Write one"),
    ("price = 'a'", "double and string do not mix", "Write CAST"),
    ("at > '2024-01-01'", "string and timestamp do not mix", "Write CAST"),
    ("day = at", "date and timestamp do not mix", "Write CAST"),
    ("ok = 1", "boolean and int do not mix", "Write CAST"),
    ("m + 1", "decimal.10,2. and int do not mix", "CAST.x AS DOUBLE. for the decimal"),
    ("m + m", "argument 1 of . must be a number, not a decimal", "CAST.x AS DOUBLE."),
    ("m = 1.5", "decimal.10,2. and double do not mix", "CAST.x AS DOUBLE."),
    ("CAST(price AS STRING)", "the digits of a printed double differ", "Cast to bigint"),
    ("CAST(at AS BIGINT)", "a timestamp is no number", "unix_micros"),
    ("CAST(count AS TIMESTAMP)", "a number is no timestamp", "timestamp_seconds"),
    ("CAST(price AS DECIMAL(10,2))", "engines round decimals differently", "Cast to double"),
    ("CAST(price AS ARRAY<INT>)", "no type to cast to", "Known: "),
    ("CAST(price AS VARCHAR(5))", "'VARCHAR' is no type to cast to", "Known: "),
    ("raw = raw", "must be a number, string", "another column"),
    ("at - at", "difference of two times", "unix_micros.a. - unix_micros.b."),
    ("at + INTERVAL '1' MONTH", "an interval is a whole number of", "INTERVAL '5' MINUTE"),
    ("INTERVAL '1' DAY", "only added to a timestamp", "INTERVAL '5' MINUTE"),
    ("EXTRACT(SECOND FROM at)", "EXTRACT takes", "second.x."),
    ("name LIKE name", "written out", "Write the value itself"),
    ("name LIKE 'a\\\\b'", "stands only before % _", "Write such a value"),
    ("price IN (count)", "must be a literal", "Write the value itself"),
    ("repeat(name, 100000)", "up to 10000", "Write such a value"),
    ("round(price, 2)", "round takes 1 argument, not 2", "floor.x . 100"),
    ("pmod(count, -1)", "above 0", "Write such a value"),
    ("date_format(at, 'EEE')", "made of yyyy MM dd HH mm ss", "Write such a value"),
    ("date_trunc('century', at)", "one of second, minute", "Write such a value"),
    ("count = 1 = ok", "unclear which operator comes first", "parentheses"),
    ("count | 1 & 2", "unclear which operator comes first", "parentheses"),
    ("99999999999999999999", "must fit into a bigint", "double"),
    ("1e999", "largest double", "Infinity"),
    ("DATE '2023-02-29'", "a date is written yyyy-MM-dd", "DATE '2024-02-29'"),
    ("TIMESTAMP 'noon'", "a timestamp is written", "TIMESTAMP '2024-02-29"),
    ("NULL", "this NULL has no type", "CAST.NULL AS INT."),
    ("coalesce(NULL, NULL)", "this NULL has no type", "CAST.NULL AS INT."),
    ("'it''s'", "two strings stand side by side", "Write ||"),
    (r"'\x'", "backslash in a string is not understood", "Write the character itself"),
    ("x'00'", "'00' has no meaning", "backticks"),
    ("-'5'", "argument 1 of negative must be a number, not a string", "Write a CAST"),
    ("(price, count)", "a list of values is no value", "Remove"),
    ("if(count, 1, 2)", "must be a boolean, not an int", "Write a CAST"),
    ("x" * 20_001, "at most 20000 characters", "two operators"),
    ("(" * 200 + "price" + ")" * 200, "nests at most 100 levels", "operator before this one"),
]


@pytest.mark.parametrize(("text", "rule", "way_out"), [pytest.param(*case, id=case[0][:40]) for case in REFUSALS])
def test_refusal(text: str, rule: str, way_out: str) -> None:
    with pytest.raises(ExpressionError, match=rule) as caught:
        parse(text, COLUMNS)
    assert caught.match(way_out.replace("||", r"\|\|"))


def test_a_condition_must_be_a_boolean() -> None:
    assert parse_predicate("price > 1", COLUMNS).type == BOOLEAN
    with pytest.raises(ExpressionError, match=r"a condition must be a boolean, not a double\. Write a comparison"):
        parse_predicate("price", COLUMNS)
    with pytest.raises(ExpressionError, match=r"must be a boolean, not an int"):
        parse_pair_predicate("left.a + right.a", {"a": INT}, {"a": INT})


def test_a_pair_names_its_sides() -> None:
    left, right = {"a": INT, "k": INT}, {"b": INT, "k": INT}
    tree = parse_pair("left.k = right.k AND a < b", left, right)
    assert tree.columns == {("left", "k"), ("right", "k"), ("left", "a"), ("right", "b")}
    assert to_spark(tree) == "((`left`.`k` = `right`.`k`) AND (`left`.`a` < `right`.`b`))"
    assert set(to_polars(tree).meta.root_names()) == {"left.k", "right.k", "left.a", "right.b"}
    assert to_polars(parse_pair("a", left, right), lambda side, name: f"{side[0]}_{name}").meta.root_names() == ["l_a"]
    assert parse_pair("a", left, right) == Column(INT, "a", "left")
    with pytest.raises(ExpressionError, match=r"both inputs have a column 'k'\. Write left\.k or right\.k"):
        parse_pair("k = 1", left, right)
    with pytest.raises(ExpressionError, match=r"no column 'z'\. Known: left\.a, left\.k, right\.b, right\.k"):
        parse_pair("z = 1", left, right)

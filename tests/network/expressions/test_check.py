"""Types: how arguments are brought to the types a function takes, and what is refused with which way out."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Final

import pytest

from drover.errors import ExpressionError
from drover.network.expressions import Call, Literal, parse
from drover.network.expressions.casts import find_cast
from drover.network.expressions.check import MAX_DEPTH, article, cast, decimal_hint, require_boolean
from drover.network.expressions.tree import UNTYPED
from drover.network.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    SIMPLE,
    SMALLINT,
    STRING,
    TINYINT,
    DataType,
    decimal,
)
from tests.network.expressions import refusals
from tests.network.expressions.refusals import Refusal

REFUSALS: Final[tuple[Refusal, ...]] = (
    ("price = 'a'", "double and string do not mix", "Write CAST"),
    ("at > '2024-01-01'", "string and timestamp do not mix", "Write TIMESTAMP before the quotes"),
    ("day = at", "date and timestamp do not mix", "Write CAST"),
    ("ok = 1", "boolean and int do not mix", "Write CAST"),
    ("m + 1", "decimal.10,2. and int do not mix", "CAST.x AS DOUBLE. for the decimal"),
    ("m + m", "argument 1 of . must be a number, not a decimal", "CAST.x AS DOUBLE."),
    ("m = 1.5", "decimal.10,2. and double do not mix", "CAST.x AS DOUBLE."),
    ("raw = raw", "must be a number, string", "another column"),
    ("name LIKE name", "written out", "Write the value itself"),
    ("name LIKE 'a\\\\b'", "stands only before % _", "Write such a value"),
    ("price IN (count)", "must be a literal", "Write the value itself"),
    ("repeat(name, 100000)", "up to 10000", "Write such a value"),
    ("round(price, 2)", "round takes 1 argument, not 2", "floor.x . 100"),
    ("pmod(count, -1)", "above 0", "Write such a value"),
    ("date_format(at, 'EEE')", "made of yyyy MM dd HH mm ss", "Write such a value"),
    ("date_trunc('century', at)", "one of second, minute", "Write such a value"),
    ("NULL", "this NULL has no type", "CAST.NULL AS INT."),
    ("coalesce(NULL, NULL)", "this NULL has no type", "CAST.NULL AS INT."),
    ("-'5'", "argument 1 of negative must be a number, not a string", "Write a CAST"),
    ("if(count, 1, 2)", "must be a boolean, not an int", "Write a CAST"),
)


@pytest.mark.parametrize(("text", "rule", "way_out"), refusals.listed(REFUSALS))
def test_refusal(text: str, rule: str, way_out: str) -> None:
    refusals.check_refusal(text, rule, way_out)


ALL_TYPES: Final = tuple(dict.fromkeys([*SIMPLE.values(), decimal(10, 2), decimal(5, 1)]))
ADVICE: Final = re.compile(r"Write (\w+\()x(.*?\))(?:,.*| or.*)? for the (\w+(?:\(\d+,\d+\))?)")


def way_out_of(text: str, columns: dict[str, DataType]) -> str | None:
    """Return the advice of a refusal; None if the text is accepted."""
    try:
        parse(text, columns)
    except ExpressionError as refused:
        return refused.way_out
    return None


@pytest.mark.parametrize(("first", "second"), [*combinations(ALL_TYPES, 2)], ids=str)
def test_who_takes_the_advice_on_types_that_do_not_mix_is_not_refused_again(first: DataType, second: DataType) -> None:
    columns = {"a": first, "b": second}
    way_out = way_out_of("a = b", columns)
    advice = ADVICE.search(way_out or "")
    if advice is not None:
        whose = [name for name, kind in columns.items() if advice[3] in (str(kind), kind.name)]
        sides = [f"{advice[1]}{name}{advice[2]}" if name in whose else name for name in columns]
        assert way_out_of(" = ".join(sides), columns) is None
    elif way_out is not None:
        assert way_out == "There is no cast from one to the other: use a column of another type."
        assert all(find_cast(*pair) is None for pair in ((first, second), (second, first)))


def test_three_types_that_do_not_mix() -> None:
    with pytest.raises(ExpressionError, match="Write a CAST for each that has another type"):
        parse("coalesce(ok, b, name)", TYPES)


TYPES: Final[dict[str, DataType]] = {
    "t": TINYINT,
    "s": SMALLINT,
    "i": INT,
    "b": BIGINT,
    "f": FLOAT,
    "d": DOUBLE,
    "ok": BOOLEAN,
    "name": STRING,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("t + t", TINYINT, id="equal types stay"),
        pytest.param("t + s", SMALLINT, id="the wider whole number"),
        pytest.param("s + b", BIGINT, id="up to bigint"),
        pytest.param("t + 1", INT, id="a literal is an int"),
        pytest.param("i + f", DOUBLE, id="a float holds no int"),
        pytest.param("f + f", FLOAT, id="floats stay"),
        pytest.param("f + d", DOUBLE, id="float and double"),
        pytest.param("i / i", DOUBLE, id="a quotient goes through double"),
        pytest.param("if(ok, t, NULL)", TINYINT, id="NULL takes the type of the other branch"),
        pytest.param("coalesce(NULL, name)", STRING, id="or of the other argument"),
    ],
)
def test_the_type_of_a_result(text: str, expected: DataType) -> None:
    assert parse(text, TYPES).type == expected


def test_every_change_of_type_is_a_cast_in_the_tree() -> None:
    tree = parse("i + b", TYPES)
    assert isinstance(tree, Call)
    assert [getattr(one, "function", None) for one in tree.arguments] == ["cast", None]
    assert tree.arguments[0] == parse("CAST(i AS BIGINT)", TYPES)


@pytest.mark.parametrize(
    ("literal", "target", "expected"),
    [
        pytest.param(Literal(INT, 10), BIGINT, Literal(BIGINT, 10), id="a whole literal takes the type"),
        pytest.param(Literal(INT, 10), DOUBLE, Literal(DOUBLE, 10.0), id="also double"),
        pytest.param(Literal(INT, 127), TINYINT, Literal(TINYINT, 127), id="a narrow type that holds it"),
        pytest.param(Literal(UNTYPED, None), STRING, Literal(STRING, None), id="NULL takes any type"),
        pytest.param(Literal(INT, 10), INT, Literal(INT, 10), id="its own type changes nothing"),
    ],
)
def test_casts_of_literals_are_folded(literal: Literal, target: DataType, expected: Literal) -> None:
    assert cast(literal, target, "x") == expected


def test_a_literal_that_does_not_fit_is_cast_when_it_runs() -> None:
    assert isinstance(cast(Literal(INT, 128), TINYINT, "x"), Call)


def test_a_condition_is_a_boolean() -> None:
    condition = parse("i > 1", TYPES)
    assert require_boolean(condition, "i > 1") is condition
    with pytest.raises(ExpressionError, match="a condition must be a boolean, not an int"):
        require_boolean(parse("i", TYPES), "i")


def test_depth_is_bounded() -> None:
    def nested(levels: int) -> str:
        return "abs(" * levels + "i" + ")" * levels

    assert parse(nested(MAX_DEPTH - 1), TYPES).depth == MAX_DEPTH
    with pytest.raises(ExpressionError, match=f"nests at most {MAX_DEPTH} levels"):
        parse(nested(MAX_DEPTH), TYPES)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("substring(name)", "substring takes 2 to 3 arguments, not 1", id="too few"),
        pytest.param("substring(name, 1, 2, 3)", "substring takes 2 to 3 arguments, not 4", id="too many"),
        pytest.param("coalesce()", "coalesce takes 1 or more arguments, not 0", id="none of a list"),
        pytest.param("left(name)", "left takes 2 arguments, not 1", id="a fixed number"),
    ],
)
def test_the_number_of_arguments(text: str, rule: str) -> None:
    with pytest.raises(ExpressionError, match=rule):
        parse(text, TYPES)


def test_types_in_messages() -> None:
    assert (article(INT), article(DOUBLE)) == ("an int", "a double")
    assert "CAST(x AS DOUBLE)" in decimal_hint(decimal(10, 2))
    assert decimal_hint(INT) == ""

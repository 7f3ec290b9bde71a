"""The parts of SQL with a syntax of their own: CASE, CAST, LIKE, IN, BETWEEN, IS, EXTRACT and INTERVAL.

Rule 1: each becomes calls of rows of the table; no clause means anything that a row does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from drover.network.expressions import check
from drover.network.expressions.like import with_backslash
from drover.network.expressions.literals import read_date, read_timestamp
from drover.network.expressions.times import EXTRACTS, INTERVAL_MICROS
from drover.network.expressions.tree import UNTYPED, Expression, Literal
from drover.network.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
    parse_type,
)

if TYPE_CHECKING:
    from drover.network.expressions.translate import Translator

TARGETS: Final[Mapping[str, DataType]] = {  # sqlglot's names of types
    "BOOLEAN": BOOLEAN,
    "TINYINT": TINYINT,
    "SMALLINT": SMALLINT,
    "INT": INT,
    "BIGINT": BIGINT,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "TEXT": STRING,
    "BINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP,
    "TIMESTAMPNTZ": TIMESTAMP_NTZ,
}


def is_(walk: Translator, node: exp.Expr) -> Expression:
    """Return x IS NULL, x IS TRUE or x IS FALSE; sqlglot puts a NOT around it where one was written."""
    if isinstance(node.expression, exp.Null):
        return walk.named("is null", node.this)
    if isinstance(node.expression, exp.Boolean):
        return walk.named("<=>", node.this, node.expression)
    raise walk.refuse("IS goes with NULL, TRUE, FALSE and DISTINCT FROM", "Write = instead.")


def between(walk: Translator, node: exp.Expr) -> Expression:
    """Return x BETWEEN low AND high as two comparisons."""
    low = node.args.get("low")
    high = node.args.get("high")
    walk.demand_parentheses(exp.EQ(), node.this, low, high)
    if node.args.get("symmetric"):
        raise walk.refuse("BETWEEN SYMMETRIC is not known", "Put the smaller value first.")
    value = walk.translate(node.this)
    return walk.call("and", walk.call(">=", value, walk.translate(low)), walk.call("<=", value, walk.translate(high)))


def in_(walk: Translator, node: exp.Expr) -> Expression:
    """Return x IN (a, b, ...)."""
    items = node.args.get("expressions")
    if not items:
        raise walk.refuse("IN takes a list of literals", "Write for example x IN (1, 2).")
    walk.demand_parentheses(exp.EQ(), node.this)
    return walk.named("in", node.this, *items)


def like(walk: Translator, node: exp.Expr, escape: str = "\\") -> Expression:
    """Return x LIKE pattern, or its negation, with a backslash in place of the pattern's escape character."""
    walk.demand_parentheses(exp.EQ(), node.this)
    pattern = walk.translate(node.expression)
    if escape != "\\" and isinstance(pattern, Literal) and isinstance(pattern.value, str):
        rewritten = with_backslash(pattern.value, escape)
        if rewritten is None:
            raise walk.refuse(f"{escape!r} escapes only %, _ and itself in this pattern", "Write it twice.")
        pattern = Literal(STRING, rewritten)
    found = walk.call("like", walk.translate(node.this), pattern)
    # The parser keeps the NOT of x NOT LIKE y within the node, unlike that of x NOT IN (y).
    return walk.call("not", found) if node.args.get("negate") else found


def escape(walk: Translator, node: exp.Expr) -> Expression:
    """Return x LIKE pattern ESCAPE sign."""
    sign = node.expression
    if not isinstance(node.this, exp.Like) or not isinstance(sign, exp.Literal) or len(sign.name) != 1:
        raise walk.refuse("ESCAPE follows LIKE and names one character", "Write for example LIKE '10/%' ESCAPE '/'.")
    return like(walk, node.this, sign.name)


def case(walk: Translator, node: exp.Expr) -> Expression:
    """Return CASE; CASE x WHEN a becomes CASE WHEN x = a, and a missing ELSE becomes NULL."""
    branches: list[Expression] = []
    subject = node.args.get("this")
    for branch in node.args.get("ifs") or []:
        tested = walk.translate(branch.this)
        branches.append(tested if subject is None else walk.call("=", walk.translate(subject), tested))
        branches.append(walk.translate(branch.args.get("true")))
    if not branches:
        raise walk.refuse("CASE has at least one WHEN", "Write CASE WHEN a THEN b ELSE c END.")
    default = node.args.get("default")
    branches.append(walk.translate(default) if default is not None else Literal(UNTYPED, None))
    return walk.call("case", *branches)


def cast(walk: Translator, node: exp.Expr) -> Expression:
    """Return CAST(x AS type), x::type, or a literal such as DATE '2024-02-29'."""
    target = _read_target(walk, node.args.get("to"))
    if type(node) is exp.Cast:  # DATE 'text': sqlglot makes CAST itself a TryCast
        if target == DATE:
            return read_date(node.this.name)
        if target in (TIMESTAMP, TIMESTAMP_NTZ):
            return read_timestamp(node.this.name, target)
        raise walk.refuse(f"there is no literal {target} 'text'", f"Write CAST('text' AS {target}).")
    if any(node.args.get(extra) for extra in ("format", "action", "default")):
        raise walk.refuse("CAST takes a value and a type", "Write CAST(x AS type).")
    return check.cast(walk.translate(node.this), target, walk.text)


def _read_target(walk: Translator, node: object) -> DataType:
    """Return the type that a CAST names."""
    word = node.this.name if isinstance(node, exp.DataType) and isinstance(node.this, exp.DType) else ""
    sizes = [size.this.name for size in node.expressions] if isinstance(node, exp.DataType) else []
    if word == "DECIMAL" and len(sizes) <= 2:
        return parse_type(f"decimal({','.join(sizes)})" if sizes else "decimal")
    if word not in TARGETS or sizes:
        known = ", ".join(sorted({str(t) for t in TARGETS.values()}))
        raise walk.refuse("this is not a type to cast to", f"Known: {known}.")
    return TARGETS[word]


def extract(walk: Translator, node: exp.Expr) -> Expression:
    """Return EXTRACT(unit FROM x) as the function that means it."""
    unit = node.this.name.lower()
    if unit not in EXTRACTS:
        known = ", ".join(sorted(set(EXTRACTS)))
        raise walk.refuse(f"EXTRACT takes {known}", "For seconds write second(x), without the fraction.")
    return walk.named(EXTRACTS[unit], node.expression)


def position(walk: Translator, node: exp.Expr) -> Expression:
    """Return POSITION(part IN text), the place of a part in a text."""
    if node.args.get("position") or node.args.get("occurrence"):
        raise walk.refuse("position takes two arguments", "Write position(part IN text).")
    return walk.named("locate", node.args.get("substr"), node.this)


def interval(walk: Translator, node: exp.Expr, sign: int) -> Literal:
    """Return INTERVAL 'n' unit as microseconds, which are negative where it is subtracted."""
    unit = node.args.get("unit")
    word = unit.name.lower().removesuffix("s") if isinstance(unit, exp.Var) else ""
    number = node.this.name.strip() if isinstance(node.this, exp.Literal) else ""
    if word not in INTERVAL_MICROS or not number.removeprefix("-").isdecimal() or len(number) > 18:
        known = ", ".join(INTERVAL_MICROS)
        raise walk.refuse(f"an interval is a whole number of {known}", "Write for example INTERVAL '5' MINUTE.")
    return Literal(BIGINT, sign * int(number) * INTERVAL_MICROS[word])

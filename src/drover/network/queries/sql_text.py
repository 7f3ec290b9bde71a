"""Expression trees as SQL text, so that parsing the text gives the same tree.

Rule 1: a caller parses the text again and compares. If the trees differ, it keeps the original text.
"""

from __future__ import annotations

import datetime as dt

from drover.network.expressions import AggregateCall, Call, ColumnRef, Expression, Literal
from drover.network.expressions.functions import FUNCTIONS
from drover.network.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ

CHAINS = {"and": " AND ", "or": " OR "}
QUOTED = str.maketrans({"\\": r"\\", "'": r"\'"})


def to_sql(expression: Expression) -> str:
    """Return the text of an expression."""
    if isinstance(expression, ColumnRef):
        name = "`" + expression.name.replace("`", "``") + "`"
        return f"{expression.side}.{name}" if expression.side else name
    if isinstance(expression, Literal):
        return _literal(expression)
    assert isinstance(expression, Call)
    if expression.function == "shift":
        moved, span = expression.arguments
        assert isinstance(span, Literal)
        return f"({to_sql(moved)} + INTERVAL '{span.value}' MICROSECOND)"
    return _call(expression, [to_sql(argument) for argument in expression.arguments])


def aggregate_to_sql(aggregate: AggregateCall) -> str:
    """Return the text of an aggregate."""
    if aggregate.argument is None:
        return "count(*)"
    if aggregate.function == "count distinct":
        return f"count(DISTINCT {to_sql(aggregate.argument)})"
    return f"{aggregate.function}({to_sql(aggregate.argument)})"


def _call(call: Call, arguments: list[str]) -> str:
    name = call.function
    if name == "cast":
        return f"CAST({arguments[0]} AS {call.type})"
    if name in CHAINS:
        return f"({CHAINS[name].join(arguments)})"
    if name == "in":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    if name == "case":
        pairs = zip(arguments[:-1:2], arguments[1::2], strict=True)
        return f"CASE {' '.join(f'WHEN {tested} THEN {value}' for tested, value in pairs)} ELSE {arguments[-1]} END"
    form = FUNCTIONS[name].form
    return form.format(*arguments) if form else f"{name}({', '.join(arguments)})"


def _literal(literal: Literal) -> str:
    value = literal.value
    kind = literal.type
    if value is None:
        return f"CAST(NULL AS {kind})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if kind == STRING:
        return f"'{str(value).translate(QUOTED)}'"
    if kind == DATE:
        return f"DATE '{value}'"
    if isinstance(value, dt.datetime):
        assert kind in (TIMESTAMP, TIMESTAMP_NTZ)
        return f"{str(kind).upper()} '{value.isoformat(sep=' ', timespec='microseconds')}'"
    number = f"({value!r})" if str(value).startswith("-") else repr(value)
    narrow = kind == INT or (kind == BIGINT and isinstance(value, int) and not -(2**31) <= value < 2**31)
    return number if narrow or kind == DOUBLE else f"CAST({number} AS {kind})"

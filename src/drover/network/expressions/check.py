"""Types: which arguments a function takes, and how different types combine.

Rule 1: numbers widen automatically; no other type changes without a CAST.
Rule 2: every change of type becomes a visible "cast" in the tree, so that no engine converts anything by itself.
Rule 3: a NULL takes the type that its surroundings need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drover.errors import ExpressionError
from drover.network.expressions.casts import find_cast, refuse_cast
from drover.network.expressions.literals import INTEGER_RANGE, read_date, read_number, read_timestamp
from drover.network.expressions.table import Constant, Parameter, SqlFunction
from drover.network.expressions.text_size import NO_TEXT, WAY_OUT, as_long_as_the_longest
from drover.network.expressions.tree import UNTYPED, Call, Expression, Literal
from drover.network.types import BINARY, BOOLEAN, DATE, DOUBLE, INTEGERS, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType

MAX_DEPTH: Final = 64  # levels; Spark gives up resolving functions such as LEFT at about 90
MAX_WEIGHT: Final = 4_000  # nodes after compiling; Spark plans 4,000 nested CASEs for about half a minute


def apply(row: SqlFunction, arguments: Sequence[Expression], text: str) -> Expression:
    """Return the call of `row` with `arguments`, each brought to the type it needs; `text` is for errors."""
    _check_count(row, len(arguments), text)
    shared = _shared_positions(row, len(arguments))
    common = _common_type([arguments[i] for i in shared], text) if shared else UNTYPED
    ready = []
    for i, argument in enumerate(arguments):
        if row.shared == "branches":
            parameter = row.takes[1 if i in shared else 0]
        else:
            parameter = row.takes[min(i, len(row.takes) - 1)]
        wanted = common if i in shared else argument.type
        ready.append(_fit(row, i, parameter, _give_type(argument, wanted, parameter, text), text))
    # For example division and sqrt, which compute in doubles whatever the types of their arguments.
    if row.through is not None:
        ready = [cast(argument, row.through, text) for argument in ready]
    return _call(row, ready, row.result([argument.type for argument in ready]), row.copies, text)


def _check_count(row: SqlFunction, found: int, text: str) -> None:
    """Refuse too few or too many arguments."""
    least = len(row.takes) - row.optional
    most = len(row.takes)
    if found < least or (found > most and not row.repeats):
        wanted = f"{least}" if least == most and not row.repeats else f"{least} or more"
        wanted = wanted if row.repeats or least == most else f"{least} to {most}"
        noun = "argument" if wanted == "1" else "arguments"
        raise ExpressionError(text, f"{row.name} takes {wanted} {noun}, not {found}", row.count_hint)


def _shared_positions(row: SqlFunction, count: int) -> tuple[int, ...]:
    """Return the arguments that must have one common type."""
    if row.shared == "branches":  # condition, value, condition, value, ..., default
        return (*range(1, count - 1, 2), count - 1)
    return tuple(range(count)) if row.shared == "all" else ()


def _give_type(argument: Expression, wanted: DataType, parameter: Parameter, text: str) -> Expression:
    """Return `argument` with the type it shares with others; a lone NULL needs a parameter of a single type."""
    if wanted != UNTYPED:
        return cast(argument, wanted, text)
    if len(parameter.types) > 1:
        raise ExpressionError(text, "this NULL has no type", "Write for example CAST(NULL AS INT).")
    return cast(argument, parameter.types[0], text)


def _fit(row: SqlFunction, index: int, parameter: Parameter, argument: Expression, text: str) -> Expression:
    """Return `argument` if `parameter` takes it."""
    what = f"argument {index + 1} of {row.name} must be {parameter.words}"
    if not parameter.accepts(argument.type):
        hint = decimal_hint(argument.type) or "Write a CAST, or another column."
        raise ExpressionError(text, f"{what}, not {article(argument.type)}", hint)
    if isinstance(parameter, Constant):
        if not isinstance(argument, Literal):
            raise ExpressionError(text, f"{what}, not computed", "Write the value itself.")
        if not parameter.allows(argument.value):
            raise ExpressionError(text, what, "Write such a value.")
    return argument


def article(data_type: DataType) -> str:
    """Return the type as an error mentions it."""
    return f"an {data_type}" if str(data_type)[0] in "aeiou" else f"a {data_type}"


def decimal_hint(data_type: DataType) -> str:
    """Return the way out for a decimal where none is allowed, or an empty string for any other type."""
    return "Write CAST(x AS DOUBLE): the engines round decimals differently." if data_type.name == "decimal" else ""


def _common_type(arguments: Sequence[Expression], text: str) -> DataType:
    """Return the narrowest type that holds all of `arguments`, or refuse; it is UNTYPED if all are NULL."""
    found = {argument.type for argument in arguments} - {UNTYPED}
    if len(found) <= 1:
        return found.pop() if found else UNTYPED
    if all(t.is_integer for t in found):
        return max(found, key=INTEGERS.index)
    if all(t.is_integer or t.is_float for t in found):
        return DOUBLE  # also for an integer and a float: 24 bits hold no int
    names = " and ".join(sorted(str(t) for t in found))
    way_out = _literal_hint(arguments, found - {STRING}) or _mixing_hint(found)
    raise ExpressionError(text, f"{names} do not mix; nothing but numbers is converted on its own", way_out)


def _mixing_hint(found: set[DataType]) -> str:
    """Return how to bring values of different types together; only what the checker then accepts."""
    if len(found) > 2:
        return "Write a CAST for each that has another type than the rest."
    first, second = sorted(found, key=str)
    numbers = {t for t in found if t.is_integer or t.is_float}
    if numbers and not found.isdisjoint({TIMESTAMP, TIMESTAMP_NTZ}):
        (instant,) = found - numbers
        return f"Write unix_seconds(x), unix_millis(x) or unix_micros(x) for the {instant}."
    if numbers and DATE in found:
        return "Write datediff(x, DATE '1970-01-01') for the date, which gives its days."
    if any(t.name == "decimal" for t in found) and (numbers or {first.name, second.name} == {"decimal"}):
        return "Write CAST(x AS DOUBLE) for the decimal; only the same decimal type compares exactly."
    # A text says less than what it is cast to, and a number says more than a boolean.
    for source, target in sorted(((first, second), (second, first)), key=lambda pair: pair[1] in (STRING, BOOLEAN)):
        if find_cast(source, target) is not None:
            return f"Write CAST(x AS {target}) for the {source}."
    return "There is no cast from one to the other: use a column of another type."


def _literal_hint(arguments: Sequence[Expression], others: set[DataType]) -> str:
    """Return how to write a quoted text as a literal of the one other type; nothing if it cannot be one."""
    quoted = [each.value for each in arguments if isinstance(each, Literal) and isinstance(each.value, str)]
    if len(others) != 1 or not quoted:
        return ""
    (wanted,) = others
    word = str(wanted).upper()
    try:
        if wanted == DATE:
            read_date(quoted[0])
        elif wanted in (TIMESTAMP, TIMESTAMP_NTZ):
            read_timestamp(quoted[0], wanted)
        elif wanted.is_integer or wanted.is_float:
            read_number(quoted[0])
            return f"Write {quoted[0]} without quotes."
        else:
            return ""
    except ExpressionError as error:
        return error.way_out if wanted in (DATE, TIMESTAMP, TIMESTAMP_NTZ) else ""
    return f"Write {word} before the quotes: {word} '{quoted[0]}'."


def cast(argument: Expression, target: DataType, text: str) -> Expression:
    """Return CAST(argument AS target), or refuse."""
    if argument.type == target:
        return argument
    if argument.type == UNTYPED:
        return Literal(target, None)
    if isinstance(argument, Literal) and argument.type.is_integer and isinstance(argument.value, int):
        # A folded literal may stand where the table demands one, e.g. in x IN (10L).
        if target.is_integer and -INTEGER_RANGE[target] <= argument.value < INTEGER_RANGE[target]:
            return Literal(target, argument.value)
        if target == DOUBLE:
            return Literal(target, float(argument.value))
    found = find_cast(argument.type, target)
    if found is None:
        raise refuse_cast(argument.type, target, text)
    return _call(None, [argument], target, found.copies, text)


def _call(
    row: SqlFunction | None, arguments: Sequence[Expression], data_type: DataType, copies: int, text: str
) -> Call:
    """Return the node, a cast if there is no `row`, unless the tree or the text it makes would become too large."""
    height = 1 + max(argument.depth for argument in arguments)
    size = 1 + copies * sum(argument.weight for argument in arguments)
    if height > MAX_DEPTH:
        rule = f"an expression nests at most {MAX_DEPTH} levels"
        raise ExpressionError(text, rule, "Compute a part of it in an operator before this one.")
    if size > MAX_WEIGHT:
        rule = f"an expression compiles to at most {MAX_WEIGHT} parts, and this one to more"
        raise ExpressionError(text, rule, "Compute a part of it in an operator before this one.")
    length = as_long_as_the_longest if row is None else row.length
    literals = [argument.value if isinstance(argument, Literal) else None for argument in arguments]
    made = length([argument.text_size for argument in arguments], literals)
    if data_type not in (STRING, BINARY):
        made = NO_TEXT
    if not made.is_allowed:
        raise ExpressionError(text, made.rule, WAY_OUT)
    return Call(data_type, "cast" if row is None else row.name, tuple(arguments), height, size, made)


def require_boolean(expression: Expression, text: str) -> Expression:
    """Return `expression` if it is a condition."""
    if expression.type != BOOLEAN:
        way_out = "Write a comparison, e.g. x <> 0."
        raise ExpressionError(text, f"a condition must be a boolean, not {article(expression.type)}", way_out)
    return expression

"""docs/reference/expressions.md, made from the tables that decide what is accepted.

Rule 1: everything listed comes from a table, so a new row appears on the page without a change here.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from drover.network.expressions.aggregates import AGGREGATES, ALIASES
from drover.network.expressions.arithmetic import ARITHMETIC
from drover.network.expressions.casts import find_cast, refuse_cast
from drover.network.expressions.compile import to_polars
from drover.network.expressions.examples import AGGREGATE_EXAMPLES, FUNCTION_EXAMPLES, OTHER_SPELLINGS
from drover.network.expressions.functions import REFUSED
from drover.network.expressions.logic import LOGIC
from drover.network.expressions.scalar import parse_columns
from drover.network.expressions.strings import STRINGS
from drover.network.expressions.syntax import MAX_NESTING, MAX_TEXT
from drover.network.expressions.table import SqlFunction
from drover.network.expressions.text_size import MOST_FIXED, MOST_TIMES
from drover.network.expressions.times import EXTRACTS, INTERVAL_MICROS, TIMES
from drover.network.expressions.translate import NO_DISTINCT, NO_INTERVAL, NO_STAR, NO_TUPLE, SIDE_BY_SIDE
from drover.network.expressions.tree import ONLY
from drover.network.expressions.words import CONSTANTS, FORBIDDEN, RESERVED
from drover.network.types import SIMPLE, DataType, decimal

FAMILIES: Final[Mapping[str, Sequence[SqlFunction]]] = {
    "Numbers": ARITHMETIC,
    "Truth and choice": LOGIC,
    "Strings": STRINGS,
    "Dates and timestamps": TIMES,
}
LETTERS: Final = "xyz"
KINDS: Final = (*dict.fromkeys(SIMPLE.values()), decimal(10, 2))
SHAPES: Final = {
    "INTERVAL '1' DAY": NO_INTERVAL,
    "(x, y)": NO_TUPLE,
    "*": NO_STAR,
    "abs(DISTINCT x)": NO_DISTINCT,
    "'it''s'": SIDE_BY_SIDE,
}
INTRODUCTION: Final = f"""\
# Expressions

<!-- Made by drover.network.expressions.reference; tests/network/expressions/test_reference.py says how to make it \
again. -->

An expression is SQL over one row. It means the same in Polars and in Spark, bit for bit, and never fails on a row:
overflow, division by zero and text that cannot be read give NULL. Numbers widen on their own; every other change of
type needs a CAST. A number is whole, a float or a double; a decimal is compared with its like and cast, but not
calculated with. Names of columns keep their case, and names of functions do not. The text has at most {MAX_TEXT}
characters and nests at most {MAX_NESTING} levels.

An expression may make texts of at most {MOST_FIXED:,} characters from its literals, and may repeat a text of its row at
most {MOST_TIMES:,} times. `repeat(repeat(s, 1000), 1000)` is refused, also as a chain of two operators.

Any name may be written in backticks. A column needs them if its name is not made of letters, digits and `_`, or is
`end` inside CASE, or one of
{", ".join(f"`{word}`" for word in (*RESERVED, *CONSTANTS))}.
In a join, the columns of the two inputs are `left.x` and `right.y`.

Constants: `12`, `12L` (bigint), `1.5`, `1e3`, `'text'`, `"text"`, `TRUE`, `FALSE`, `NULL`, `DATE '2024-02-29'`,
`TIMESTAMP '2024-02-29 12:30:00'`, `TIMESTAMP_NTZ '2024-02-29 12:30:00'`. In a string, a backslash goes with
`\\\\ \\' \\" \\n \\t \\r \\% \\_ \\u0041` only."""


def reference() -> str:
    """Return docs/reference/expressions.md."""
    parts = [_functions(), _spellings(), _casts(), _aggregates(), _refusals()]
    return "\n".join([INTRODUCTION, *(line for part in parts for line in part), ""])


def _functions() -> Iterator[str]:
    for title, rows in FAMILIES.items():
        yield from _heading(title, "written", "arguments", "result", "example", "value")
        for row in rows:
            text = FUNCTION_EXAMPLES[row.name]
            yield _line(_written(row), _arguments(row), _result(row), _code(text), _code(value_of(text)))


def _spellings() -> Iterator[str]:
    yield from _heading("Other spellings", "written", "example", "value")
    for written, text in OTHER_SPELLINGS.items():
        yield _line(written, _code(text), _code(value_of(text)))
    yield ""
    yield f"EXTRACT knows {', '.join(EXTRACTS)}. An interval is a whole number of {', '.join(INTERVAL_MICROS)}."


def _casts() -> Iterator[str]:
    yield from _heading("Casts", "from", "to")
    for source in KINDS:
        targets = [str(target) for target in KINDS if find_cast(source, target) is not None]
        if targets:
            yield _line(source.name, ", ".join(targets))
    yield from ("", "A value that does not fit, and text that cannot be read, become NULL.", "")
    yield from _table("refused", "why", "instead")
    refused: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for source, target in itertools.product(KINDS, KINDS):
        if source != target and find_cast(source, target) is None:
            error = refuse_cast(source, target, "")
            refused[error.rule.partition(": ")[2], error.way_out].append((source.name, target.name))
    for (why, way_out), pairs in refused.items():
        yield _line(_pairs(pairs), why, way_out)


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """Return pairs of types in words, sources with the same targets together."""
    targets: dict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        targets[source].append(target)
    sources: dict[str, list[str]] = defaultdict(list)
    for source, found in targets.items():
        sources[", ".join(found)].append(source)
    return "; ".join(f"{', '.join(same)} to {found}" for found, same in sources.items())


def _aggregates() -> Iterator[str]:
    yield from _heading("Aggregates", "written", "argument", "result", "example")
    for name, row in AGGREGATES.items():
        names = [name, *(alias for alias, meant in ALIASES.items() if meant == name)]
        written = ["count(DISTINCT x)"] if name == "count distinct" else [f"{known}(x)" for known in names]
        results = {str(row.gives(kind)) for kind in row.takes.types}
        result = "as its argument" if len(results) > 2 else " or ".join(sorted(results))
        yield _line(", ".join(map(_code, written)), row.takes.words, result, _code(AGGREGATE_EXAMPLES[name]))
    yield from ("", "`first` and `last` go by event time, and among equal times by value.")


def _refusals() -> Iterator[str]:
    yield from _heading("Refused", "what", "why", "instead")
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, reason in REFUSED.items():
        reasons[reason].append(f"`{name}`")
    for word, reason in FORBIDDEN.items():
        if word not in REFUSED:
            reasons[reason].append(f"`{word.upper()}`")
    for (why, way_out), names in reasons.items():
        yield _line(", ".join(names), why, way_out)
    for written, reason in SHAPES.items():
        yield _line(_code(written), *reason)


def _heading(title: str, *columns: str) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from _table(*columns)


def _table(*columns: str) -> Iterator[str]:
    yield _line(*columns)
    yield "|" + "---|" * len(columns)


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _code(text: str) -> str:
    return f"`{text}`"


def _written(row: SqlFunction) -> str:
    """Return how a row is written, in all its spellings."""
    letters = LETTERS[: len(row.takes)]
    if row.form:
        plain = row.form.format(*letters, rest=f"{LETTERS[1]}, ...").removeprefix("(").removesuffix(")")
        form = [f"{plain})" if plain.count("(") > plain.count(")") else plain]
    else:
        form = []
    calls = [name for name in (row.name, *row.aliases) if name.isidentifier() and (not row.form or name in row.aliases)]
    least = len(letters) - row.optional
    inside = ", ".join(letters[:least]) + "".join(f"[, {letter}]" for letter in letters[least:])
    more = ", ..." if row.repeats else ""
    return ", ".join(map(_code, [*form, *(f"{name}({inside}{more})" for name in calls)]))


def _arguments(row: SqlFunction) -> str:
    """Return what a row takes; one phrase for neighbours that take the same."""
    groups = itertools.groupby(zip(row.takes, LETTERS, strict=False), key=lambda pair: pair[0].words)
    return "; ".join(f"{', '.join(letter for _, letter in group)}: {words}" for words, group in groups)


def _result(row: SqlFunction) -> str:
    """Return the type of a row's result, or which argument has it."""
    if isinstance(row.gives, DataType):
        return str(row.gives)
    if row.shared != "none":
        return "the type they share"
    places = [DataType(letter) for letter in LETTERS[: len(row.takes)]]
    return f"as {row.result(places)}"


def value_of(text: str) -> str:
    """Return what an expression without columns is, written as SQL would."""
    value = pl.DataFrame({"row": [0]}).select(to_polars(parse_columns(text, {ONLY: {}}))).item()
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, bool) or value is None:
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return f"'{value}'" if isinstance(value, str) else str(value)

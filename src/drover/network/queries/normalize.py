"""Normalized expressions: a text with placeholders for its literals, found without parsing it.

Rule 1: a text that this module may misread (quotes in quotes, comments, numbers at the edge of a type) is not
normalized, but parsed.
Rule 2: a placeholder says the type of its literal, because the type decides what the text means.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from drover.errors import ExpressionError
from drover.network.expressions.literals import read_date, read_timestamp
from drover.network.expressions.tree import Value
from drover.network.types import TIMESTAMP, TIMESTAMP_NTZ

# Characters that may begin a comment or an escape, and all that are not ASCII.
UNCLEAR: Final = re.compile(r"""["\\$#@?{}\[\];]|``|--|/\*|[^\x20-\x7e\n\t]""")
LITERAL: Final = re.compile(
    r"""(?P<word>[A-Za-z_]\w*)(?P<space>\s+)?(?P<string>'[^']*'(?!'))?"""
    r"""|`[^`]*`|(?P<bare>'[^']*'(?!'))"""
    r"""|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<after>\w)?""",
    re.ASCII,
)
TYPED: Final = {"date", "timestamp", "timestamp_ntz"}
EDGES: Final = frozenset({2**31, 2**63})  # their type depends on the sign before them
PLACEHOLDER: Final = "#"  # of a literal, followed by a letter for its type

LiteralText = tuple[str, Value]  # a literal as it is written, and its value


def normalize(text: str) -> tuple[str, list[LiteralText]] | None:
    """Return the text with a placeholder for each literal, and the literals; None if it must be parsed.

    >>> normalize("source = 'a' AND x > 1.5")
    ('source = #s AND x > #d', [("'a'", 'a'), ('1.5', 1.5)])
    """
    # Parsing is always right, and only slower. So when in doubt, leave the text to the parser.
    if UNCLEAR.search(text):
        return None
    literals: list[LiteralText] = []
    normalized: list[str] = []
    end = 0
    for found in LITERAL.finditer(text):
        word = found["word"]
        string = found["string"] or found["bare"]
        if string is None and found["number"] is None:
            continue
        if found["string"] and not found["space"]:
            return None  # x'00' is a binary literal, not a string
        read = _string(word, string) if string is not None else _number(found)
        if read is None:
            return None
        placeholder, value, includes_word = read
        start = found.start() if includes_word else found.end() - len(string or "")
        normalized += (text[end:start], placeholder)
        end = found.end()
        literals.append((text[start:end], value))
    normalized.append(text[end:])
    return "".join(normalized), literals


def _string(word: str | None, string: str) -> tuple[str, Value, bool] | None:
    """Return placeholder, value, and whether the literal includes the word before it, as in DATE '2024-02-29'."""
    inner = string[1:-1]
    if word is None or word.lower() not in TYPED:
        return f"{PLACEHOLDER}s", inner, word is None
    try:
        if word.lower() == "date":
            return f"{PLACEHOLDER}D", read_date(inner).value, True
        kind = TIMESTAMP if word.lower() == "timestamp" else TIMESTAMP_NTZ
        return f"{PLACEHOLDER}{'T' if kind == TIMESTAMP else 'N'}", read_timestamp(inner, kind).value, True
    except ExpressionError:
        return None


def _number(found: re.Match[str]) -> tuple[str, Value, bool] | None:
    number = found["number"]
    if found["after"]:
        return None  # a suffix as in 10L, or half a number as in 5e
    if number.isdecimal():
        value = int(number) if len(number) <= 19 else 2**63
        if value in EDGES or value > 2**63:
            return None
        return f"{PLACEHOLDER}{'i' if value < 2**31 else 'l'}", value, True
    double = float(number)
    return None if double == float("inf") else (f"{PLACEHOLDER}d", double, True)


SAMPLES: Final[dict[str, tuple[tuple[str, Value], ...]]] = {  # by type letter; values that queries hardly have
    "i": (("1918273645", 1918273645), ("1765432987", 1765432987)),
    "l": (("91827364554637281", 91827364554637281), ("71234567987654321", 71234567987654321)),
    "d": (("91827364.5625", 91827364.5625), ("71234567.8125", 71234567.8125)),
    "s": (("'sample zero qx'", "sample zero qx"), ("'sample one qz'", "sample one qz")),
    "D": (("DATE '1937-05-17'", dt.date(1937, 5, 17)), ("DATE '1941-11-03'", dt.date(1941, 11, 3))),
    "T": (
        ("TIMESTAMP '1937-05-17 01:02:03'", dt.datetime(1937, 5, 17, 1, 2, 3)),  # noqa: DTZ001 - literals have no zone
        ("TIMESTAMP '1941-11-03 07:08:09'", dt.datetime(1941, 11, 3, 7, 8, 9)),  # noqa: DTZ001 - literals have no zone
    ),
    "N": (
        ("TIMESTAMP_NTZ '1937-05-17 01:02:03'", dt.datetime(1937, 5, 17, 1, 2, 3)),  # noqa: DTZ001 - has no zone
        ("TIMESTAMP_NTZ '1941-11-03 07:08:09'", dt.datetime(1941, 11, 3, 7, 8, 9)),  # noqa: DTZ001 - has no zone
    ),
}

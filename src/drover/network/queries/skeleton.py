"""Skeletons: a text without its literals, found without parsing it.

Rule 1: what is not surely understood here (quotes in quotes, comments, numbers at the edge of a type) has no
skeleton, and is parsed.
Rule 2: the type of a literal belongs to the skeleton, because it decides what the text means.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from drover.errors import ExpressionError
from drover.network.expressions.literals import read_date, read_timestamp
from drover.network.expressions.tree import Value
from drover.network.types import TIMESTAMP, TIMESTAMP_NTZ

# Signs that may begin a comment or an escape, and letters that are not of the Roman alphabet.
UNCLEAR: Final = re.compile(r"""["\\$#@?{}\[\];]|``|--|/\*|[^\x20-\x7e\n\t]""")
LITERAL: Final = re.compile(
    r"""(?P<word>[A-Za-z_]\w*)(?P<space>\s+)?(?P<string>'[^']*'(?!'))?"""
    r"""|`[^`]*`|(?P<bare>'[^']*'(?!'))"""
    r"""|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<after>\w)?""",
    re.ASCII,
)
TYPED: Final = {"date", "timestamp", "timestamp_ntz"}
EDGES: Final = frozenset({2**31, 2**63})  # which type these have depends on the sign before them
MARK: Final = "#"  # stands for a literal, followed by a letter for its type

Piece = tuple[str, Value]  # a literal as it was written, and its value


def skeleton_of(text: str) -> tuple[str, list[Piece]] | None:
    """Return the text with a mark in place of each literal, and the literals; None if it must be parsed.

    >>> skeleton_of("source = 'a' AND x > 1.5")
    ('source = #s AND x > #d', [("'a'", 'a'), ('1.5', 1.5)])
    """
    if UNCLEAR.search(text):
        return None
    pieces: list[Piece] = []
    written: list[str] = []
    end = 0
    for found in LITERAL.finditer(text):
        word, string = found["word"], found["string"] or found["bare"]
        if string is None and found["number"] is None:
            continue
        if found["string"] and not found["space"]:
            return None  # x'00' is no text
        read = _string(word, string) if string is not None else _number(found)
        if read is None:
            return None
        mark, start, value = read[0], found.start() if read[2] else found.end() - len(string or ""), read[1]
        written += (text[end:start], mark)
        end = found.end()
        pieces.append((text[start:end], value))
    written.append(text[end:])
    return "".join(written), pieces


def _string(word: str | None, string: str) -> tuple[str, Value, bool] | None:
    """Return mark and value of a string, and whether the word before it belongs to it, as in DATE '2024-02-29'."""
    inner = string[1:-1]
    if word is None or word.lower() not in TYPED:
        return f"{MARK}s", inner, word is None
    try:
        if word.lower() == "date":
            return f"{MARK}D", read_date(inner).value, True
        kind = TIMESTAMP if word.lower() == "timestamp" else TIMESTAMP_NTZ
        return f"{MARK}{'T' if kind == TIMESTAMP else 'N'}", read_timestamp(inner, kind).value, True
    except ExpressionError:
        return None


def _number(found: re.Match[str]) -> tuple[str, Value, bool] | None:
    number = found["number"]
    if found["after"]:
        return None  # 10L, 5e
    if number.isdecimal():
        value = int(number) if len(number) <= 19 else 2**63
        if value in EDGES or value > 2**63:
            return None
        return f"{MARK}{'i' if value < 2**31 else 'l'}", value, True
    double = float(number)
    return None if double == float("inf") else (f"{MARK}d", double, True)


SAMPLES: Final[dict[str, tuple[tuple[str, Value], ...]]] = {  # by mark: literals that no query is likely to have
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

"""date_format patterns: the six fields that both engines write in the same way, and text between them.

Rule 1: a pattern is parsed here once; both engines get the parsed pattern, not the original text.
"""

from __future__ import annotations

import re
from typing import Final

from drover.network.expressions.literals import quote
from drover.network.expressions.tree import Value

FIELDS: Final = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
PIECE: Final = re.compile(
    r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<sign>[^A-Za-z'\[\]{}#])", re.DOTALL
)


def _split_format(pattern: str) -> list[tuple[str, bool]] | None:
    """Return (text, whether it is a field) for each piece, or None if a piece is not understood."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    while at < len(pattern):
        match = PIECE.match(pattern, at)
        if match is None or (match["letters"] and match["letters"] not in FIELDS):
            return None
        if match["letters"]:
            pieces.append((match["letters"], True))
        elif match["sign"]:
            pieces.append((match["sign"], False))
        else:
            pieces.append((match["quoted"].replace("''", "'") or "'", False))  # '' outside quotes is one quote
        at = match.end()
    return pieces


def readable_format(value: Value) -> bool:
    """Whether `value` is a pattern that both engines take."""
    return isinstance(value, str) and 0 < len(value) <= 200 and _split_format(value) is not None


def format_to_strftime(pattern: str) -> str:
    """Return the pattern as strftime writes it."""
    pieces = _split_format(pattern) or []
    return "".join(FIELDS[text] if field else text.replace("%", "%%") for text, field in pieces)


def format_to_spark(pattern: str) -> str:
    """Return the pattern as a Spark SQL string, with everything between the fields in quotes."""
    written = ""
    literal = ""
    for text, field in [*(_split_format(pattern) or []), ("", True)]:
        if not field:
            literal += text.replace("'", "''")
            continue
        # Two quoted pieces side by side would read as one with a quote in it, hence the collecting.
        written += (f"'{literal}'" if literal else "") + text
        literal = ""
    return quote(written)

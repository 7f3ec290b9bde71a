r"""LIKE patterns: % for any text, _ for one code point, and \ to mean the next character itself.

Rule 1: a pattern is parsed here once; both engines get the parsed pattern, not the original text.
"""

from __future__ import annotations

import re
from typing import Final

from drover.network.expressions.literals import quote
from drover.network.expressions.tree import Value

MAX_PATTERN: Final = 1000  # characters; Rust's regex refuses programs above 10 MB
ANY_TEXT: Final = "%"
ANY_CHARACTER: Final = "_"


def _split_pattern(pattern: str, escape: str = "\\") -> list[tuple[str, bool]] | None:
    """Return (character, whether it is a wildcard) for each place, or None if a backslash escapes nothing."""
    parts: list[tuple[str, bool]] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            if escaped not in (ANY_TEXT, ANY_CHARACTER, escape) or not escaped:
                return None
            parts.append((escaped, False))
        elif character != ANY_TEXT or parts[-1:] != [(ANY_TEXT, True)]:  # %% is %
            parts.append((character, character in (ANY_TEXT, ANY_CHARACTER)))
    return parts


def readable_pattern(value: Value) -> bool:
    """Whether `value` is a pattern that both engines take."""
    return isinstance(value, str) and len(value) <= MAX_PATTERN and _split_pattern(value) is not None


def with_backslash(pattern: str, escape: str) -> str | None:
    """Return the pattern of LIKE ... ESCAPE with a backslash in the place of `escape`; None if it is wrong."""
    parts = _split_pattern(pattern, escape)
    return None if parts is None else _join_pattern(parts)


def _join_pattern(parts: list[tuple[str, bool]]) -> str:
    return "".join(c if wild or c not in "%_\\" else f"\\{c}" for c, wild in parts)


def like_to_spark(pattern: str) -> str:
    """Return the pattern as a Spark SQL string."""
    return quote(_join_pattern(_split_pattern(pattern) or []))


def like_to_regex(pattern: str) -> str:
    """Return the pattern as a regular expression of Rust's dialect that matches whole texts, newlines included."""
    wildcards = {ANY_TEXT: ".*", ANY_CHARACTER: "."}
    parts = [wildcards[c] if wild else _escape_regex(c) for c, wild in _split_pattern(pattern) or []]
    return rf"(?s)\A{''.join(parts)}\z"


def _escape_regex(character: str) -> str:
    return f"\\x{{{ord(character):X}}}" if not character.isalnum() else re.escape(character)

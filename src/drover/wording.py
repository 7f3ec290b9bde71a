"""Counts and nouns in messages for people.

Rule 1: this module imports nothing of drover, so that every layer can use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

NAMED: Final = 3  # names that a text shows of many


def plural(number: float, noun: str, many: str | None = None) -> str:
    """Return the noun in the form that goes with a number; `many` is an irregular plural.

    >>> plural(1, "node"), plural(2, "node"), plural(0, "query", "queries")
    ('node', 'nodes', 'queries')
    """
    return noun if number == 1 else many or f"{noun}s"


def count(number: float, noun: str, many: str | None = None) -> str:
    """Return a number, rounded, with its noun.

    >>> count(1, "move"), count(12_345, "row"), count(0, "batch", "batches")
    ('1 move', '12,345 rows', '0 batches')
    """
    return f"{number:,.0f} {plural(round(number), noun, many)}"


def named(names: Sequence[str]) -> str:
    """Return the first few names, and how many others there are.

    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 others')
    """
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {count(len(names) - NAMED, 'other')}"

"""Columns as operators name them: computed ones, and pairs of key columns.

Rule 1: these are texts that a file holds. Whether the columns exist is for the operator to check.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """An output column and the SQL expression that computes it."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A column of the left input (or the stream) and the column on the right (or of the table) that must equal it."""

    left: str
    right: str

    def __str__(self) -> str:
        return self.left if self.left == self.right else f"{self.left} = {self.right}"


def parse_key(text: str) -> KeyPair:
    """Return the pair in `x` (the same name on both sides) or `x = y`."""
    left, equals, right = (part.strip().strip("`") for part in text.partition("="))
    return KeyPair(left, right if equals else left)

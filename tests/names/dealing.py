"""Deals names out to the parts of a network, so that a few dozen networks use every name there is.

Rule 1: equal numbers give equal names. Rule 2: the names of a deal are such that drover allows all of them together.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Final

from tests.names.network import (
    CASES,
    COLUMNS,
    QUERY_COLUMNS,
    QUERY_NAMES,
    QUERY_PARTS,
    STREAMS,
    TABLE_PARTS,
    TABLES,
    Naming,
)
from tests.names.words import allowed, allowed_columns

COLUMN_PARTS: Final = tuple(dict.fromkeys(plain for schema in (*COLUMNS, *QUERY_COLUMNS, CASES) for plain in schema))
PARTS: Final = (*STREAMS, *TABLE_PARTS, *QUERY_PARTS, *QUERY_NAMES, *TABLES, "network", "tenant")
# Names of columns that results have anyway, which drover refuses in some places.
TAKEN: Final = frozenset({"window_start", "window_end", "window_time", "query"})


@cache
def deals() -> tuple[Naming, ...]:
    """Return names for as many networks as are needed to use every name once, for a part and for a column."""
    parts = _hands(_shuffled(allowed()), len(PARTS))
    columns = _hands(_shuffled(word for word in allowed_columns() if word.lower() not in TAKEN), len(COLUMN_PARTS))
    count = max(len(parts), len(columns))
    return tuple(
        Naming(
            dict(zip(PARTS, parts[i % len(parts)], strict=True))
            | dict(zip(COLUMN_PARTS, columns[i % len(columns)], strict=True))
        )
        for i in range(count)
    )


def _shuffled(words: Iterator[str] | tuple[str, ...]) -> list[str]:
    found = list(words)
    random.Random(0).shuffle(found)
    return found


def _hands(words: list[str], size: int) -> list[list[str]]:
    """Return the words in hands of a size; in a hand, no two differ in their case alone."""
    hands: list[list[str]] = []
    waiting = words
    while waiting:
        hand: dict[str, str] = {}
        later: list[str] = []
        for word in waiting:
            if len(hand) < size and word.lower() not in hand:
                hand[word.lower()] = word
            else:
                later.append(word)
        # The last hands are filled up with words that were dealt before.
        for word in words:
            if len(hand) == size:
                break
            hand.setdefault(word.lower(), word)
        hands.append(list(hand.values()))
        waiting = later
    return hands

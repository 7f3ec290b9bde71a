"""Lengths of time in text: `10 s`, `5 minutes`, `1 h 30 min`.

Rule 1: inside drover a length of time is a whole number of microseconds, as in Spark and Arrow.
Rule 2: months and years have no fixed length and are refused.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, TypeAlias

from drover.errors import ExpressionError

Micros: TypeAlias = int  # a length of time in microseconds

UNITS: Final[dict[str, Micros]] = {  # from long to short; the names that drover prints
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "min": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
SYNONYMS: Final = {
    "d": ("d", "day", "days"),
    "h": ("h", "hour", "hours"),
    "min": ("min", "minute", "minutes"),
    "s": ("s", "sec", "second", "seconds"),
    "ms": ("ms", "millisecond", "milliseconds"),
    "us": ("us", "microsecond", "microseconds"),
}
UNIT_OF_WORD: Final = {word: UNITS[unit] for unit, words in SYNONYMS.items() for word in words}
# Event times that Spark and drover can both have, in microseconds since 1970: the years 1 to 9999.
EARLIEST: Final[Micros] = -62_135_596_800_000_000
LATEST: Final[Micros] = 253_402_300_799_999_999
LONGEST: Final[Micros] = 36_525 * UNITS["d"]  # a hundred years: a longer window must be a typing error
PART: Final = re.compile(r"(\d{1,18})\s*([a-z]+)\s*")
WAY_OUT: Final = "Write a whole number and a unit (d, h, min, s, ms, us), for example 10 s or 1 h 30 min."


def parse_duration(value: str | timedelta) -> Micros:
    """Return the length of time that `value` names, in microseconds, from 0 to 100 years.

    >>> parse_duration("1 min 30 s")
    90000000
    """
    micros = value // timedelta(microseconds=1) if isinstance(value, timedelta) else _parse_text(value)
    if not 0 <= micros <= LONGEST:
        raise ExpressionError(str(value), "a length of time is between 0 and 100 years", WAY_OUT)
    return micros


def _parse_text(text: str) -> Micros:
    rest = text.strip().lower()
    # Zero is the only number that needs no unit.
    if rest == "0":
        return 0
    micros = 0
    position = 0
    while match := PART.match(rest, position):
        if match[2] not in UNIT_OF_WORD:
            raise ExpressionError(text, f"{match[2]!r} is not a unit of time", WAY_OUT)
        micros += int(match[1]) * UNIT_OF_WORD[match[2]]
        position = match.end()
    if position == 0 or position != len(rest):
        raise ExpressionError(text, "this is not a length of time", WAY_OUT)
    return micros


def format_duration(micros: Micros) -> str:
    """Return a length of time as `parse_duration` reads it, in the longest units that fit.

    >>> format_duration(90_000_000)
    '1 min 30 s'
    """
    if micros < 0:
        return f"-{format_duration(-micros)}"
    parts = []
    for unit, length in UNITS.items():
        count, micros = divmod(micros, length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts) or "0 s"

"""Numbers as text for people. A value that is None or NaN becomes a dash."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Final, TypeAlias

NONE: Final = "-"  # stands for a value that is not known
BYTE_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
Format: TypeAlias = Callable[[float | None], str]


def _dash_if_unknown(function: Callable[[float], str]) -> Format:
    @wraps(function)
    def shown(value: float | None) -> str:
        return NONE if value is None or math.isnan(value) else function(value)

    return shown


@_dash_if_unknown
def number(value: float) -> str:
    """Return a number with three significant digits.

    >>> number(0.01234), number(1234.5), number(math.inf), number(0.0), number(math.nan)
    ('0.0123', '1,234', 'no limit', '0', '-')
    """
    if math.isinf(value):
        return "no limit"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


@_dash_if_unknown
def percent(share: float) -> str:
    """Return a fraction as a percentage.

    >>> percent(0.1234), percent(0.00123), percent(12.0), percent(0.0)
    ('12.3 %', '0.12 %', '1,200 %', '0 %')
    """
    value = 100 * share
    if value == 0 or abs(value) >= 99.95:
        return f"{value:,.0f} %"
    return f"{value:.1f} %" if value >= 1 else f"{value:.2f} %"


@_dash_if_unknown
def seconds(value: float) -> str:
    """Return a short time.

    >>> seconds(0.0123), seconds(2.5), seconds(0.0), seconds(None)
    ('12.3 ms', '2.5 s', '0 s', '-')
    """
    return f"{number(1000 * value)} ms" if 0 < value < 1 else f"{number(value)} s"


def duration(value: float) -> str:
    """Return a long time in its two largest units.

    >>> duration(59.4), duration(95), duration(3600), duration(90_061)
    ('59 s', '1 min 35 s', '1 h', '1 d 1 h')
    """
    parts: list[tuple[int, str]] = []
    left = round(value)
    for length, name in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        whole, left = divmod(left, length)
        if whole or parts:
            parts.append((whole, name))
    return " ".join(f"{whole} {name}" for whole, name in parts[:2] if whole) or "0 s"


def clock(value: float) -> str:
    """Return the time since the start as a clock shows it.

    >>> clock(5), clock(65), clock(3605), clock(1.25)
    ('0:05', '1:05', '1:00:05', '0:01.2')
    """
    minutes, rest = divmod(value, 60)
    hours, minutes = divmod(int(minutes), 60)
    whole = f"{rest:04.1f}" if rest % 1 >= 0.05 and value < 60 else f"{int(rest):02}"
    return f"{hours}:{minutes:02}:{whole}" if hours else f"{minutes}:{whole}"


@_dash_if_unknown
def size(value: float) -> str:
    """Return a number of bytes.

    >>> size(1), size(999), size(1_500), size(2.5e9)
    ('1 byte', '999 bytes', '1.5 kB', '2.5 GB')
    """
    if value == 1:
        return "1 byte"
    step = 0
    while value >= 1000 and step < len(BYTE_UNITS) - 1:
        value /= 1000
        step += 1
    return f"{number(value)} {BYTE_UNITS[step]}"


def finite(value: float) -> float | None:
    """Return a number that JSON can hold: None if it is infinite or NaN."""
    return value if math.isfinite(value) else None

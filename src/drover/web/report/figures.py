"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Final

NONE: Final = "-"  # where there is nothing to say
BYTES: Final = ("bytes", "kB", "MB", "GB", "TB")


def count(number: float, noun: str, several: str | None = None) -> str:
    """Return a count with its noun.

    >>> count(1, "move"), count(12_345, "row"), count(0, "batch", "batches")
    ('1 move', '12,345 rows', '0 batches')
    """
    shown = f"{number:,.0f}"
    return f"{shown} {noun if shown == '1' else several or noun + 's'}"


def number(value: float) -> str:
    """Return a number with three digits that count.

    >>> number(0.01234), number(1234.5), number(math.inf), number(0.0)
    ('0.0123', '1,234', 'no limit', '0')
    """
    if math.isinf(value):
        return "no limit"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """Return a share of 1.

    >>> percent(0.1234), percent(0.00123), percent(12.0), percent(0.0)
    ('12.3 %', '0.12 %', '1,200 %', '0 %')
    """
    value = 100 * share
    return (
        f"{value:,.0f} %" if value == 0 or abs(value) >= 99.95 else f"{value:.1f} %" if value >= 1 else f"{value:.2f} %"
    )


def seconds(value: float) -> str:
    """Return a short time.

    >>> seconds(0.0123), seconds(2.5), seconds(0.0)
    ('12.3 ms', '2.5 s', '0 s')
    """
    return f"{number(1000 * value)} ms" if 0 < value < 1 else f"{number(value)} s"


def duration(value: float) -> str:
    """Return a long time in its two largest parts.

    >>> duration(59.4), duration(95), duration(3600), duration(90_061)
    ('59 s', '1 min 35 s', '1 h', '1 d 1 h')
    """
    parts: list[tuple[int, str]] = []
    left = round(value)
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        whole, left = divmod(left, size)
        if whole or parts:
            parts.append((whole, name))
    return " ".join(f"{whole} {name}" for whole, name in parts[:2] if whole) or "0 s"


def clock(value: float) -> str:
    """Return a time since the beginning as clocks show it.

    >>> clock(5), clock(65), clock(3605), clock(1.25)
    ('0:05', '1:05', '1:00:05', '0:01.2')
    """
    minutes, rest = divmod(value, 60)
    hours, minutes = divmod(int(minutes), 60)
    whole = f"{rest:04.1f}" if rest % 1 >= 0.05 and value < 60 else f"{int(rest):02}"
    return f"{hours}:{minutes:02}:{whole}" if hours else f"{minutes}:{whole}"


def size(value: float) -> str:
    """Return bytes.

    >>> size(1), size(999), size(1_500), size(2.5e9)
    ('1 byte', '999 bytes', '1.5 kB', '2.5 GB')
    """
    step = 0
    while value >= 1000 and step < len(BYTES) - 1:
        value, step = value / 1000, step + 1
    return "1 byte" if (value, step) == (1, 0) else f"{number(value)} {BYTES[step]}"


def finite(value: float) -> float | None:
    """Return a number as JSON knows it: None if it is infinite or unknown."""
    return value if math.isfinite(value) else None

"""Ranges of parameters, and the errors for values outside them."""

from __future__ import annotations

import math
from typing import Final, TypeAlias

from drover.errors import DroverError

Range: TypeAlias = tuple[float, float]  # from the first, at most the second

UNBOUNDED: Final = math.inf


def demand(field: str, value: float, least: float, most: float = UNBOUNDED) -> None:
    """Raise DroverError unless `least <= value <= most`."""
    if not least <= value <= most:
        bounds = f"at least {least:g}" if most == UNBOUNDED else f"from {least:g} to {most:g}"
        raise DroverError(f"{field} is {value}, but must be {bounds}. Choose another value.")


def demand_range(field: str, value: Range, least: float, most: float = UNBOUNDED) -> None:
    """Raise DroverError unless `value` is a range, low end first, within [least, most]."""
    low, high = value
    demand(f"{field}[0]", low, least, most)
    demand(f"{field}[1]", high, low, most)

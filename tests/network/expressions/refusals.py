"""Texts that are refused: the columns they are read with, and the check of rule and way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest
from _pytest.mark.structures import ParameterSet

from drover.errors import ExpressionError
from drover.network.expressions import parse
from drover.network.types import BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType, decimal

Refusal = tuple[str, str, str]  # a text, and patterns of the rule it breaks and of the way out
COLUMNS: Final[dict[str, DataType]] = {
    "price": DOUBLE,
    "count": INT,
    "name": STRING,
    "day": DATE,
    "at": TIMESTAMP,
    "m": decimal(10, 2),
    "ok": BOOLEAN,
    "raw": BINARY,
}


def listed(refusals: Sequence[Refusal]) -> list[ParameterSet]:
    """Return the refusals for pytest, named by their texts."""
    return [pytest.param(*refusal, id=refusal[0][:40]) for refusal in refusals]


def check_refusal(text: str, rule: str, way_out: str) -> None:
    """Fail unless the text is refused with this rule and this way out."""
    with pytest.raises(ExpressionError, match=rule) as caught:
        parse(text, COLUMNS)
    assert caught.match(way_out.replace("||", r"\|\|"))

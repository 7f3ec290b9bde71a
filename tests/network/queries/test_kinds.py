"""Which kinds queries may use follows from the records of the kinds."""

from __future__ import annotations

import pytest

from drover.network.operators import OPERATORS
from drover.network.queries.kinds import KINDS, sharing_of


def test_kinds_are_those_with_a_sharing() -> None:
    assert KINDS == ("filter", "switch", "map", "union", "aggregate", "join")
    for name in KINDS:
        assert sharing_of(OPERATORS[name].samples[0]) is OPERATORS[name].sharing


def test_other_kinds_have_none() -> None:
    with pytest.raises(AssertionError, match="user cannot be used in a query"):
        sharing_of(OPERATORS["user"].samples[0])

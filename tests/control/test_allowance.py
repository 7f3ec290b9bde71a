from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.allowance import Allowance
from drover.errors import DroverError


@given(st.floats(0, 1), st.lists(st.tuples(st.floats(0, 100), st.integers(0, 1000))))
def test_no_more_queries_move_than_the_fraction_allows(fraction: float, batches: list[tuple[float, int]]) -> None:
    left = Allowance(fraction)
    moved = 0
    earned = 0.0
    for seconds, queries in batches:
        left = left.after(seconds, queries)
        earned += fraction * queries * seconds / 3600
        most = int(left.saved)
        moved += most
        left = left.without(most)
        assert moved <= earned * (1 + 1e-9)
        assert 0 <= left.saved < 1


def test_an_allowance_covers_an_hour_and_at_least_one_query() -> None:
    assert Allowance(0.1).after(10**6, 200).saved == 20
    assert Allowance(0.1).after(10**6, 3).saved == 1
    assert Allowance(0.1).after(10**6, 0).saved == 0
    assert Allowance(0.0).after(10**6, 200).saved == 0
    assert Allowance(0.1, saved=5.0).after(1, 0).saved == 0, "nothing is saved up for queries that are gone"


def test_an_allowance_grows_with_time_and_shrinks_with_moves() -> None:
    grown = Allowance(0.1, saved=2.0).after(360, 200)
    assert grown == Allowance(0.1, saved=4.0)
    assert grown.without(3) == Allowance(0.1, saved=1.0)


@pytest.mark.parametrize("fraction", [-0.1, 1.5, math.nan, math.inf, "much", True])
def test_a_fraction_outside_0_to_1_is_refused(fraction: float) -> None:
    with pytest.raises(DroverError, match=r"refine is .*, but it must be at least 0 and at most 1"):
        Allowance(fraction)

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.allowance import Allowance
from drover.errors import DroverError


@given(st.floats(0, 1), st.lists(st.tuples(st.floats(0, 100), st.integers(0, 1000))))
def test_no_more_move_than_the_share_allows(share: float, batches: list[tuple[float, int]]) -> None:
    left, moved, earned = Allowance(share), 0, 0.0
    for seconds, queries in batches:
        left = left.after(seconds, queries)
        earned += share * queries * seconds / 3600
        most = int(left.saved)
        moved += most
        left = left.without(most)
        assert moved <= earned * (1 + 1e-9)
        assert 0 <= left.saved < 1


def test_what_is_saved_is_an_hour_at_the_most_and_one_of_few_may_move() -> None:
    assert Allowance(0.1).after(10**6, 200).saved == 20
    assert Allowance(0.1).after(10**6, 3).saved == 1
    assert Allowance(0.1).after(10**6, 0).saved == 0
    assert Allowance(0.0).after(10**6, 200).saved == 0


@pytest.mark.parametrize("share", [-0.1, 1.5, math.nan, math.inf, "much", True])
def test_what_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(DroverError, match=r"refine is .*, but it must be at least 0 and at most 1"):
        Allowance(share)

"""Failing members are found by bisection, with few trials."""

from __future__ import annotations

import numpy as np
import pytest

from drover.flow.families.failing_members import MOST, failing_members


@pytest.mark.parametrize(
    ("members", "failing"),
    [
        pytest.param(1, {0}, id="a lone member"),
        pytest.param(10, {0, 9}, id="the first and the last"),
        pytest.param(1000, {17, 500, 501}, id="a few of many"),
        pytest.param(8, set(range(8)), id="all"),
    ],
)
def test_failing_members_are_found(members: int, failing: set[int]) -> None:
    trials = 0

    def try_members(group: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str | None:
        nonlocal trials
        trials += 1
        return "because" if failing & set(group.tolist()) else None

    assert failing_members(members, try_members) == dict.fromkeys(failing, "because")
    assert trials <= 1 + 2 * len(failing) * members.bit_length()


def test_a_family_that_always_fails_is_given_up_soon() -> None:
    trials = 0

    def try_members(_: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str | None:
        nonlocal trials
        trials += 1
        return "always"

    assert len(failing_members(100_000, try_members)) == 100_000
    assert trials < 2 * MOST

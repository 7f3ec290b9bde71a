from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from tests.spark.chaos.strikes import Role, Strike, Way, strikes

WITHOUT_EXECUTORS = [role for role in Role if role is not Role.EXECUTOR]


@pytest.mark.parametrize("roles", [list(Role), WITHOUT_EXECUTORS], ids=["five roles", "four roles"])
@pytest.mark.parametrize("seed", range(5))
def test_every_role_is_struck_in_every_way(roles: list[Role], seed: int) -> None:
    count = len(roles) * len(Way)
    drawn = list(islice(strikes(roles, seed), 2 * count))
    pairs = {(role, way) for role in roles for way in Way}
    assert Counter((one.role, one.way) for one in drawn[:count]) == Counter(pairs)
    assert {(one.role, one.way) for one in drawn[count:]} == pairs
    assert {one.way for one in drawn[:5]} == set(Way)
    assert {one.role for one in drawn[:5]} == set(roles)


def test_equal_seeds_give_equal_strikes() -> None:
    assert list(islice(strikes(list(Role), 3), 50)) == list(islice(strikes(list(Role), 3), 50))
    assert list(islice(strikes(list(Role), 3), 50)) != list(islice(strikes(list(Role), 4), 50))


def test_a_strike_in_words() -> None:
    killed = Strike(Role.JAVA, Way.KILL, 0.25, 1.0, 0.0)
    assert str(killed) == "driver, JVM: SIGKILL, 0.25 s after a commit"
    stopped = Strike(Role.EXECUTOR, Way.PAUSE, 0.5, 9.5, 0.0)
    assert str(stopped) == "executor, JVM: SIGSTOP, SIGCONT 9.5 s apart, 0.50 s after a commit"

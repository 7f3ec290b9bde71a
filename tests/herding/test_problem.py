"""Herding problems: what they refuse, and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from tests.strategies.herds import herds

SOUND = HerdingProblem(
    start=np.array([0, 2, 3]), source=np.array([0, 1, 1]), rate=np.array([1.0, 2.0]), capacity=np.array([1.0, 1.0])
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"start": np.array([0, 2, 2])}, "must rise from 0 to 3", id="sources left over"),
        pytest.param({"start": np.array([0, 0, 3])}, "query 0 has no source", id="a query without source"),
        pytest.param({"source": np.array([1, 0, 1])}, r"query 0 are \[1, 0\], but must be distinct", id="not sorted"),
        pytest.param({"source": np.array([0, 1, 2])}, "source is 2, but the sources are 0 to 1", id="unknown source"),
        pytest.param(
            {"weight": np.array([1.0, -1.0])}, r"weight\[1\] is -1, but must be above 0", id="negative weight"
        ),
        pytest.param({"weight": np.ones(3)}, "one number for each of 2 queries", id="too many weights"),
        pytest.param({"rate": np.array([1.0, np.nan])}, r"rate\[1\] is nan", id="no rate"),
        pytest.param({"capacity": np.array([0.0])}, r"capacity\[0\] is 0, but must be above 0", id="no capacity"),
        pytest.param({"capacity": np.empty(0)}, "capacity is empty", id="no server"),
        pytest.param({"slack": -0.1}, "slack is -0.1, but must be at least 0", id="negative slack"),
        pytest.param({"allowance": np.inf}, "allowance is inf", id="endless allowance"),
    ],
)
def test_refusals(change: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        replace(SOUND, **change)  # type: ignore[arg-type]  # fields of any kind


@pytest.mark.parametrize(
    ("n", "k", "slack", "limit"),
    [
        pytest.param(100_000, 100, 0.05, 1050, id="the text's default"),
        pytest.param(10, 10, 0.05, 1, id="one each"),
        pytest.param(11, 10, 0.0, 2, id="one more than servers"),
        pytest.param(24, 3, 0.0, 8, id="no slack"),
    ],
)
def test_limits_of_unit_weights(n: int, k: int, slack: float, limit: int) -> None:
    problem = HerdingProblem(
        start=np.arange(n + 1), source=np.zeros(n, dtype=int), rate=np.ones(1), capacity=np.ones(k), slack=slack
    )
    assert np.floor(problem.limits()).tolist() == [limit] * k


@given(problem=herds())
def test_types_are_equal_for_equal_sets(problem: HerdingProblem) -> None:
    kinds = problem.types()
    sets = [tuple(problem.sources_of(q).tolist()) for q in range(problem.n)]
    assert len(set(sets)) == len(set(kinds.tolist())) == int(kinds.max()) + 1
    assert len(set(zip(sets, kinds.tolist(), strict=True))) == len(set(sets))

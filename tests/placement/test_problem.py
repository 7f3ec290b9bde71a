"""Placement problems: valid shapes and values, or errors that name the field."""

from __future__ import annotations

import numpy as np
import pytest

from drover.errors import ProblemError
from drover.placement.plan import Plan
from drover.placement.problem import PlacementProblem

ABC = ("a", "b", "c")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"capacity": [1.0, 0.0]}, r"capacity\[1\] is 0, but must be above 0 and finite", id="no capacity"),
        pytest.param({"capacity": []}, "at least one", id="no node"),
        pytest.param({"coefficients": [[1.0], [2.0]]}, r"coefficients has shape \(2, 1\)", id="a row is missing"),
        pytest.param({"series": [[1.0], [-1.0], [0.0]]}, r"series\[1, 0\] is -1", id="negative load"),
        pytest.param({"series": [[1.0], [np.nan], [0.0]]}, r"series\[1, 0\] is nan", id="no number"),
        pytest.param({"units": ("a", "b", "a")}, "'a' twice", id="a name twice"),
        pytest.param({"pinned": [0, 2, -1]}, "unit 'b' on node 2, but the nodes are 0 to 1", id="a pin to nowhere"),
        pytest.param({"pinned": [0, -1]}, r"pinned has shape \(2,\)", id="a pin is missing"),
        pytest.param({"allowed": [[1, 1], [0, 0], [1, 1]]}, "no node for unit 'b'", id="nothing allowed"),
        pytest.param(
            {"allowed": [[0, 1], [1, 1], [1, 1]], "pinned": [0, -1, -1]}, "no node for unit 'a'", id="a barred pin"
        ),
        pytest.param({"apart": ((0, 5),)}, "from 0 to 2", id="an unknown unit"),
        pytest.param(
            {"coefficients": np.ones((3, 1)), "lower": [2.0], "upper": [1.0]}, "lower.0. is 2", id="bounds crossed"
        ),
    ],
)
def test_a_contradictory_problem_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        PlacementProblem(**({"units": ABC, "capacity": [1.0, 1.0]} | fields))  # type: ignore[arg-type]  # refused is the point


def test_arrays_are_read_only_copies() -> None:
    capacity = np.ones(2)
    problem = PlacementProblem(units=ABC, capacity=capacity)
    capacity[0] = 9
    assert problem.capacity[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        problem.capacity[0] = 9


def test_a_policy_names_the_data_that_it_lacks() -> None:
    with pytest.raises(ProblemError, match="series is empty, but the policy correlation needs it"):
        PlacementProblem(units=ABC, capacity=np.ones(2)).need("series", "correlation")


def test_plans_and_places_name_the_same_nodes() -> None:
    problem = PlacementProblem(units=ABC, capacity=np.ones(2))
    assert problem.places(problem.plan(np.array([0, 1, 1]))).tolist() == [0, 1, 1]
    assert problem.places(Plan(1, 5, {"a": 4, "c": 0})).tolist() == [-1, -1, 0]

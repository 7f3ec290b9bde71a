from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from drover.errors import ProblemError
from drover.placement.baseline import place_in_turn, place_unplaced
from drover.placement.faults import faults
from drover.placement.problem import PlacementProblem
from drover.placement.rules import fuse, owners, relabel, repair
from tests.strategies.problems import problems

ABC = ("a", "b", "c")


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param((), [0, 1, 2, 3], id="no group"),
        pytest.param(((1, 3),), [0, 1, 2, 1], id="one group"),
        pytest.param(((0, 1), (2, 3), (1, 2)), [0, 0, 0, 0], id="groups that share units are one"),
    ],
)
def test_owners(groups: tuple[tuple[int, ...], ...], expected: list[int]) -> None:
    assert owners(4, groups).tolist() == expected


def test_a_fused_problem_has_the_same_load() -> None:
    problem = PlacementProblem(
        units=ABC, capacity=np.ones(2), coefficients=np.eye(3), together=((0, 2),), state=np.array([1.0, 2, 4])
    )
    fused = fuse(problem)
    assert fused.problem.units == ("a+c", "b")
    assert fused.problem.coefficients.tolist() == [[1, 0, 1], [0, 1, 0]]
    assert fused.problem.state.tolist() == [5, 2]
    assert fused.spread(np.array([1, 0])).tolist() == [1, 0, 1]


def test_readers_of_a_source_stay_readers_when_they_are_fused() -> None:
    problem = PlacementProblem(
        units=tuple("abcd"), capacity=np.ones(2), together=((0, 1),), readers=((0, 1), (1, 3), (0, 3), (2, 3))
    )
    assert fuse(problem).problem.readers == ((0, 2), (1, 2))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"together": ((0, 1),), "apart": ((1, 0),)}, "together joins two", id="together and apart"),
        pytest.param({"together": ((0, 1),), "pinned": [0, 1, -1]}, "no node is allowed for all", id="two pins"),
        pytest.param({"apart": ((0, 1, 2),)}, "no plan for 2 nodes was found", id="more units than nodes"),
    ],
)
def test_rules_that_no_plan_keeps_are_an_error(fields: dict[str, object], says: str) -> None:
    problem = PlacementProblem(units=ABC, capacity=np.ones(2), **fields)  # type: ignore[arg-type]  # as above
    with pytest.raises(ProblemError, match=says):
        repair(fuse(problem).problem, np.zeros(3, dtype=np.int64))


def test_a_repair_undoes_placements_that_lead_nowhere() -> None:
    allowed = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0]])
    problem = PlacementProblem(units=ABC, capacity=np.ones(3), allowed=allowed, apart=((0, 1, 2),))
    assert repair(problem, np.array([0, 0, 0])).tolist() == [2, 0, 1]


@given(problem=problems())
def test_a_repair_is_sound_and_leaves_sound_plans_alone(problem: PlacementProblem) -> None:
    fused = fuse(problem)
    repaired = repair(fused.problem, place_in_turn(fused.problem, np.random.default_rng(0)))
    assert list(faults(problem, fused.spread(repaired))) == []
    assert repair(fused.problem, repaired).tolist() == repaired.tolist()
    assert place_unplaced(fused.problem, repaired).tolist() == repaired.tolist()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [0, 1, 1, 2], id="only one unit moves"),
        pytest.param({"capacity": np.array([1.0, 2.0, 2.0])}, [2, 1, 1, 0], id="nodes that differ keep their numbers"),
        pytest.param({"pinned": np.array([1, -1, -1, -1])}, [1, 0, 0, 2], id="and so do nodes with pins"),
        pytest.param({"current": np.full(4, -1)}, [1, 2, 2, 0], id="without a plan nothing is exchanged"),
    ],
)
def test_equal_nodes_are_swapped_to_save_moves(fields: dict[str, object], expected: list[int]) -> None:
    given = {"capacity": np.ones(3), "current": np.array([0, 1, 0, 2]), "state": np.array([5.0, 5, 1, 5])} | fields
    problem = PlacementProblem(units=tuple("abcd"), **given)  # type: ignore[arg-type]  # fields by name
    assert relabel(problem, np.array([1, 2, 2, 0])).tolist() == expected

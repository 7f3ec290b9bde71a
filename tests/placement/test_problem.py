"""Problems: sound in shape or refused by name; fused, repaired and checked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from drover.errors import ProblemError
from drover.placement.baseline import place_in_turn, settle
from drover.placement.faults import faults
from drover.placement.plan import Move, Plan, apply, moves
from drover.placement.problem import Problem
from drover.placement.rules import fuse, owners, relabel, repair
from tests.strategies.problems import problems

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
def test_what_contradicts_itself_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        Problem(**({"units": ABC, "capacity": [1.0, 1.0]} | fields))  # type: ignore[arg-type]  # refused is the point


def test_arrays_are_read_only_copies() -> None:
    capacity = np.ones(2)
    problem = Problem(units=ABC, capacity=capacity)
    capacity[0] = 9
    assert problem.capacity[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        problem.capacity[0] = 9


def test_a_policy_says_what_it_lacks() -> None:
    with pytest.raises(ProblemError, match="series is empty, but the policy correlation decides by it"):
        Problem(units=ABC, capacity=np.ones(2)).need("series", "correlation")


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
    problem = Problem(
        units=ABC, capacity=np.ones(2), coefficients=np.eye(3), together=((0, 2),), state=np.array([1.0, 2, 4])
    )
    fused = fuse(problem)
    assert fused.problem.units == ("a+c", "b")
    assert fused.problem.coefficients.tolist() == [[1, 0, 1], [0, 1, 0]]
    assert fused.problem.state.tolist() == [5, 2]
    assert fused.spread(np.array([1, 0])).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"together": ((0, 1),), "apart": ((1, 0),)}, "together joins two", id="together and apart"),
        pytest.param({"together": ((0, 1),), "pinned": [0, 1, -1]}, "no node is allowed for all", id="two pins"),
        pytest.param({"apart": ((0, 1, 2),)}, "no plan for 2 nodes was found", id="more units than nodes"),
    ],
)
def test_rules_that_no_plan_keeps_are_an_error(fields: dict[str, object], says: str) -> None:
    problem = Problem(units=ABC, capacity=np.ones(2), **fields)  # type: ignore[arg-type]  # as above
    with pytest.raises(ProblemError, match=says):
        repair(fuse(problem).problem, np.zeros(3, dtype=np.int64))


def test_a_repair_takes_back_what_leads_nowhere() -> None:
    allowed = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0]])
    problem = Problem(units=ABC, capacity=np.ones(3), allowed=allowed, apart=((0, 1, 2),))
    assert repair(problem, np.array([0, 0, 0])).tolist() == [2, 0, 1]


@given(problem=problems())
def test_a_repair_is_sound_and_leaves_sound_plans_alone(problem: Problem) -> None:
    fused = fuse(problem)
    repaired = repair(fused.problem, place_in_turn(fused.problem, np.random.default_rng(0)))
    assert list(faults(problem, fused.spread(repaired))) == []
    assert repair(fused.problem, repaired).tolist() == repaired.tolist()
    assert settle(fused.problem, repaired).tolist() == repaired.tolist()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [0, 1, 1, 2], id="only one unit moves"),
        pytest.param({"capacity": np.array([1.0, 2.0, 2.0])}, [2, 1, 1, 0], id="nodes that differ keep their numbers"),
        pytest.param({"pinned": np.array([1, -1, -1, -1])}, [1, 0, 0, 2], id="and so do nodes with pins"),
        pytest.param({"current": np.full(4, -1)}, [1, 2, 2, 0], id="without a plan nothing is exchanged"),
    ],
)
def test_nodes_that_are_alike_are_exchanged_so_that_little_moves(
    fields: dict[str, object], expected: list[int]
) -> None:
    given = {"capacity": np.ones(3), "current": np.array([0, 1, 0, 2]), "state": np.array([5.0, 5, 1, 5])} | fields
    problem = Problem(units=tuple("abcd"), **given)  # type: ignore[arg-type]  # fields by name
    assert relabel(problem, np.array([1, 2, 2, 0])).tolist() == expected


@pytest.mark.parametrize(
    ("places", "says"),
    [
        pytest.param([0, 0, 0], [], id="sound"),
        pytest.param([0, 0], ["places is 2 long"], id="a unit is missing"),
        pytest.param([0, 2, 0], ["b.node is 2, but the nodes are 0 to 1"], id="no such node"),
        pytest.param([1, 1, 1], ["a.node is 1, but it is pinned to node 0", "not allowed"], id="pinned, and barred"),
        pytest.param([0, 1, 0], ["stay together"], id="separated"),
    ],
)
def test_faults_are_named(places: list[int], says: list[str]) -> None:
    problem = Problem(
        units=ABC,
        capacity=np.ones(2),
        pinned=[0, -1, -1],  # type: ignore[arg-type]  # lists are taken, too
        allowed=[[1, 1], [1, 1], [1, 0]],  # type: ignore[arg-type]  # as above
        together=((1, 2),),
    )
    found = [str(fault) for fault in faults(problem, np.array(places))]
    assert all(any(text in fault for fault in found) for text in says)
    assert bool(found) == bool(says)


def test_units_that_stay_apart_do_not_share_a_node() -> None:
    problem = Problem(units=ABC, capacity=np.ones(2), apart=((0, 2),))
    (fault,) = faults(problem, np.array([1, 0, 1]))
    assert "a is there too" in str(fault)


def test_moves_lead_from_plan_to_plan() -> None:
    before, after = Plan(4, 3, {"a": 0, "b": 1}), Plan(9, 3, {"a": 2, "b": 1, "c": 0})
    found = moves(before, after, {"a": 10.0, "c": 7.0})
    assert found == (Move("a", 0, 2, 10.0), Move("c", None, 0, 0.0))
    assert apply(before, found) == Plan(5, 3, after.node_of)
    assert str(found[0]) == "a: node 0 -> node 2"
    with pytest.raises(Exception, match="Work out the moves again"):
        apply(after, found)


def test_plans_and_places_name_the_same_nodes() -> None:
    problem = Problem(units=ABC, capacity=np.ones(2))
    assert problem.places(problem.plan(np.array([0, 1, 1]))).tolist() == [0, 1, 1]
    assert problem.places(Plan(1, 5, {"a": 4, "c": 0})).tolist() == [-1, -1, 0]

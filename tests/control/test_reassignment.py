from __future__ import annotations

import math

import numpy as np
import pytest

from drover.control.executors import LostExecutor
from drover.control.reassignment import describe_cause, orphaned, reassign
from drover.placement.problem import NOWHERE, PlacementProblem
from tests.control.problems import problem

THREE = (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("current", "pinned", "closed", "orphans"),
    [
        pytest.param([0, 1], [], [], [], id="every unit has its node"),
        pytest.param([NOWHERE, 1], [], [], [0], id="a new unit"),
        pytest.param([0, 1], [], [1], [1], id="a unit of a closed node"),
        pytest.param([0, 1], [1, NOWHERE], [], [0], id="a unit that is not where it is pinned"),
        pytest.param([0, 1], [0, NOWHERE], [], [], id="a unit that is where it is pinned"),
    ],
)
def test_orphaned(current: list[int], pinned: list[int], closed: list[int], orphans: list[int]) -> None:
    found = orphaned(problem([0.1, 0.1], current, pinned=pinned), closed)
    assert np.flatnonzero(found).tolist() == orphans


def placed(given: PlacementProblem, orphans: list[int], memory: float = math.inf) -> list[int]:
    flags = np.isin(np.arange(given.m), orphans)
    return [int(node) for node in reassign(given, flags, memory).places]


def test_the_largest_goes_first_and_each_to_the_least_loaded_node() -> None:
    given = problem([0.1, 0.3, 0.2, 0.5], [NOWHERE, NOWHERE, NOWHERE, 2], capacity=THREE)
    # b to the first of two empty nodes, c to the other one, a to c, where less is.
    assert placed(given, [0, 1, 2]) == [1, 0, 1, 2]


def test_load_counts_over_capacity() -> None:
    given = problem([0.3, 0.2], [NOWHERE, 1], capacity=(0.5, 2.0))
    assert placed(given, [0]) == [1, 1], "0.5 of 2 is less than 0.3 of 0.5"


def test_other_units_stay() -> None:
    given = problem([0.1, 0.9, 0.1], [NOWHERE, 0, 0], capacity=THREE)
    assert placed(given, [0]) == [1, 0, 0]


def test_pinned_units_are_placed_before_larger_ones() -> None:
    given = problem([0.5, 0.1], [NOWHERE, NOWHERE], pinned=[NOWHERE, 0])
    assert placed(given, [0, 1]) == [1, 0], "a would go to node 0 if it were first"


def test_an_orphan_counts_on_its_node_until_it_leaves() -> None:
    """Both a and b are pinned to node 2; what a leaves behind on node 0 makes room for c there."""
    given = problem([0.5, 0.4, 0.3], [0, 1, NOWHERE], capacity=THREE, pinned=[2, NOWHERE, NOWHERE])
    assert placed(given, [0, 2]) == [2, 1, 0]


def test_state_that_leaves_makes_room_on_its_node() -> None:
    given = problem([0.5, 0.1], [0, NOWHERE], state=[80.0, 60.0], pinned=[1, NOWHERE], allowed=[[1, 1], [1, 0]])
    assert placed(given, [0, 1], memory=100.0) == [1, 0]


def test_a_node_without_room_is_passed_over() -> None:
    given = problem([0.1, 0.5, 0.1], [NOWHERE, 0, 1], state=[50.0, 10.0, 60.0])
    assert placed(given, [0], memory=100.0) == [0, 0, 1], "node 1 has less load, but no room"
    assert placed(given, [0], memory=110.0) == [1, 0, 1], "exactly full is allowed"


def test_a_unit_without_room_anywhere_stays_and_a_refusal_names_its_state() -> None:
    given = problem([0.1, 0.5], [NOWHERE, 0], state=[5000.0, 10.0])
    found = reassign(given, np.array([True, False]), 100.0)
    assert found.moves == ()
    assert found.places.tolist() == [NOWHERE, 0]
    (refusal,) = found.refusals
    assert (refusal.move.unit, refusal.move.source, refusal.move.target) == ("a", None, 1)
    assert refusal.reason == "no node that it may be on has room for its 5,000 bytes of state"


def test_after_a_refusal_the_loads_of_later_units_are_still_right() -> None:
    """a has no room anywhere; then b and c, which are new, are spread over both nodes."""
    given = problem([0.9, 0.3, 0.2], [NOWHERE, NOWHERE, NOWHERE], state=[500.0, 1.0, 1.0])
    found = reassign(given, np.ones(3, dtype=np.bool_), 100.0)
    assert found.places.tolist() == [NOWHERE, 0, 1]
    assert [move.unit for move in found.moves] == ["b", "c"]
    assert [refusal.move.unit for refusal in found.refusals] == ["a"]


def test_after_a_refusal_a_unit_of_node_0_still_leaves_it() -> None:
    """a has no room anywhere. b leaves node 0, so d, which may only be there, finds its place lightly loaded."""
    given = problem(
        [0.9, 0.6, 0.1, 0.3],
        [NOWHERE, 0, 1, NOWHERE],
        capacity=THREE,
        state=[500.0, 60.0, 0.0, 60.0],
        pinned=[NOWHERE, 2, NOWHERE, NOWHERE],
        allowed=[[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 0, 0]],
    )
    found = reassign(given, np.array([True, True, False, True]), 100.0)
    assert found.places.tolist() == [NOWHERE, 2, 1, 0]


def test_moves_have_source_target_and_bytes() -> None:
    given = problem([0.1, 0.5], [1, 0], state=[7.0, 3.0], pinned=[0, 1])
    moves = reassign(given, np.array([True, True]), math.inf).moves
    assert [(move.unit, move.source, move.target, move.bytes) for move in moves] == [
        ("a", 1, 0, 7.0),
        ("b", 0, 1, 3.0),
    ]


@pytest.mark.parametrize(
    ("current", "closed", "cause"),
    [
        pytest.param([1, 1], [1], "node 1 is closed", id="a closed node"),
        pytest.param([1, 0], [0, 1], "node 0, 1 is closed", id="closed nodes in order"),
        pytest.param([0, 0], [1], "they are not where they are pinned", id="a pin"),
        pytest.param([NOWHERE, NOWHERE], [], "they are new", id="new units"),
        pytest.param([NOWHERE, 1], [1], "node 1 is closed and they are new", id="two causes"),
        pytest.param([NOWHERE, 0], [], "they are new and they are not where they are pinned", id="new, and a pin"),
    ],
)
def test_the_cause_in_words(current: list[int], closed: list[int], cause: str) -> None:
    given = problem([0.1, 0.1], current, capacity=THREE)
    assert describe_cause(given, np.array([0, 1]), closed) == cause


@pytest.mark.parametrize(
    ("current", "closed", "cause"),
    [
        pytest.param([1, 1], [1], "executor 4 was lost: node 1 ran on it", id="a lost executor"),
        pytest.param([1, 2], [1, 2], "executor 4 was lost: nodes 1, 2 ran on it", id="several nodes of one executor"),
        pytest.param([1, 0], [0, 1], "node 0 is closed and executor 4 was lost: node 1 ran on it", id="one is drained"),
        pytest.param([NOWHERE, 1], [1], "they are new and executor 4 was lost: node 1 ran on it", id="new units, too"),
        pytest.param([0, 0], [0], "node 0 is closed", id="none of these units ran there"),
    ],
)
def test_a_lost_executor_is_a_cause(current: list[int], closed: list[int], cause: str) -> None:
    given = problem([0.1, 0.1], current, capacity=THREE)
    lost = (LostExecutor("4", "it died", 1, (1, 2)), LostExecutor("5", "it died", 1, ()))
    assert describe_cause(given, np.array([0, 1]), closed, lost) == cause


def test_loads_of_placed_orphans_add_up_on_their_node() -> None:
    """d may go to nodes 0 and 1; on node 0 are a and b by then, and a alone would look lighter than c."""
    given = problem(
        [0.5, 0.4, 0.7, 0.1],
        [0, NOWHERE, 1, NOWHERE],
        pinned=[NOWHERE, 0, NOWHERE, NOWHERE],
    )
    assert placed(given, [1, 3]) == [0, 0, 1, 1]


def test_a_refusal_names_the_node_that_would_be_lightest_with_the_unit() -> None:
    given = problem([0.6, 0.3, 0.0], [NOWHERE, 0, 1], state=[5000.0, 0.0, 0.0], capacity=(2.0, 0.4))
    (refusal,) = reassign(given, np.array([True, False, False]), 100.0).refusals
    assert refusal.move.target == 0, "0.9 of 2 is less than 0.6 of 0.4, though node 1 is empty"

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from drover.control.moves import ChosenMoves, MoveCost, MoveLimits, choose_moves, move_of, moves_of, overfull
from drover.control.settings import Control
from drover.placement.plan import Move
from drover.placement.problem import NOWHERE, PlacementProblem
from tests.control.problems import problem


def choose(
    given: PlacementProblem,
    wanted: list[int],
    *,
    whole: bool = False,
    resting: dict[str, int] | None = None,
    least: float = 1e-3,
    memory: float = math.inf,
    most_moves: int = 10,
    owner: Sequence[int] | None = None,
) -> ChosenMoves:
    limits = MoveLimits.of(Control(memory=memory, most_moves=most_moves), np.array(owner or range(given.m)))
    return choose_moves(given, np.array(wanted), limits, resting or {}, MoveCost(), whole=whole, least=least)


def reasons(chosen: ChosenMoves) -> dict[str, str]:
    return {refusal.move.unit: refusal.reason for refusal in chosen.refusals}


def test_a_move_costs_seconds_per_byte_and_per_move() -> None:
    cost = MoveCost(per_byte=0.5, per_move=2.0)
    assert cost.of([]) == 0.0
    assert cost.of([Move("a", 0, 1, 10.0), Move("b", None, 1, 4.0)]) == pytest.approx(11.0)


def test_a_good_move_is_made_and_a_bad_one_refused() -> None:
    given = problem([0.4, 0.4, 0.1, 0.0], [0, 0, 1, 2], capacity=(1.0, 1.0, 1.0, 1.0))
    found = choose(given, [0, 1, 1, 3])
    assert found.places.tolist() == [0, 1, 1, 2]
    assert [move.unit for move in found.moves] == ["b"]
    assert reasons(found) == {"d": "it improves nothing once the others have moved"}


def test_nothing_is_made_where_nothing_improves() -> None:
    found = choose(problem([0.3, 0.3], [0, 1]), [1, 0])
    assert found.moves == ()
    assert found.places.tolist() == [0, 1]
    assert reasons(found) == dict.fromkeys("ab", "it improves nothing")


def test_an_exchange_is_made_as_a_whole_or_not_at_all() -> None:
    given = problem([0.6, 0.1, 0.4], [0, 0, 1])
    found = choose(given, [1, 0, 0])
    assert {move.unit for move in found.moves} == {"a", "c"}
    assert choose(given, [1, 0, 0], most_moves=1).moves == ()
    assert reasons(choose(given, [1, 0, 0], most_moves=1)) == dict.fromkeys("ac", "at most 1 units move per period")


def test_the_limit_counts_over_all_groups() -> None:
    given = problem([0.4, 0.4, 0.4, 0.4], [0, 0, 1, 1], capacity=(1.0, 1.0, 1.0, 1.0))
    wanted = [0, 2, 1, 3]
    assert len(choose(given, wanted, most_moves=2).moves) == 2
    one = choose(given, wanted, most_moves=1)
    assert len(one.moves) == 1
    assert list(reasons(one).values()) == ["at most 1 units move per period"]
    assert len(choose(given, wanted, most_moves=1, whole=True).moves) == 2, "a first plan is made at once"


def test_a_super_operator_counts_as_one_move() -> None:
    given = problem([0.4, 0.2, 0.2, 0.2], [0, 0, 0, 0])
    wanted = [0, 1, 1, 0]
    assert choose(given, wanted, most_moves=1).moves == ()
    together = choose(given, wanted, most_moves=1, owner=[0, 1, 1, 2])
    assert [move.unit for move in together.moves] == ["b", "c"]


def test_the_best_gain_for_its_cost_is_made_first() -> None:
    given = problem([0.4, 0.4, 0.4, 0.4], [0, 0, 1, 1], capacity=(1.0, 1.0, 1.0, 1.0), state=[0.0, 1e9, 0.0, 1000.0])
    assert [move.unit for move in choose(given, [0, 2, 1, 3], most_moves=1).moves] == ["d"]


def test_resting_units_stay() -> None:
    given = problem([0.4, 0.4], [0, 0])
    found = choose(given, [0, 1], resting={"b": 3})
    assert found.moves == ()
    assert reasons(found) == {"b": "it moved recently and rests for 3 more periods"}


def test_the_least_gain_can_be_switched_off() -> None:
    given = problem([0.3, 0.3], [0, 1])
    assert choose(given, [1, 0], whole=True, least=-math.inf).places.tolist() == [1, 0]
    assert choose(given, [1, 0], whole=True, least=0.0).moves == (), "a gain of 0 is not above 0"


def test_no_node_is_filled_above_its_capacity() -> None:
    given = problem([1.45, 0.45, 0.2], [0, 0, 1], capacity=(2.0, 0.6))
    found = choose(given, [0, 1, 1])
    assert found.moves == ()
    assert reasons(found) == {"b": "node 1 would be loaded to 1.08 of its capacity"}


def test_an_overloaded_node_may_be_relieved_by_filling_another_less() -> None:
    given = problem([1.0, 1.0, 0.6], [0, 0, 1])
    assert choose(given, [0, 1, 1]).places.tolist() == [0, 1, 1], "1.6 is less than 2"


def test_no_node_holds_more_state_than_it_may() -> None:
    given = problem([0.4, 0.4], [0, 0], state=[60.0, 60.0])
    assert reasons(choose(given, [0, 1], memory=50.0)) == {
        "b": "node 1 would hold 60 bytes of state, above 50",
    }
    assert choose(given, [0, 1], memory=60.0).moves != ()


@pytest.mark.parametrize(
    ("before", "after", "memory", "says"),
    [
        pytest.param([0, 0], [0, 1], 100.0, None, id="there is room"),
        pytest.param([0, 1], [1, 1], 100.0, "node 1 would hold 120 bytes of state, above 100", id="too much"),
        pytest.param([1, 1], [1, 1], 100.0, None, id="it was too much before"),
        pytest.param([1, 1], [0, 1], 50.0, "node 0 would hold 60 bytes of state, above 50", id="only growth counts"),
        pytest.param([NOWHERE, 0], [NOWHERE, 0], 10.0, None, id="a unit without a node holds nothing"),
    ],
)
def test_overfull(before: list[int], after: list[int], memory: float, says: str | None) -> None:
    given = problem([0.1, 0.1], [0, 0], state=[60.0, 60.0])
    assert overfull(given, np.array(before), np.array(after), memory) == says


def test_moves_of_units() -> None:
    given = problem([0.1, 0.1], [NOWHERE, 0], state=[5.0, 6.0])
    assert move_of(given, 0, np.array([1, 0])) == Move("a", None, 1, 5.0)
    assert moves_of(given, [1, 0], np.array([0, 1])) == [Move("b", 0, 1, 6.0), Move("a", None, 0, 5.0)]


FOUR = (1.0, 1.0, 1.0, 1.0)


def test_every_group_is_judged_by_its_own_gain() -> None:
    """a alone makes things worse, c alone makes them much better; both together still look good."""
    given = problem([0.1, 0.65, 0.7, 0.3], [3, 1, 0, 0], capacity=FOUR)
    found = choose(given, [1, 1, 2, 0])
    assert [move.unit for move in found.moves] == ["c"]


def test_a_first_plan_is_judged_as_a_whole() -> None:
    """a goes where b leaves; neither move is good by itself."""
    given = problem([0.5, 0.5, 0.3], [0, 1, 0], capacity=(1.0, 1.0, 1.0))
    wanted = [1, 2, 0]
    assert choose(given, wanted, whole=True).places.tolist() == wanted
    assert choose(given, wanted).places.tolist() == [0, 1, 0]


def test_groups_are_formed_by_both_nodes() -> None:
    """a and b go to the same node from different ones: a is worth it, b is not."""
    given = problem([0.5, 0.2, 0.5], [0, 1, 0], capacity=(1.0, 1.0, 1.0))
    found = choose(given, [2, 2, 0])
    assert [move.unit for move in found.moves] == ["a"]


def test_after_an_obstacle_the_next_group_is_tried_and_earlier_refusals_are_kept() -> None:
    """The exchange of a and b is best, but two moves are too many; the move of d is made, and f rests."""
    given = problem([0.7, 0.2, 0.3, 0.2, 0.1], [0, 1, 0, 2, 2], capacity=FOUR)
    found = choose(given, [1, 0, 0, 3, 3], most_moves=1, resting={"e": 4})
    assert [move.unit for move in found.moves] == ["d"]
    assert reasons(found) == {
        "e": "it moved recently and rests for 4 more periods",
        "a": "at most 1 units move per period",
        "b": "at most 1 units move per period",
    }


def test_units_without_load_gain_nothing() -> None:
    found = choose(problem([0.0, 0.0], [0, 0]), [0, 1])
    assert reasons(found) == {"b": "it improves nothing"}


def test_a_gain_is_a_share_of_the_pressure() -> None:
    """0.1 of 100 is a thousandth of the pressure, however large that is."""
    given = problem([100.0, 0.04, 100.0], [0, 0, 1], capacity=(1000.0, 1000.0))
    assert choose(given, [0, 1, 1], least=1e-3).moves == ()


@pytest.mark.parametrize(
    ("loads", "moved"),
    [
        pytest.param([1.0, 1.0, 0.0], True, id="just full is allowed"),
        pytest.param([1.2, 0.45, 1.15], True, id="no fuller than the fullest before"),
    ],
)
def test_a_node_may_be_full(loads: list[float], moved: bool) -> None:
    given = problem(loads, [0, 0, 1])
    assert (choose(given, [0, 1, 1]).places.tolist() == [0, 1, 1]) is moved

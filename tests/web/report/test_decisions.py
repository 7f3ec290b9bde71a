from __future__ import annotations

from dataclasses import replace

import pytest

from drover.control.record import PeriodOutcome, PeriodRecord, RefusedMove, Reshape
from drover.network.grid import Grid
from drover.placement.plan import Move, Plan
from drover.web.report.decisions import OUTSIDE_LOOP, last_decisions, plan_changes, refusal_groups
from tests.web.sample_run import PLAN, proposal, record, records


def test_changes_are_numbered_with_moves_and_reasons() -> None:
    moved, by_hand = plan_changes(records(), PLAN)
    reason = "cor-se-imp: the slowest node is spared 0.12"
    assert (moved.number, moved.period, moved.plan, moved.reason) == (1, 7, 2, reason)
    assert [str(move) for move in moved.moves] == ["counts: node 0 -> node 2"]
    assert (by_hand.number, by_hand.period, by_hand.plan, by_hand.reason) == (2, 10, 3, OUTSIDE_LOOP)
    assert (moved.by_loop, by_hand.by_loop) == (True, False)


@pytest.mark.parametrize(
    ("plans", "now", "changes"),
    [
        pytest.param([1, 1, 1], 1, [], id="a plan that stays"),
        pytest.param([1, 2, 2], 2, [2], id="a plan by hand"),
        pytest.param([1, 1], 2, [2], id="a plan after the last record"),
        pytest.param([2, 2], 1, [], id="a plan of the last record that no batch has used yet"),
        pytest.param([], 4, [], id="no records"),
        pytest.param([7], 7, [], id="the first record that is kept"),
    ],
)
def test_plans_from_elsewhere(plans: list[int], now: int, changes: list[int]) -> None:
    found = [replace(record(index + 1), plan=plan) for index, plan in enumerate(plans)]
    assert [change.plan for change in plan_changes(found, Plan(now, 1, {}))] == changes


def test_a_plan_of_the_loop_itself_is_not_from_elsewhere() -> None:
    made = [replace(record(1), kind=PeriodOutcome.MOVED, plan=1, proposal=proposal()), replace(record(2), plan=2)]
    assert [change.reason for change in plan_changes(made, Plan(2, 1, {}))] == [made[0].reason]


def test_a_refused_proposal_is_not_listed_as_a_change() -> None:
    refused = replace(record(1), kind=PeriodOutcome.REFUSED, proposal=proposal())
    assert plan_changes([refused], None) == ()


def test_a_join_that_changes_its_shape_is_a_change_without_moves() -> None:
    shaped = replace(proposal(), moves=(), shapes=(Reshape("pairs", Grid(2, 2), Grid(1, 1)),))
    (change,) = plan_changes([replace(record(1), kind=PeriodOutcome.MOVED, plan=1, proposal=shaped)], Plan(2, 1, {}))
    assert (change.moves, [str(shape) for shape in change.shapes]) == ((), ["pairs: 2 x 2 -> 1 x 1"])
    (group,) = refusal_groups([replace(record(1), kind=PeriodOutcome.REFUSED, proposal=shaped)])
    assert group.what.endswith("with pairs: 2 x 2 -> 1 x 1")


def test_reasons_that_differ_in_numbers_are_one_group_newest_first() -> None:
    resting, plan = refusal_groups(records())
    assert (resting.times, resting.first, resting.last) == (3, 8, 10)
    assert resting.reason == "it has moved lately and rests for 7 more periods"
    assert (plan.what, plan.times, plan.first, plan.last) == ("a new plan", 1, 3, 3)


def _refusing(period: int, *moves: tuple[str, str]) -> PeriodRecord:
    return replace(record(period), refusals=tuple(RefusedMove(Move(unit, 0, 1), why) for unit, why in moves))


def test_units_and_reasons_are_distinguished() -> None:
    found = refusal_groups(
        [_refusing(1, ("a", "rests 3"), ("b", "rests 3")), _refusing(2, ("a", "rests 2.5e-3"), ("a", "dear"))]
    )
    assert [(group.what, group.reason, group.times) for group in found] == [
        ("a: node 0 -> node 1", "dear", 1),
        ("a: node 0 -> node 1", "rests 2.5e-3", 2),
        ("b: node 0 -> node 1", "rests 3", 1),
    ]


def test_numbers_in_the_names_of_units_do_not_mix_them_up() -> None:
    assert len(refusal_groups([_refusing(1, ("u1", "no"), ("u2", "no"))])) == 2


def test_a_large_plan_that_is_refused_names_its_first_moves() -> None:
    many = replace(proposal(), moves=tuple(Move(f"u{j}", 0, 1) for j in range(8)))
    (group,) = refusal_groups([replace(record(1), kind=PeriodOutcome.REFUSED, proposal=many)])
    assert group.what.endswith("u4: node 0 -> node 1 and 3 more")


def test_the_last_decision_about_a_unit() -> None:
    found = last_decisions(records())
    assert found == {"counts": "period 10: stays, it has moved lately and rests for 7 more periods"}
    assert last_decisions(records()[:7])["counts"].startswith("period 7: moved (node 0 to node 2), ")

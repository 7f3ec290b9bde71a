"""Plans on trial, and proposals that wait to be applied."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drover.control import loop
from drover.control.context import ControlContext
from drover.control.loop import OUTDATED, step
from drover.control.record import PeriodOutcome, Proposal, Reshape
from drover.control.settings import Mode
from drover.control.view import View
from drover.network.grid import Grid
from tests.control.decisions import HALF, UNEVEN, end, measured, on_trial, outcome_of, policy_of, uneven_run, waiting
from tests.control.runs import Run, shifted, start


@pytest.fixture
def run() -> Run:
    return uneven_run()


def test_a_good_plan_is_put_on_trial(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    context, proposal = on_trial(run, monkeypatch)
    assert context.state.trial == proposal
    assert {move.unit for move in proposal.moves} == set(HALF)
    assert proposal.reason.startswith("cor-se-imp: lowers the load of the slowest node by 0.")
    assert proposal.goals, "the judge was asked"
    assert proposal.gain == pytest.approx(max(proposal.before) - max(proposal.after), abs=0.02)
    assert not proposal.forced
    assert not proposal.evens


def test_the_record_of_a_trial_says_how_long_it_lasts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "propose_fused", policy_of(*HALF))
    _, record = step(measured(run, 10).with_state(placed=True))
    assert record.reason.endswith("; it has 2 periods to show it")


@pytest.mark.parametrize(
    ("trial", "load"),
    [pytest.param(0, 0.3, id="without a trial"), pytest.param(2, 1.2, id="with an overloaded node")],
)
def test_some_plans_need_no_trial(trial: int, load: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "propose_fused", policy_of(*HALF))
    run = start(nodes=2, count=2, plan="whole", load=load, noise=0.01)
    context = measured(run, 10).with_state(placed=True).with_settings(trial=trial)
    state, record = step(context)
    assert record.kind is PeriodOutcome.MOVED
    assert state.moved == dict.fromkeys(HALF, 10)
    assert state.trial is None


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        pytest.param({"least_gain": 0.9}, "it would lower the load of the slowest node by", id="too little"),
        pytest.param({"payback": 0.01}, "but wins back only", id="too dear"),
    ],
)
def test_a_plan_that_is_not_worth_it_is_refused(
    settings: dict[str, float], says: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "propose_fused", policy_of(*HALF, "s1-0"))
    resting = {"s1-0": 9}
    state, record = step(measured(run, 10).with_state(placed=True, moved=resting).with_settings(**settings))
    assert record.kind is PeriodOutcome.REFUSED
    assert says in record.reason
    assert record.proposal is not None
    assert record.proposal.goals == (), "the judge is not asked in vain"
    assert [refusal.move.unit for refusal in record.refusals] == ["s1-0"]
    assert state.trial is None


def test_a_plan_that_the_judge_rejects_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "propose_fused", policy_of(*HALF))
    monkeypatch.setattr(loop, "judge_proposal", lambda _view, _places, proposal: ("a goal is missed", proposal))
    _, record = step(measured(run, 10).with_state(placed=True))
    assert end(record) == (PeriodOutcome.REFUSED, "a goal is missed")


def test_a_trial_lasts_for_its_periods_and_then_the_plan_is_accepted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, proposal = on_trial(run, monkeypatch)
    state, record = step(measured(run, 1))
    assert end(record) == (PeriodOutcome.TRIAL, "p10 has 1 more periods to show it")
    assert state.trial == record.proposal == proposal
    run.state = state
    state, record = step(measured(run, 1))
    assert record.kind is PeriodOutcome.MOVED
    assert record.proposal is not None
    assert record.proposal.moves == proposal.moves
    assert record.proposal.gain == pytest.approx(proposal.gain, rel=0.1)
    assert record.proposal.gain != proposal.gain, "the gain is what was seen in the trial"
    assert state.trial is None


def test_an_overload_ends_a_trial_early(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    on_trial(run, monkeypatch)
    context = measured(run, 1).with_settings(capacity=(0.2, 1.0))
    _, record = step(context)
    assert record.kind is PeriodOutcome.MOVED


def test_a_plan_that_does_not_keep_its_promise_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, proposal = on_trial(run, monkeypatch)
    context = measured(run, 2).with_settings(least_gain=0.9)
    state, record = step(context)
    assert record.kind is PeriodOutcome.REFUSED
    assert record.reason.startswith(
        f"it promised to lower the load of the slowest node by {proposal.gain:.3g}, and kept "
    )
    assert record.reason.endswith("%) in 2 periods")
    assert state.trial is None
    assert record.proposal == proposal


def test_a_gain_that_may_be_chance_is_watched_for_a_window(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    on_trial(run, monkeypatch)
    for left in range(9, 0, -1):
        state, record = step(measured(run, 1).with_settings(certainty=1e6))
        if left < 9:
            assert record.kind is PeriodOutcome.TRIAL
            assert record.reason.endswith(f"%) in {10 - left} periods, which may yet be chance")
            assert record.proposal == run.state.trial
        run.state = state
    state, record = step(measured(run, 1).with_settings(certainty=1e6))
    assert record.kind is PeriodOutcome.REFUSED
    assert state.trial is None


def test_after_a_trial_the_plan_must_still_be_worth_its_cost(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, proposal = on_trial(run, monkeypatch)
    state, record = step(measured(run, 2).with_settings(payback=0.01))
    assert (record.kind, record.proposal) == (PeriodOutcome.REFUSED, proposal)
    assert "but wins back only" in record.reason
    assert state.trial is None


def test_after_a_trial_the_judge_is_asked_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    on_trial(run, monkeypatch)
    monkeypatch.setattr(loop, "judge_proposal", lambda _view, _places, proposal: ("a goal is missed", proposal))
    state, record = step(measured(run, 2))
    assert end(record) == (PeriodOutcome.REFUSED, "a goal is missed")
    assert state.trial is None


def test_a_trial_ends_when_the_deployment_has_changed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, proposal = on_trial(run, monkeypatch)
    run.deployment = replace(run.deployment, plan=replace(run.deployment.plan, number=5))
    state, record = step(measured(run, 1))
    assert record.proposal == proposal
    assert end(record) == (
        PeriodOutcome.REFUSED,
        "the deployment has changed: plan 1 ran then, and plan 5 does now",
    )
    assert state.trial is None


def test_a_change_of_load_ends_a_trial_and_refuses_its_moves(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, proposal = on_trial(run, monkeypatch)
    for _ in range(2):
        run.measure(shifted(0, 1, 9.0))
    state, record = step(run.context)
    assert state.last_change == 11
    assert [(refusal.move, refusal.reason) for refusal in record.refusals[: len(proposal.moves)]] == [
        (move, OUTDATED) for move in proposal.moves
    ]
    assert state.trial != proposal


@pytest.mark.parametrize(
    ("evens", "kept", "made", "reason"),
    [
        pytest.param(True, "kept", "made", "kept", id="the trial goes on"),
        pytest.param(True, None, "made", "made", id="another plan is more urgent"),
        pytest.param(False, "kept", "made", "made", id="a plan that evens nothing out is not continued"),
        pytest.param(True, None, None, "p10 has 1 more periods to show it", id="there is no other plan"),
    ],
)
def test_a_trial_while_nodes_are_uneven(
    evens: bool, kept: str | None, made: str | None, reason: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, proposal = on_trial(run, monkeypatch)
    run.state = replace(run.state, trial=replace(proposal, evens=evens))
    ended = []

    def rebalance(context: ControlContext, _view: object) -> object:
        ended.append(context.state.trial)
        return None if made is None else outcome_of(made)

    monkeypatch.setattr(loop, "is_uneven", lambda _context, _view: True)
    monkeypatch.setattr(loop, "continue_trial", lambda _context, _view, _proposal: kept and outcome_of(kept))
    monkeypatch.setattr(loop, "rebalance", rebalance)
    assert step(measured(run, 1))[1].reason == reason
    assert set(ended) <= {None}, "the trial is over before another plan is made"


@pytest.mark.parametrize("made", ["made", None])
def test_uneven_nodes_come_before_the_policy(made: str | None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "propose_fused", policy_of())
    monkeypatch.setattr(loop, "is_uneven", lambda _context, _view: True)
    monkeypatch.setattr(loop, "rebalance", lambda _context, _view: made and outcome_of(made))
    reason = step(measured(run, 10).with_state(placed=True))[1].reason
    assert reason == (made or "cor-se-imp moves nothing")


def test_a_trial_of_one_period_is_judged_by_that_period(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, proposal = on_trial(run, monkeypatch)
    run.measure(lambda period, base: {name: 1.3 * rate for name, rate in UNEVEN(period, base).items()})
    _, record = step(run.context.with_settings(trial=1))
    assert record.kind is PeriodOutcome.MOVED
    assert record.proposal is not None
    assert record.proposal.gain == pytest.approx(1.3 * proposal.gain, rel=0.05)


@pytest.mark.parametrize("evens", [False, True])
def test_a_proposal_waits_while_it_holds(evens: bool, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = waiting(run, monkeypatch, evens=evens)
    state, record = step(measured(run, 1))
    assert end(record) == (PeriodOutcome.PROPOSED, "p10 waits to be applied")
    assert state.waiting == record.proposal == proposal


def test_a_proposal_that_evens_out_is_judged_after_its_trial(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, proposal = on_trial(run, monkeypatch)
    run.state = replace(run.state, trial=replace(proposal, evens=True))
    assert step(measured(run, 2))[1].kind is PeriodOutcome.MOVED


@pytest.mark.parametrize(
    ("changes", "settings", "why"),
    [
        pytest.param({"base": 7}, {}, "plan 7 ran then, and plan 1 does now", id="another plan"),
        pytest.param({"forced": True}, {}, "no unit needs a node any more", id="nobody needs a node"),
        pytest.param({}, {"least_gain": 0.9}, "it would lower the load of the slowest node by", id="not worth it"),
    ],
)
def test_a_waiting_proposal_is_withdrawn(
    changes: dict[str, object], settings: dict[str, float], why: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = waiting(run, monkeypatch, **changes)
    state, record = step(measured(run, 1).with_settings(**settings))
    assert record.kind is PeriodOutcome.REFUSED
    assert record.reason.startswith(f"p10 is withdrawn: {why}")
    assert record.proposal == proposal
    assert state.waiting is None


@pytest.mark.parametrize("why", [None, "the load no longer calls for it"])
def test_a_waiting_shape_is_reviewed_by_its_load(why: str | None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = waiting(run, monkeypatch, shapes=(Reshape("j", Grid(1, 1), Grid(2, 1)),))
    seen: list[object] = []

    def why_obsolete(context: ControlContext, view: View, found: Proposal) -> str | None:
        seen.extend([context.state.waiting, view.problem.n, found])
        return why

    monkeypatch.setattr(loop, "why_outdated", lambda _context, _view, _proposal: None)
    monkeypatch.setattr(loop, "why_obsolete", why_obsolete)
    state, record = step(measured(run, 1))
    assert seen == [proposal, 2, proposal]
    assert record.kind is (PeriodOutcome.PROPOSED if why is None else PeriodOutcome.REFUSED)
    assert (state.waiting is None) is (why is not None)


def test_a_waiting_proposal_is_carried_out_when_the_mode_becomes_auto(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = waiting(run, monkeypatch)
    state, record = step(measured(run, 1).with_settings(mode=Mode.AUTO))
    assert (record.kind, record.proposal, state.waiting) == (PeriodOutcome.MOVED, proposal, None)

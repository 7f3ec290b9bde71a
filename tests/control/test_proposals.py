from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drover
from drover.control.context import ControlContext, Deployment
from drover.control.loop import step
from drover.control.manual import check_move, propose_manual_move
from drover.control.proposals import (
    _unique_id,
    apply_proposal,
    current_proposal,
    find_proposal,
    is_applied,
    why_not_applicable,
)
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal, RefusedMove, Reshape
from drover.control.settings import Control, Mode
from drover.control.state import ControlState
from drover.errors import DroverError
from drover.load.sample import Sample
from drover.network.grid import WHOLE, Grid
from drover.network.model import Network
from drover.placement.plan import Move, Plan

UNITS = ("a", "b", "c", "d")
ASKED = Control(mode=Mode.OBSERVE, warm_up=3, window=4)
PERIODS = 5


def network() -> Network:
    net = drover.Builder("flock")
    events = net.source("events", {"ts": "timestamp", "key": "int"}, time="ts")
    for name in UNITS:
        events.filter(name, "key <> 3").output()
    return net.build()


NETWORK = network()


def seen(
    loads: dict[str, float], periods: int = PERIODS, rows: float = 100.0, state: ControlState | None = None
) -> ControlState:
    """What the loop remembers after some periods with these loads."""
    found = state or ControlState()
    for _ in range(periods):
        samples = [Sample(name, {"events": rows}, {name: rows}, busy, 10) for name, busy in loads.items()]
        found = replace(
            found, window=found.window.push(found.period + 1, 1.0, {"events": rows}, samples)
        ).detect_change()
    return found


@st.composite
def deployments(draw: st.DrawFn) -> tuple[ControlState, Deployment]:
    nodes = draw(st.integers(1, 3))
    places = {unit: draw(st.integers(0, nodes - 1)) for unit in UNITS}
    closed = draw(st.frozensets(st.integers(0, nodes - 1), max_size=nodes - 1))
    loads = {unit: draw(st.floats(0.01, 0.6)) for unit in UNITS}
    return seen(loads), Deployment(NETWORK, Plan(draw(st.integers(1, 9)), nodes, places), closed)


UNEVEN = seen({"a": 0.4, "b": 0.25, "c": 0.05, "d": 0.05})
DEPLOYMENT = Deployment(NETWORK, Plan(1, 2, {"a": 0, "b": 0, "c": 1, "d": 1}))


def proposed(state: ControlState = UNEVEN, deployment: Deployment = DEPLOYMENT) -> Proposal:
    found = current_proposal(ControlContext(state, deployment, ASKED)).proposal
    assert found is not None
    return found


@settings(max_examples=60)
@given(deployments())
def test_what_is_offered_is_sound_can_be_had_by_its_name_and_nothing_else(
    drawn: tuple[ControlState, Deployment],
) -> None:
    state, deployment = drawn
    found = current_proposal(ControlContext(state, deployment, ASKED))
    assert current_proposal(ControlContext(state, deployment, ASKED)) == found
    if found.proposal is None:
        assert found.record.reason
        return
    proposal = found.proposal
    assert find_proposal(proposal.id, {proposal.id: proposal}, ControlContext(state, deployment, ASKED), ()) == proposal
    after = apply_proposal(deployment.plan, proposal, deployment.network)
    targets = {move.unit: move.target for move in proposal.moves}
    assert after.node_of == {**deployment.plan.node_of, **targets}
    assert not set(after.node_of.values()) & deployment.closed
    assert (
        why_not_applicable(proposal, ControlContext(state, replace(deployment, plan=after), ASKED)) is not None
    )  # it cannot be done twice


@settings(max_examples=60)
@given(deployments(), deployments())
def test_a_name_stands_for_one_plan(
    one: tuple[ControlState, Deployment], other: tuple[ControlState, Deployment]
) -> None:
    first, second = (current_proposal(ControlContext(*drawn, ASKED)).proposal for drawn in (one, other))
    if first is not None and second is not None and first.id == second.id:
        assert (first.base, first.nodes, [*map(str, first.moves)]) == (
            second.base,
            second.nodes,
            [*map(str, second.moves)],
        )


def test_what_waits_and_what_is_on_trial_is_offered_first() -> None:
    waiting = replace(proposed(), id="p3")
    found = current_proposal(ControlContext(replace(UNEVEN, waiting=waiting), DEPLOYMENT, ASKED))
    assert (found.proposal, found.waits) == (waiting, True)
    trying = Control(mode=Mode.AUTO, warm_up=3, window=4, trial=5)
    state, record = step(ControlContext(UNEVEN, DEPLOYMENT, trying))
    found = current_proposal(ControlContext(state, DEPLOYMENT, trying), [record])
    assert (found.proposal, found.waits, found.record.kind) == (state.trial, False, PeriodOutcome.TRIAL)
    elsewhere = replace(DEPLOYMENT, plan=Plan(4, 2, {**DEPLOYMENT.plan.node_of, "a": 1}))
    assert (
        current_proposal(ControlContext(state, elsewhere, trying)).proposal != state.trial
    )  # it was made for another plan


@pytest.mark.parametrize(
    ("deployment", "asked", "says"),
    [
        pytest.param(
            replace(DEPLOYMENT, plan=Plan(1, 3, DEPLOYMENT.plan.node_of)), ASKED, "there are 3 now", id="more nodes"
        ),
        pytest.param(
            replace(DEPLOYMENT, plan=Plan(2, 2, DEPLOYMENT.plan.node_of)), ASKED, "plan 2 does now", id="a later plan"
        ),
        pytest.param(replace(DEPLOYMENT, closed=frozenset({1})), ASKED, "lost or drained", id="a closed node"),
        pytest.param(DEPLOYMENT, replace(ASKED, pins={"b": 0}), "unit b is pinned to node 0 now", id="a new pin"),
    ],
)
def test_a_changed_deployment_is_refused(deployment: Deployment, asked: Control, says: str) -> None:
    proposal = proposed()
    with pytest.raises(DroverError, match=says):
        find_proposal(proposal.id, {proposal.id: proposal}, ControlContext(UNEVEN, deployment, asked), ())


def test_a_load_that_has_changed_for_good_outdates_what_was_shown_but_not_what_waits() -> None:
    proposal = proposed()
    later = seen({"a": 0.4, "b": 0.25, "c": 0.05, "d": 0.05}, 3, 5_000.0, UNEVEN)
    assert later.last_change > proposal.period
    assert "the load has changed" in str(why_not_applicable(proposal, ControlContext(later, DEPLOYMENT, ASKED)))
    assert why_not_applicable(proposal, ControlContext(replace(later, waiting=proposal), DEPLOYMENT, ASKED)) is None
    assert (
        why_not_applicable(replace(proposal, gain=0.0), ControlContext(later, DEPLOYMENT, ASKED)) is None
    )  # units need a node at any load


def test_what_became_of_a_proposal_is_reported() -> None:
    waiting = replace(proposed(), id="p3")
    _, record = step(ControlContext(replace(UNEVEN, waiting=waiting), DEPLOYMENT, replace(ASKED, mode=Mode.PROPOSE)))
    assert record.kind is PeriodOutcome.PROPOSED
    refused = replace(record, kind=PeriodOutcome.REFUSED, reason="it was not worth it")
    with pytest.raises(DroverError, match="p3 was refused in period 5: it was not worth it"):
        find_proposal("p3", {}, ControlContext(UNEVEN, DEPLOYMENT, ASKED), [record, refused])
    with pytest.raises(DroverError, match=r"there is no proposal 'p4'\. Known: none"):
        find_proposal("p4", {}, ControlContext(UNEVEN, DEPLOYMENT, ASKED), [record])


def test_a_move_by_hand_is_a_proposal_of_one_move() -> None:
    proposal = propose_manual_move("c", 0, ControlContext(UNEVEN, DEPLOYMENT, ASKED))
    assert proposal is not None
    assert apply_proposal(DEPLOYMENT.plan, proposal, DEPLOYMENT.network).node_of == {**DEPLOYMENT.plan.node_of, "c": 0}
    assert proposal.before == (0.65, 0.1)
    assert proposal.after == (0.7, 0.05)
    with pytest.raises(DroverError, match="the proposal starts from plan 1, but plan 7 runs now"):
        apply_proposal(replace(DEPLOYMENT.plan, number=7), proposal, DEPLOYMENT.network)
    with pytest.raises(DroverError, match="cannot go there"):
        check_move("c", 0, replace(DEPLOYMENT, closed=frozenset({0})))
    with pytest.raises(DroverError, match="there is no unit 'z'"):
        check_move("z", 0, DEPLOYMENT)


def test_an_id_depends_on_all_that_changes_and_on_nothing_else() -> None:
    shape = Reshape("pairs", Grid(1, 1), Grid(2, 3))
    base = Proposal("p7", 7, 2, 4, (Move("a", 0, 1),), "why", 0.5, 0.1, (), (), shapes=(shape,))
    others = [
        base,
        replace(base, base=3),
        replace(base, nodes=5),
        replace(base, moves=(Move("a", 0, 2),)),
        replace(base, shapes=()),
        replace(base, shapes=(replace(shape, weights=((1.0, 2.0), ())),)),
        replace(base, shapes=(replace(shape, asked=Grid(2, 3)),)),
    ]
    assert len({_unique_id(each) for each in others}) == len(others)
    assert _unique_id(replace(base, reason="another", gain=0.7)) == _unique_id(base)
    # The digest of the stored values, so that renaming a class or a field does not change what users have written down.
    assert _unique_id(base) == "p7-4ee98cce"


NEWEST = "To see the newest one, run drover plan --from CHECKPOINT."


def refusal(name: str, offered: dict[str, Proposal], context: ControlContext, *records: PeriodRecord) -> str:
    with pytest.raises(DroverError) as caught:
        find_proposal(name, offered, context, records)
    return str(caught.value)


def test_a_proposal_that_cannot_be_had_says_why_and_where_to_look() -> None:
    proposal = replace(proposed(), id="p3")
    context = ControlContext(UNEVEN, DEPLOYMENT, ASKED)
    moved = PeriodRecord(5, PeriodOutcome.MOVED, "even", (), 1, proposal)
    later = PeriodRecord(9, PeriodOutcome.REFUSED, "too late", (), 1, proposal)
    other = PeriodRecord(9, PeriodOutcome.STEADY, "nothing", (), 1)
    offered = {"p4": proposal, "p5": proposal}
    assert refusal("p3", offered, context, moved, other) == f"proposal p3 was carried out in period 5: even. {NEWEST}"
    assert refusal("p3", offered, context, moved, later) == f"proposal p3 was refused in period 9: too late. {NEWEST}"
    tried = replace(moved, kind=PeriodOutcome.TRIAL)
    known = f"there is no proposal 'x9'. Known: p4, p5. {NEWEST}"
    assert refusal("x9", offered, context, replace(tried, proposal=replace(proposal, id="x9"))) == known
    assert refusal("p44", offered, context) == f"there is no proposal 'p44'. Did you mean p4? Known: p4, p5. {NEWEST}"
    closed = replace(context, deployment=replace(DEPLOYMENT, closed=frozenset({1})))
    unit = proposal.moves[0].unit
    assert refusal("p4", offered, closed) == (
        f"proposal p4 is not applied, because the deployment has changed: node 1, where {unit} would go, is lost or "
        f"drained. {NEWEST}"
    )


def test_what_waits_can_be_had_beside_what_was_offered() -> None:
    waiting = replace(proposed(), id="p3")
    context = ControlContext(replace(UNEVEN, waiting=waiting), DEPLOYMENT, ASKED)
    shown = replace(waiting, id="p4")
    assert find_proposal("p3", {"p4": shown}, context, ()) is waiting
    assert find_proposal("p4", {"p4": shown}, context, ()) is shown


def test_a_pin_to_the_target_is_no_obstacle() -> None:
    proposal = proposed()
    (move, *_) = proposal.moves
    pinned = ControlContext(UNEVEN, DEPLOYMENT, replace(ASKED, pins={move.unit: move.target}))
    assert why_not_applicable(proposal, pinned) is None


def test_a_load_that_changed_before_the_proposal_is_no_obstacle() -> None:
    proposal = proposed()
    for period, says in (
        (proposal.period, None),
        (proposal.period + 1, f"the load has changed in period 6, and it was made in period {proposal.period}"),
    ):
        state = replace(UNEVEN, last_change=period)
        assert why_not_applicable(proposal, ControlContext(state, DEPLOYMENT, ASKED)) == says


def test_whether_a_proposal_is_applied() -> None:
    proposal = proposed()
    after = apply_proposal(DEPLOYMENT.plan, proposal, NETWORK)
    assert is_applied(after, proposal)
    assert not is_applied(DEPLOYMENT.plan, proposal)
    assert not is_applied(replace(after, number=proposal.base), proposal), "an equal plan, but an earlier one"
    assert not is_applied(replace(DEPLOYMENT.plan, number=9), proposal), "a later plan, but another one"
    shaped = replace(proposal, shapes=(Reshape("j", WHOLE, Grid(2, 1)),))
    assert not is_applied(after, shaped)


def test_the_record_of_a_proposal_is_its_newest_with_the_refusals_of_its_first() -> None:
    waiting = replace(proposed(), id="p3", reason="even")
    context = ControlContext(replace(UNEVEN, waiting=waiting), DEPLOYMENT, ASKED)
    refused = (RefusedMove(waiting.moves[0], "it rests"),)
    made = PeriodRecord(3, PeriodOutcome.PROPOSED, "even", (0.5,), 1, waiting, refused)
    still = PeriodRecord(4, PeriodOutcome.PROPOSED, "p3 waits to be applied", (0.6,), 1, waiting)
    other = PeriodRecord(5, PeriodOutcome.PROPOSED, "other", (0.7,), 1, replace(waiting, id="p9"))
    nothing = PeriodRecord(5, PeriodOutcome.STEADY, "nothing", (0.7,), 1)
    found = current_proposal(context, [made, still, other, nothing]).record
    assert found == replace(still, reason="even", refusals=refused)
    plain = PeriodRecord(UNEVEN.period, PeriodOutcome.PROPOSED, "even", waiting.before, 1, waiting)
    assert current_proposal(context).record == plain


def test_what_is_worked_out_now_has_a_name_of_its_own_in_its_record() -> None:
    found = current_proposal(ControlContext(UNEVEN, DEPLOYMENT, ASKED))
    assert found.proposal is not None
    assert not found.waits
    assert found.record.proposal == found.proposal
    assert re.fullmatch(r"p5-[0-9a-f]{8}", found.proposal.id)
    elsewhere = replace(DEPLOYMENT, plan=replace(DEPLOYMENT.plan, number=2))
    again = current_proposal(ControlContext(UNEVEN, elsewhere, ASKED)).proposal
    assert again is not None
    assert again.moves == found.proposal.moves
    assert again.id != found.proposal.id, "it starts from another plan"
    alone = Deployment(NETWORK, Plan(1, 1, dict.fromkeys(UNITS, 0)))
    nothing = current_proposal(ControlContext(UNEVEN, alone, ASKED))
    assert (nothing.proposal, nothing.waits) == (None, False)
    assert nothing.record.kind is not PeriodOutcome.PROPOSED

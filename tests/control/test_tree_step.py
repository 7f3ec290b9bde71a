"""What neighbours on a tree decide from measurements, in each mode."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.context import ControlContext, Deployment
from drover.control.explain import explain
from drover.control.loop import step
from drover.control.proposals import current_proposal
from drover.control.record import PeriodOutcome, PeriodRecord, record_of, to_json
from drover.control.settings import Control, control_of
from drover.control.tree_step import _describe_units, _reasons, decide_on_tree
from drover.hierarchy.negotiate import TreeMove
from drover.network.model import Network
from drover.placement.plan import apply
from tests.control.trees import AUTO, TREE, first, measured, on, two_sides

FULL = {"a-1": 50, "a-2": 20, "b-1": 45, "all": 400}  # west is at 70 %, east at 45 %, the city at 40 %


def test_a_full_node_hands_a_unit_to_its_parent_and_says_why() -> None:
    network = two_sides()
    tree = on(network)
    deployment = Deployment(network, first(tree), hierarchy=tree)
    state = measured(network, FULL)
    after, record = step(ControlContext(state, deployment, AUTO))
    assert record.kind is PeriodOutcome.MOVED
    assert record.loads == (0.4, 0.7, 0.45)
    assert record.proposal is not None
    assert [str(move) for move in record.proposal.moves] == ["a-2: node 1 -> node 0"]
    assert record.proposal.after == (0.42, 0.5, 0.45)
    assert record.reason == "west is at 70%, above 60%, and hands a-2 to city, which is at 40%"
    assert after.moved == {"a-2": 1}
    moved = replace(deployment, plan=apply(deployment.plan, record.proposal.moves))
    shown = explain("a-2", ControlContext(after, moved, AUTO), [record])
    assert "a-2 is on node 0 (city)" in shown.text
    assert "could also be on node 1 (west), at 50%" in shown.text
    assert "hands a-2 to city" in shown.decisions[0]


def test_units_that_go_together_have_each_a_reason_of_its_own() -> None:
    network = two_sides()
    tree = on(network)
    deployment = Deployment(network, first(tree), hierarchy=tree)
    state = measured(network, {"a-some": 60, "a-1": 30, "a-2": 30})
    after, record = step(ControlContext(state, deployment, AUTO))
    assert record.reason == "west is at 120%, above 60%, and hands a-1 and a-2 to city, which is at 0%"
    assert record.proposal is not None
    shown = "west is at 120%, above 60%, and hands a-2 and 1 more to city, which is at 0%"
    assert dict(record.proposal.reasons)["a-2"] == shown
    assert record_of(to_json(record)) == record
    assert explain("a-2", ControlContext(after, deployment, AUTO), [record]).decisions == (
        f"in period 1 moved (a-2: node 1 -> node 0), {shown}",
    )


def test_an_underloaded_node_says_what_it_takes() -> None:
    network = two_sides()
    tree = on(network, {**TREE, "at": {"a-1": "city"}})
    state = measured(network, {"a-1": 20, "a-2": 30, "b-1": 45, "all": 580})
    _, record = step(ControlContext(state, Deployment(network, first(tree), hierarchy=tree), AUTO))
    assert record.reason == "west is at 30%, below 40%, and takes a-1 from city, which is at 60%"
    assert record.proposal is not None
    assert record.proposal.after == (0.58, 0.5, 0.45)


def test_of_many_units_a_reason_says_how_many() -> None:
    network = two_sides()
    tree = on(network)
    step_ = TreeMove((0, 1, 2, 3), 1, 0, True, 0.7, 0.4)
    assert _describe_units(step_, tree) == "4 units"
    assert _describe_units(replace(step_, operators=(0, 1, 2)), tree) == "a-some and a-1 and a-2"


def test_a_unit_that_moves_on_has_two_reasons() -> None:
    tree = on(two_sides())
    on_and_on = [TreeMove((1,), 1, 0, True, 0.7, 0.4), TreeMove((1, 2), 0, 2, False, 0.5, 0.1)]
    up = "west is at 70%, above 60%, and hands a-1 to city, which is at 40%"
    down = "east is at 10%, below 40%, and takes {} and 1 more from city, which is at 50%"
    assert _reasons(on_and_on, tree) == {"a-1": f"{up}; {down.format('a-1')}", "a-2": down.format("a-2")}


def test_modes_on_a_tree() -> None:
    network = two_sides()
    tree = on(network)
    deployment = Deployment(network, first(tree), hierarchy=tree)
    state = measured(network, FULL)
    same, watched = step(ControlContext(state, deployment, control_of("observe")))
    assert (same, watched.kind) == (state, PeriodOutcome.WATCHED)
    assert watched.reason.endswith("1 node above 60%: west at 70%")
    waiting, proposed = step(ControlContext(state, deployment, control_of("propose")))
    assert proposed.kind is PeriodOutcome.PROPOSED
    assert waiting.waiting == proposed.proposal
    later = replace(waiting, window=waiting.window.push(2, 2.0, {}, waiting.window.periods[0].samples.values()))
    again, still = step(ControlContext(later, deployment, control_of("propose")))
    assert (again.waiting, still.reason) == (waiting.waiting, "p1 waits to be applied")
    calm = replace(waiting, window=measured(network, {"a-1": 50}).window)
    assert step(ControlContext(calm, deployment, control_of("propose")))[0].waiting is None
    asked = current_proposal(ControlContext(state, deployment, control_of("observe")))
    assert asked.proposal is not None
    assert [move.unit for move in asked.proposal.moves] == ["a-2"]


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        pytest.param({"a-1": 50, "a-2": 20, "a-some": 3}, True, id="it is a little fuller"),
        pytest.param({"a-1": 12, "a-2": 15, "a-some": 45}, True, id="neighbours would agree on something else"),
        pytest.param({"a-1": 15, "a-2": 55}, False, id="its giver would have too little"),
        pytest.param({"a-1": 4, "a-2": 30, "a-some": 36, "all": 580}, False, id="its taker would have too much"),
    ],
)
def test_what_waits_keeps_its_name_while_it_can_be_done_and_helps(sizes: dict[str, int], kept: bool) -> None:
    network = two_sides()
    tree = on(network)
    deployment = Deployment(network, first(tree), hierarchy=tree)
    propose = control_of("propose")
    waiting, _ = step(ControlContext(measured(network, FULL), deployment, propose))
    assert waiting.waiting is not None
    assert [move.unit for move in waiting.waiting.moves] == ["a-2"]
    after, _ = step(ControlContext(replace(waiting, window=measured(network, sizes).window), deployment, propose))
    assert after.waiting is not None
    assert (after.waiting == waiting.waiting) == kept
    moved = Deployment(network, apply(deployment.plan, waiting.waiting.moves), hierarchy=tree)
    assert step(ControlContext(waiting, moved, propose))[0].waiting is None, "it has been applied"


def test_nobody_moves_where_nothing_fits() -> None:
    network = two_sides()
    tree = on(network)
    state = measured(network, {**FULL, "all": 590})
    kind, reason = outcome_of(step(ControlContext(state, Deployment(network, first(tree), hierarchy=tree), AUTO))[1])
    assert (kind, reason) == (PeriodOutcome.STEADY, "nothing is handed over; 1 node above 60%: west at 70%")


def outcome_of(record: PeriodRecord) -> tuple[PeriodOutcome, str]:
    return record.kind, record.reason


@given(
    sizes=st.lists(st.integers(0, 90), min_size=8, max_size=8),
    raised=st.lists(st.booleans(), min_size=8, max_size=8),
    memory=st.integers(50, 400),
)
def test_no_plan_that_comes_of_a_period_leaves_a_unit_without_its_inputs(
    sizes: list[int], raised: list[bool], memory: int
) -> None:
    network = two_sides()
    units = [each.name for each in network.operators]
    given = {**TREE["tree"], "city": {"memory": memory}}
    tree = on(network, {"tree": given, "at": _upwards(network, dict(zip(units, raised, strict=True)))})
    state = measured(network, dict(zip(units, sizes, strict=True)))
    deployment = Deployment(network, first(tree), hierarchy=tree)
    _, record = decide_on_tree(ControlContext(state, deployment, Control(mode=AUTO.mode)), tree)
    if record.proposal is None:
        return
    found = apply(deployment.plan, record.proposal.moves)
    assert list(tree.objections(found.node_of)) == []
    before, after = (tree.levels(plan.node_of, tree.sizes(state.window, network)) for plan in (deployment.plan, found))
    for node in range(3):
        assert after[node] <= max(before[node], tree.cluster.thresholds.upper)
    assert record.proposal.after == after


def _upwards(network: Network, raised: dict[str, bool]) -> dict[str, str]:
    """Raise operators to the city, with all that read them."""
    found: set[str] = set()
    for operator in network.order:
        if raised[operator.name] or any(stream in found for stream in operator.inputs):
            found.add(operator.name)
    return dict.fromkeys(sorted(found), "city")

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from drover.control.context import ControlContext, Deployment
from drover.control.engine_choice import EngineChoice, EngineInUse
from drover.control.explain import UNTOUCHED, explain, in_run
from drover.control.health import RunHealth
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal, RefusedMove
from drover.control.settings import Mode, control_of
from drover.errors import DroverError
from drover.flow.parking import ParkedOperator
from drover.placement.plan import Move
from tests.control.overloads import loaded
from tests.control.runs import AUTO, shifted, start
from tests.control.trees import first, measured, on, two_sides


def test_a_unit_is_explained_by_what_was_decided_and_what_it_would_be_elsewhere() -> None:
    run = start(plan="whole", load=0.4)
    run.go(20, shifted(0, 0, 3.0))
    moved = next(iter(run.state.moved))
    found = explain(moved, run.context, run.records)
    assert found.node == run.deployment.plan.node_of[moved]
    assert found.decisions[0].startswith(f"in period {run.state.moved[moved]} moved ({moved}: node 0 -> node")
    assert found.text.startswith(f"{moved} is on node {found.node} and takes ")
    assert len(found.elsewhere) == 4
    still = next(unit for unit in run.deployment.plan.node_of if unit not in run.state.moved)
    assert "no decision was made" in explain(still, run.context, []).text


def test_an_unknown_unit_is_refused_with_the_nearest_name() -> None:
    run = start()
    with pytest.raises(DroverError, match=r"there is no unit 's0-00'\. Did you mean s\d-0\?"):
        explain("s0-00", run.context, [])
    assert "Nothing was measured yet" in explain("s0-0", run.context, []).text


def test_a_pinned_unit_says_so() -> None:
    run = start(plan="whole", load=0.4, settings=replace(AUTO, pins={"s0-0": 0}))
    run.go(3)
    assert "It is pinned to node 0." in explain("s0-0", run.context, []).text


def test_another_node_that_would_be_better_is_named() -> None:
    run = start(nodes=2, count=2, plan="whole", load=0.4, settings=replace(AUTO, mode=Mode.OBSERVE))
    run.go(3, shifted(0, 0, 3.0))
    found = explain("s0-0", run.context, [])
    assert found.node == 0
    assert found.elsewhere[1] < found.elsewhere[0]
    assert f"On node 1 the slowest node would be loaded to {found.elsewhere[1]:.2f}" in found.text
    assert UNTOUCHED in found.text
    assert found.load > 0
    assert found.state_bytes == run.size


def test_decisions_are_listed_newest_first_with_their_reasons() -> None:
    run = start(nodes=2, count=2, plan="whole")
    run.go(1)
    move = Move("s0-0", 0, 1, 1000.0)
    other = Move("s1-0", 1, 0, 1000.0)
    made = Proposal("p1", 1, 1, 2, (move, other), "both", 0.1, 0.0, (), (), reasons=(("s0-0", "its own"),))
    records = [
        PeriodRecord(1, PeriodOutcome.PROPOSED, "both", (), 1, made),
        PeriodRecord(2, PeriodOutcome.MOVED, "both", (), 1, replace(made, reasons=())),
        PeriodRecord(3, PeriodOutcome.STEADY, "nothing", (), 2, None, (RefusedMove(move, "it rests"),)),
    ]
    assert explain("s0-0", run.context, records).decisions == (
        "in period 3 it stayed, it rests",
        f"in period 2 moved ({move}), both",
        f"in period 1 proposed ({move}), its own",
    )


def test_on_a_tree_levels_and_the_nodes_that_inputs_pass_are_reported() -> None:
    network = two_sides()
    tree = on(network)
    state = measured(network, {"a-some": 5, "a-1": 30, "a-2": 10, "all": 400})
    context = ControlContext(state, Deployment(network, first(tree), hierarchy=tree), control_of("auto"))
    assert explain("a-1", context, []).text == (
        "a-1 is on node 1 (west) and takes 30.0% of its memory; the node is at 45%, and its marks are 40% and 60%. "
        "If nothing else moves, the unit could also be on node 0 (city), at 40%. Last: "
        "no decision was made about it: it is where the first plan put it."
    )
    found = explain("a-some", context, [])
    assert "takes 5.0% of its memory; " in found.text
    assert "If nothing else moves, the unit can be nowhere else. " in found.text
    assert (found.node, found.state_bytes, found.elsewhere) == (1, 5.0, ())


def test_a_node_that_is_best_already_is_reported() -> None:
    run = start(nodes=2, count=2, plan="whole", load=0.4, noise=0.0)
    run.go(3)
    found = explain("s0-0", run.context, [])
    path = max(run.loads)
    assert found.text.endswith(
        f"No other node would do better: the slowest node is loaded to {path:.2f} of its capacity."
    )
    assert found.elsewhere[0] == pytest.approx(path, rel=0.01)


def test_the_run_and_a_parked_operator_come_first_and_the_engine_last() -> None:
    run = start(nodes=2, count=1)
    found = explain("s0-0", run.context, [])
    engine = EngineInUse(EngineChoice.SHUFFLE)
    parked = ParkedOperator("ValueError: no")
    assert in_run(found, "", None, None) == found
    assert in_run(found, RunHealth.UNKNOWN, None, engine).text == f"{found.text} Batches run on engine shuffle."
    assert in_run(found, "overloaded", parked, None).text == (
        f"The run is overloaded. s0-0 is parked: ValueError: no. Its input is lost meanwhile. {found.text}"
    )


def test_an_unknown_unit_lists_the_known_ones() -> None:
    run = start(nodes=2, count=1)
    with pytest.raises(DroverError, match=r"there is no unit 'zebra'\. Units: s0-0, s0-1, "):
        explain("zebra", run.context, [])
    unmeasured = explain("s0-0", run.context, [])
    assert unmeasured.text == f"s0-0 is on node {unmeasured.node}. Nothing was measured yet."
    assert (unmeasured.load, unmeasured.state_bytes, unmeasured.decisions, unmeasured.elsewhere) == (0.0, 0.0, (), ())


def test_a_move_that_is_not_worth_it_is_reported_with_what_it_would_need() -> None:
    settings = replace(AUTO, least_gain=0.25, mode=Mode.OBSERVE)
    run = start(nodes=2, count=2, plan="whole", load=0.4, settings=settings)
    run.go(3, shifted(0, 0, 3.0))
    text = explain("s0-0", run.context, []).text
    assert text.endswith("; a move needs 25% to be worth it.")
    closed = replace(run.context, deployment=replace(run.deployment, closed=frozenset({1})))
    assert "No other node would do better" in explain("s0-0", closed, []).text, "a closed node is no better place"


def test_an_explanation_has_the_seconds_of_a_batch_if_there_is_a_model() -> None:
    run = loaded(nodes=2, count=2, plan="whole", cores=2, load=0.3, settings=replace(AUTO, mode=Mode.OBSERVE))
    run.go(6)
    text = explain("s0-4", run.run.context, []).text
    assert re.search(r"A batch takes 0\.\d+ s in 1 hops; with the unit on node 1, 0\.\d+ s\.$", text)

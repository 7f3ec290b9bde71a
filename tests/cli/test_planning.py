from __future__ import annotations

import click
import numpy as np
import pytest
from numpy.random import default_rng

from drover.cli.planning import as_data, lines, make_report, plan_data, read_request, reason, with_rules
from drover.placement.plan import Move, Plan
from drover.placement.problem import NOWHERE
from drover.placement.score import score
from drover_lab.generate import ChainParameters, chains
from tests.load.networks import example_3

NETWORK = example_3()
REQUEST = read_request(NETWORK, ["r1=1e5", "r2=1e5"], None, ["2"], 2)
UNEVEN = Plan(4, 2, {"o1": 0, "o2": 0, "o3": 0, "o4": 0})


def test_a_request_has_loads_and_capacities() -> None:
    assert REQUEST.problem.units == ("o1", "o2", "o3", "o4")
    assert REQUEST.problem.capacity.tolist() == [2.0, 2.0]
    assert REQUEST.problem.load == pytest.approx([0.1] * 4)


def test_pins_and_groups_become_rules() -> None:
    problem = with_rules(REQUEST, ["o2=1"], ["o1,o2"], ["o3,o4,o3"])
    assert problem.pinned.tolist() == [NOWHERE, 1, NOWHERE, NOWHERE]
    assert problem.together == ((0, 1),)
    assert problem.apart == ((2, 3),)


@pytest.mark.parametrize(
    ("pins", "together", "says"),
    [
        pytest.param(["o1"], [], "'o1' is not of the form UNIT=NODE; the nodes are 0 to 1.", id="no node"),
        pytest.param(["o1=2"], [], "'o1=2' is not of the form UNIT=NODE", id="an unknown node"),
        pytest.param(["o1=-1"], [], "'o1=-1' is not of the form UNIT=NODE", id="a negative node"),
        pytest.param(["o9=1"], [], "'o9' is not a unit of the network. Known: o1, o2", id="an unknown unit"),
        pytest.param([], ["o1,x"], "'x' is not a unit of the network. ", id="an unknown unit in a group"),
    ],
)
def test_wrong_rules(pins: list[str], together: list[str], says: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        with_rules(REQUEST, pins, together, [])
    assert caught.value.message.startswith(says)


def test_a_first_plan_is_compared_with_round_robin() -> None:
    report = make_report(REQUEST, REQUEST.problem, None, "largest-first", 1)
    assert not report.changes
    assert report.moves == ()
    assert report.refusal is None
    said = list(lines(report))
    assert said[0] == "example_3 on 2 nodes, by largest-first: a first plan"
    assert any(line.startswith("goal ") and "round-robin" in line for line in said)
    assert not any("the judge" in line for line in said)


def test_a_change_of_plan_has_moves_with_reasons() -> None:
    report = make_report(REQUEST, REQUEST.problem, UNEVEN, "largest-first", 1)
    assert report.changes
    assert report.after.number == 5
    assert len(report.moves) == 2
    said = list(lines(report))
    assert said[0] == "example_3 on 2 nodes, by largest-first: 2 moves from plan 4"
    assert "the judge accepts this change" in said
    data = as_data(report)
    assert data["accepted"] is True
    assert plan_data(report) == {"number": 5, "nodes": 2, "node_of": dict(report.after.node_of)}
    assert data.items() >= plan_data(report).items()


def test_a_change_that_the_judge_rejects_says_so() -> None:
    same = make_report(REQUEST, REQUEST.problem, None, "largest-first", 1).after
    report = make_report(REQUEST, REQUEST.problem, same, "largest-first", 1)
    assert report.refusal == "it changes nothing"
    assert "the judge rejects this change: it changes nothing" in lines(report)
    assert as_data(report)["accepted"] is False


def test_the_reason_of_a_move_names_the_goal_that_is_worse_without_it() -> None:
    problem = REQUEST.problem
    places = np.array([0, 0, 1, 1])
    now = score(problem, places)
    assert reason(problem, places, now, Move("o1", None, 0)) == "it had no node"
    assert reason(problem, places, now, Move("o1", 7, 0)) == "it had no node"
    assert reason(problem, places, now, Move("o1", 1, 0)).startswith("without it, ")
    assert reason(problem, places, now, Move("o1", 0, 0)) == "makes room for others"


def test_moves_of_tiny_operators_share_a_line() -> None:
    network = chains(default_rng(0), ChainParameters(chains=40, length=10))
    request = read_request(network, [], None, ["1"], 2)
    before = Plan(1, 2, dict.fromkeys(request.problem.units, 0))
    report = make_report(request, request.problem, before, "largest-first", 1)
    assert len(report.moves) > 100
    said = [line for line in lines(report) if "node 0 -> node 1; " in line]
    assert len(said) < len(report.moves) / 3
    assert any(" others: node 0 -> node 1; without it, " in line for line in said)

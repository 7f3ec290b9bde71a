from __future__ import annotations

import json
from dataclasses import replace

import pytest

from drover.control.record import (
    PeriodOutcome,
    PeriodRecord,
    Proposal,
    RefusedMove,
    Reshape,
    proposal_of,
    record_of,
    to_json,
    why_base_changed,
)
from drover.flow.instances import explicit, reshape, spread_join
from drover.network.grid import Grid
from drover.placement.plan import Move, Plan, round_robin
from tests.control.test_diffuse import deployment_of

MOVES = (Move("a", 0, 1, 10.0), Move("b", None, 1, 5.0))
PROPOSAL = Proposal("p3", 3, 7, 2, MOVES, "because", 0.2, 0.1, (0.9, 0.1), (0.5, 0.5))
SHAPE = Reshape("j", Grid(1, 1), Grid(2, 1), ((0.6, 0.4), (1.0,)), 2)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(PeriodRecord(1, PeriodOutcome.WATCHED, "nothing", (), 1), id="the least"),
        pytest.param(
            PeriodRecord(
                3,
                PeriodOutcome.REFUSED,
                "no",
                (0.9, 0.1),
                7,
                replace(PROPOSAL, goals=("g",), measured=0.5, forced=True, evens=True, reasons=(("a", "its own"),)),
                (RefusedMove(MOVES[0], "it rests"),),
                {"batch_seconds": 0.5},
            ),
            id="everything",
        ),
        pytest.param(PeriodRecord(3, PeriodOutcome.MOVED, "", (), 7, replace(PROPOSAL, shapes=(SHAPE,))), id="a shape"),
        pytest.param(
            PeriodRecord(
                3,
                PeriodOutcome.MOVED,
                "",
                (),
                7,
                replace(PROPOSAL, shapes=(replace(SHAPE, asked=Grid(2, 1)), replace(SHAPE, asked="auto"))),
            ),
            id="shapes that were asked for",
        ),
    ],
)
def test_a_record_survives_json(record: PeriodRecord) -> None:
    assert record_of(json.loads(json.dumps(to_json(record)))) == record


def test_proposals_of_older_runs_lack_what_came_later() -> None:
    body = to_json(PeriodRecord(3, PeriodOutcome.MOVED, "", (), 7, PROPOSAL))["proposal"]
    for name in ("evens", "shapes", "reasons"):
        del body[name]
    assert proposal_of(body) == PROPOSAL


def test_words() -> None:
    assert str(RefusedMove(MOVES[0], "it rests")) == f"{MOVES[0]}: no, it rests"
    assert str(SHAPE) == "j: 1 x 1 -> 2 x 1"
    assert PROPOSAL.bytes == 15.0


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        pytest.param(Plan(7, 2, {"a": 0}), None, id="nothing changed"),
        pytest.param(Plan(7, 3, {"a": 0}), "it was made for 2 nodes, and there are 3 now", id="more nodes"),
        pytest.param(Plan(7, 2, {"c": 0}), "unit a is gone", id="a unit is gone"),
        pytest.param(Plan(7, 2, {"a": 1}), "unit a was on node 0 then, and is on node 1 now", id="it moved"),
        pytest.param(Plan(7, 2, {"a": 0, "b": 0}), "unit b was nowhere then, and is on node 0 now", id="it is placed"),
        pytest.param(Plan(8, 2, {"a": 0}), "plan 7 ran then, and plan 8 does now", id="a later plan"),
    ],
)
def test_why_the_base_of_a_proposal_has_changed(plan: Plan, says: str | None) -> None:
    assert why_base_changed(PROPOSAL, plan) == says


def test_a_join_that_has_another_shape_now() -> None:
    network = deployment_of().network
    plan = explicit(round_robin(network, 3), network)
    proposal = Proposal("p1", 1, plan.number, 3, (), "", 0.1, 0.0, (), (), shapes=(SHAPE,))
    assert why_base_changed(proposal, plan) is None
    grown = replace(reshape(plan, spread_join(network, "j"), Grid(1, 2)), number=plan.number)
    assert why_base_changed(proposal, grown) == "join j was spread 1 x 1 then, and is spread 1 x 2 now"
    gone = replace(proposal, shapes=(replace(SHAPE, join="k"),))
    assert why_base_changed(gone, plan) == "join k was spread 1 x 1 then, and is gone"

"""The moves that make batches shorter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drover.control.record import PeriodOutcome
from drover.control.settings import Control, Mode
from drover.control.shorter_batches import shorten
from drover.control.view import view_of
from drover.placement.plan import Plan
from tests.control.overloads import LoadedRun, loaded
from tests.control.runs import AUTO


def crowded(**settings: object) -> LoadedRun:
    """Three of four chains on one of two nodes, which nobody moves."""
    run = loaded(nodes=2, count=4, cores=2, load=0.65, fixed=0.1, settings=replace(AUTO, mode=Mode.OBSERVE))
    network = run.run.deployment.network
    places = {one.name: 1 if one.name.startswith("s3") else 0 for one in network.operators}
    run.run.deployment = replace(run.run.deployment, plan=Plan(1, 2, places))
    run.go(6)
    run.run.settings = replace(AUTO, **settings)  # type: ignore[arg-type]  # fields of Control
    return run


def test_a_whole_chain_moves_and_nothing_is_cut() -> None:
    run = crowded()
    outcome = shorten(run.run.context, view_of(run.run.context))
    assert outcome is not None
    _, record = outcome
    assert record.kind is PeriodOutcome.MOVED
    assert record.proposal is not None
    assert len({move.unit.partition("-")[0] for move in record.proposal.moves}) == 1
    assert len(record.proposal.moves) == 10
    assert record.reason.startswith("shorter-batches: batches take ")


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"most_moves": 0}, id="no move is allowed"),
        pytest.param({"least_gain": 0.9}, id="not enough to gain"),
        pytest.param({"capacity": 1.0}, id="no model is wanted"),
    ],
)
def test_nothing_is_found(settings: dict[str, float]) -> None:
    run = crowded(**settings)
    assert shorten(run.run.context, view_of(run.run.context)) is None


def test_state_that_is_too_dear_to_move_stays() -> None:
    run = crowded(payback=1e-6)
    outcome = shorten(run.run.context, view_of(run.run.context))
    assert outcome is not None
    assert outcome[1].kind is PeriodOutcome.REFUSED
    assert "more than it wins back" in outcome[1].reason
    assert isinstance(run.run.settings, Control)

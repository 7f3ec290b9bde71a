"""The price of a cut, per row of a stream."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drover.control.capacity import usual_of
from drover.control.cut_costs import cut_costs
from drover.control.settings import Mode, control_of
from drover.control.view import view_of
from drover.load.links import FRAME_SECONDS, row_bytes
from tests.control.overloads import loaded
from tests.control.runs import AUTO


def test_a_row_costs_its_bytes_and_its_part_of_a_transfer() -> None:
    run = loaded(load=0.2, settings=replace(AUTO, mode=Mode.OBSERVE))
    run.go(5)
    context = run.run.context
    view = view_of(context)
    found = cut_costs(context, view.profile)
    usual = usual_of(context.state)
    assert found is not None
    assert usual is not None
    assert set(found) == set(view.profile.stream_rates())
    rows = float(view.profile.stream_rates()["s0-3"])
    size = row_bytes(view.profile.network.streams["s0-3"])
    assert found["s0-3"] == pytest.approx(usual.model.cut_price(0, 1, 0) / rows + usual.model.cut_price(0, 0, size))
    at = view.problem.links.streams.index("s0-3")
    rates = view.problem.links.communication[at] / found["s0-3"]
    assert rates.max() > 0, "the placement problem has the same price"
    assert found["s0-3"] != FRAME_SECONDS


def test_without_a_model_the_price_is_assumed() -> None:
    run = loaded(load=0.2)
    run.run.go(1)
    assert cut_costs(run.run.context, view_of(run.run.context).profile) is None
    run.go(3)
    run.run.settings = control_of({"capacity": 1})
    assert cut_costs(run.run.context, view_of(run.run.context).profile) is None

"""Joins are spread because their windows are too large for one node, and only if there is a limit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from drover.control.join_memory import WindowRoom, memory_reason, shape_that_fits
from drover.diffusion.cost import Demand
from drover.network.grid import WHOLE, Grid, Spread
from tests.control.test_diffuse import AUTO, Joined

EVEN = Demand(100.0, 100.0, 1.0, 1.0)  # 200 rows in windows
SLOW_RIGHT = Demand(190.0, 10.0, 1.0, 1.0)  # the same


@pytest.mark.parametrize(
    ("wanted", "spread", "present", "demand", "room", "shape"),
    [
        pytest.param(WHOLE, "auto", WHOLE, EVEN, [200.0] * 4, WHOLE, id="it fits"),
        pytest.param(WHOLE, "auto", WHOLE, EVEN, [199.0] * 4, Grid(2, 1), id="too large"),
        pytest.param(WHOLE, "auto", WHOLE, EVEN, [160.0] * 4, Grid(2, 2), id="it grows until some room is left"),
        pytest.param(WHOLE, "auto", WHOLE, SLOW_RIGHT, [150.0] * 4, Grid(2, 1), id="the cheapest grid that fits"),
        pytest.param(WHOLE, "auto", WHOLE, EVEN, [160.0, 9.0, 160.0, 160.0], Grid(1, 3), id="a full node is no help"),
        pytest.param(WHOLE, "auto", WHOLE, EVEN, [50.0] * 4, Grid(2, 2), id="if nothing fits, what needs least"),
        pytest.param(WHOLE, "auto", WHOLE, EVEN, [50.0], WHOLE, id="a single node"),
        pytest.param(
            Grid(2, 1), "auto", Grid(2, 2), EVEN, [299.0] * 4, Grid(2, 2), id="it shrinks only into much room"
        ),
        pytest.param(Grid(2, 1), "auto", Grid(2, 2), EVEN, [300.0] * 4, Grid(2, 1), id="and then it does"),
        pytest.param(Grid(2, 2), 4, Grid(2, 2), EVEN, [90.0] * 9, Grid(2, 2), id="a number stays if nothing is better"),
        pytest.param(Grid(4, 1), 4, Grid(4, 1), EVEN, [110.0] * 9, Grid(2, 2), id="or takes another grid"),
        pytest.param(WHOLE, WHOLE, WHOLE, EVEN, [9.0] * 9, WHOLE, id="a fixed grid stays"),
    ],
)
def test_the_shape_that_fits(
    wanted: Grid, spread: Spread, present: Grid, demand: Demand, room: list[float], shape: Grid
) -> None:
    found = shape_that_fits(wanted, spread, present, demand, WindowRoom(1.0, np.array(room)))
    assert found == shape


def test_rows_of_unknown_size_always_fit() -> None:
    assert WindowRoom(0.0, np.zeros(3)).rows(2) == math.inf
    assert WindowRoom(10.0, np.array([50.0, 20.0])).rows(2) == 2.0


def test_nodes_without_room_are_known() -> None:
    room = WindowRoom(1.0, np.array([150.0, 9.0]))
    assert room.nodes(Grid(2, 1), EVEN).tolist() == [True, False]
    assert room.nodes(WHOLE, EVEN).tolist() == [True, True], "none has room, so any will do"


def test_the_reason_names_bytes() -> None:
    said = memory_reason("j", WHOLE, Grid(2, 1), EVEN, WindowRoom(10.0, np.array([1500.0, 1500.0])))
    assert said == (
        "the windows of join j take 2,000 bytes on a node, and `memory` leaves 1,500 for them: it is spread 2 x 1 "
        "instead of 1 x 1, which takes 1,500"
    )


def test_the_loop_spreads_a_join_whose_windows_are_too_large() -> None:
    run = Joined(load=0.05, settings=replace(AUTO, memory=900.0))  # an instance holds 1,000 bytes
    records = run.go(8)
    assert run.grid.cells > 1
    (moved,) = [record for record in records if record.proposal is not None and record.proposal.shapes][:1]
    assert "bytes on a node, and `memory` leaves 900 for them: it is spread" in moved.reason
    unlimited = Joined(load=0.05)
    unlimited.go(8)
    assert unlimited.grid == WHOLE

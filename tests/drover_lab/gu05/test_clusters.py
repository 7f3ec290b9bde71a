from __future__ import annotations

import pytest

from drover.diffusion.cost import Demand
from drover.network.grid import Grid
from drover_lab.gu05.clusters import POLICIES, outcome_of, reshape_by, shape, split_by
from drover_lab.table import Value

LEFT_FASTER = Demand(20.0, 5.0, 10.0, 10.0)


@pytest.mark.parametrize(
    ("rule", "grid"),
    [
        pytest.param("role", Grid(4, 1), id="the faster stream is split"),
        pytest.param("printed", Grid(1, 4), id="the printed sentence is the opposite"),
    ],
)
def test_the_faster_stream_is_split_or_copied(rule: str, grid: Grid) -> None:
    assert shape(rule, 4, LEFT_FASTER) == grid


def test_a_grid_has_no_more_cells_than_servers() -> None:
    assert shape("grid", 6, LEFT_FASTER).cells <= 6


def test_roles_change_when_the_rates_do() -> None:
    switch = reshape_by("role")
    assert switch is not None
    assert switch(Grid(4, 1), LEFT_FASTER) == Grid(4, 1)
    assert switch(Grid(1, 4), LEFT_FASTER) == Grid(4, 1)
    assert reshape_by("") is None


def test_grids_are_split_by_speed() -> None:
    assert {name: split_by(name) for name in POLICIES if split_by(name) == "weighted"} == {
        "grid": "weighted",
        "grid-adaptive": "weighted",
    }


def test_parameters_that_name_a_part_of_a_run_do_not_change_it() -> None:
    row: dict[str, Value] = {
        "joins": 1,
        "nodes": 3,
        "servers": 2,
        "seconds": 50.0,
        "section": 50.0,
        "policy": "ssp",
        "split": "least-loaded",
        "full": "tidy",
        "seed": 0,
    }
    assert outcome_of({**row, "at": 1.0}, "at") is outcome_of({**row, "at": 2.0}, "at")

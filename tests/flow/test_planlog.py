from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from drover.errors import StateError
from drover.flow.planlog import PLANS, PlanLogEntry, plan_path, read_plan, sweep_plans, write_plan
from drover.network.grid import Epoch, Grid
from drover.placement.plan import Instances, Plan

LOCAL = LocalFileSystem()
FIRST = PlanLogEntry(0, Plan(1, 2, {"u": 0, "v": 1}))
SECOND = PlanLogEntry(5, Plan(2, 2, {"u": 1, "v": 1}), closing=True, resumed=("f", "g"))


def test_a_batch_finds_the_last_plan_written_for_it_or_before_it(tmp_path: Path) -> None:
    assert read_plan(LOCAL, str(tmp_path), 3) is None
    write_plan(LOCAL, str(tmp_path), FIRST)
    write_plan(LOCAL, str(tmp_path), SECOND)
    assert [read_plan(LOCAL, str(tmp_path), batch) for batch in (0, 4, 5, 9)] == [FIRST, FIRST, SECOND, SECOND]


def test_plans_that_no_batch_needs_are_swept(tmp_path: Path) -> None:
    for batch in range(30):
        write_plan(LOCAL, str(tmp_path), PlanLogEntry(batch * 2, Plan(batch + 1, 1, {"u": 0})))
    sweep_plans(LOCAL, str(tmp_path), 51)
    assert sorted(int(path.stem) for path in (tmp_path / PLANS).iterdir()) == [50, 52, 54, 56, 58]
    found = read_plan(LOCAL, str(tmp_path), 51)
    assert found is not None
    assert found.batch == 50


@pytest.mark.parametrize("keep", [0, 10, -2])
def test_a_damaged_plan_is_refused_by_name(tmp_path: Path, keep: int) -> None:
    write_plan(LOCAL, str(tmp_path), FIRST)
    path = Path(plan_path(str(tmp_path), 0))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StateError, match=path.name):
        read_plan(LOCAL, str(tmp_path), 0)


def test_how_joins_are_spread_is_part_of_a_plan(tmp_path: Path) -> None:
    epochs = (Epoch(3, Grid(2, 2)), Epoch(4, Grid(1, 3)), Epoch(5, Grid(2, 2), by_row=True))
    spread = Instances(epochs, (1, 0, 1), ((0.5,), (1.0, 2.0, 0.0)))
    entry = PlanLogEntry(1, Plan(7, 2, {"j": 0}, {"j": spread}))
    write_plan(LOCAL, str(tmp_path), entry)
    assert read_plan(LOCAL, str(tmp_path), 1) == entry

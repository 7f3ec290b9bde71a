"""Plans that are wanted, and what of them is written down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from drover.flow.parking import ParkedOperator
from drover.flow.planlog import read_plan
from drover.flow.state.storage import open_root
from drover.network.grid import Epoch, Grid
from drover.placement.plan import Instances, Plan
from drover.spark.planner import Planner

START = Plan(1, 2, {"a": 0, "b": 1})


def test_a_wish_that_no_batch_has_used_outlives_the_run(tmp_path: Path) -> None:
    planner = Planner(str(tmp_path), START)
    planner.entry_for(0, closing=False)
    planner.replan(lambda plan: plan.move("a", 1))
    planner.parked = {"b": ParkedOperator("it failed")}
    planner.resume("b")
    planner.save(1)
    kept = read_plan(*open_root(str(tmp_path)), 1)
    assert kept is not None
    assert (kept.batch, kept.plan.node_of["a"], kept.resumed) == (1, 1, ("b",))


def test_nothing_is_written_without_a_wish_or_before_the_first_batch(tmp_path: Path) -> None:
    planner = Planner(str(tmp_path), START)
    planner.replan(lambda plan: plan.move("a", 1))
    planner.save(0)
    assert read_plan(*open_root(str(tmp_path)), 0) is None
    planner.entry_for(0, closing=False)
    planner.save(1)
    kept = read_plan(*open_root(str(tmp_path)), 1)
    assert kept is not None
    assert kept.batch == 0


def test_a_batch_that_has_begun_stays_as_it_began(tmp_path: Path) -> None:
    planner = Planner(str(tmp_path), START)
    planner.entry_for(0, closing=False)
    begun = planner.entry_for(1, closing=True)
    planner.replan(lambda plan: plan.move("a", 1))
    planner.save(1)
    assert read_plan(*open_root(str(tmp_path)), 1) == begun


def test_a_restart_keeps_the_shapes_of_joins(tmp_path: Path) -> None:
    shaped = Instances((Epoch(3, Grid(2, 1)), Epoch(4, Grid(1, 3))), (1, 0), ((), (1.0, 2.0, 1.0)), "auto")
    planner = Planner(
        str(tmp_path), replace(START, instances={"a": shaped, "gone": Instances((Epoch(0, Grid(1, 1)),))})
    )
    planner.entry_for(0, closing=False)
    entry = read_plan(*open_root(str(tmp_path)), 0)
    assert entry is not None
    new = Instances((Epoch(0, Grid(1, 3)),), (2, 3))
    wanted = Plan(1, 4, {"a": 0, "b": 1, "c": 3}, {"a": Instances((Epoch(0, Grid(1, 1)),)), "c": new})
    again = Planner(str(tmp_path), wanted)
    again.adopt(entry, 1, begun=False)
    assert again.plan.instances == {"a": shaped, "c": replace(new, others=(0, 1))}
    assert again.plan.node_of == {"a": 0, "b": 1, "c": 1}

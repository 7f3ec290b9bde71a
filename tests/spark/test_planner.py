"""Plans that are wanted, and what of them is written down."""

from __future__ import annotations

from pathlib import Path

from drover.flow.planlog import read_plan
from drover.flow.state.storage import open_root
from drover.placement.plan import Plan
from drover.spark.planner import Planner

START = Plan(1, 2, {"a": 0, "b": 1})


def test_a_wish_that_no_batch_has_used_outlives_the_run(tmp_path: Path) -> None:
    planner = Planner(str(tmp_path), START)
    planner.entry_for(0, closing=False)
    planner.replan(lambda plan: plan.move("a", 1))
    planner.resume("b")
    planner.keep(1)
    kept = read_plan(*open_root(str(tmp_path)), 1)
    assert kept is not None
    assert (kept.batch, kept.plan.node_of["a"], kept.resumed) == (1, 1, ("b",))


def test_nothing_is_written_without_a_wish_or_before_the_first_batch(tmp_path: Path) -> None:
    planner = Planner(str(tmp_path), START)
    planner.replan(lambda plan: plan.move("a", 1))
    planner.keep(0)
    assert read_plan(*open_root(str(tmp_path)), 0) is None
    planner.entry_for(0, closing=False)
    planner.keep(1)
    kept = read_plan(*open_root(str(tmp_path)), 1)
    assert kept is not None
    assert kept.batch == 0


def test_a_batch_that_has_begun_stays_as_it_began(tmp_path: Path) -> None:
    planner = Planner(str(tmp_path), START)
    planner.entry_for(0, closing=False)
    begun = planner.entry_for(1, closing=True)
    planner.replan(lambda plan: plan.move("a", 1))
    planner.keep(1)
    assert read_plan(*open_root(str(tmp_path)), 1) == begun

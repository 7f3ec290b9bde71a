"""Super-operators under the control loop: they move as one, and are placed as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.explain import explain
from drover.control.reassignment import reassign
from drover.control.record import PeriodOutcome
from drover.control.super_operators import fused_units, single_units
from drover.control.view import view_of
from drover.network.grid import Epoch, Grid
from drover.placement.plan import Instances, Plan
from tests.control.runs import AUTO, Run, start


def many(nodes: int = 4, heavy: int = 0, **options: object) -> Run:
    """A hundred chains of ten operators on nodes in turn, whole; the first `heavy` of them are on node 0."""
    given = {"settings": replace(AUTO, capacity=1.0)} | options
    run = start(nodes=nodes, count=100, plan="whole", **given)  # type: ignore[arg-type]  # options of `start`
    node_of = {
        unit: 0 if int(unit[1:].partition("-")[0]) < heavy else node
        for unit, node in run.deployment.plan.node_of.items()
    }
    run.deployment = replace(run.deployment, plan=Plan(1, nodes, node_of))
    return run


def chain(unit: str) -> str:
    return unit.partition("-")[0]


def test_tiny_units_of_one_node_are_fused() -> None:
    run = many()
    run.go(1)
    problem = view_of(run.context).problem
    fused = fused_units(run.context, problem)
    assert fused.problem.m <= problem.m / 5
    for one in range(fused.problem.m):
        assert len(set(problem.current[fused.owner == one])) == 1


def test_resting_units_and_instances_of_joins_are_single() -> None:
    run = many()
    run.go(1)
    problem = view_of(run.context).problem
    run.state = replace(run.state, moved={"s0-0": 1})
    owner = fused_units(run.context, problem).owner
    assert (owner == owner[problem.units.index("s0-0")]).sum() == 1
    assert single_units(run.context) == {"s0-0"}
    plan = run.deployment.plan
    spread = replace(plan, instances={"s1-0": Instances((Epoch(0, Grid(1, 3)),), (1, 2))})
    run.deployment = replace(run.deployment, plan=spread)
    assert single_units(run.context) == {"s0-0", "s1-0", "s1-0[1]", "s1-0[2]"}


@pytest.mark.parametrize("seed", range(2))
def test_an_overloaded_node_gives_whole_chains_of_tiny_operators_away(seed: int) -> None:
    run = many(heavy=60, load=0.6, seed=seed)
    assert run.loads[0] > 1.0
    run.go(8)
    assert run.loads.max() <= 1.0
    first = next(record.proposal for record in run.records if record.kind is PeriodOutcome.MOVED)
    assert first is not None
    assert len(first.moves) > AUTO.most_moves, "ten super-operators may move, of many units each"
    targets: dict[str, set[int]] = {}
    for move in first.moves:
        targets.setdefault(chain(move.unit), set()).add(move.target)
    assert all(len(nodes) == 1 for nodes in targets.values())


def test_a_lost_node_gives_super_operators_to_others() -> None:
    run = many()
    run.go(2)
    context = run.context
    problem = view_of(replace(context, deployment=replace(context.deployment, closed=frozenset({1})))).problem
    orphans = problem.current == 1
    fused = fused_units(context, problem).owner
    places = reassign(problem, orphans, np.inf, fused).places
    for one in set(fused[orphans].tolist()):
        assert len(set(places[fused == one].tolist())) == 1
    alone = reassign(problem, orphans, np.inf).places
    loads, finest = (np.bincount(each, problem.load, problem.n) for each in (places, alone))
    assert loads.max() <= 1.05 * finest.max()


def test_a_super_operator_is_divided_if_no_node_has_room_for_its_state() -> None:
    run = many(size=100)
    run.go(2)
    problem = view_of(run.context).problem
    orphans = problem.current == 1
    fused = fused_units(run.context, problem).owner
    problem = replace(problem, allowed=np.tile(np.arange(4) != 1, (problem.m, 1)))
    held = np.bincount(problem.current, problem.state, 4)
    room = float(held.max() + problem.state[orphans].sum() / 3 + 200)
    found = reassign(problem, orphans, room, fused)
    assert not found.refusals
    assert np.bincount(found.places, problem.state, 4).max() <= room


def test_an_explanation_names_what_moves_with_a_unit() -> None:
    run = many()
    run.go(2)
    text = explain("s3-4", run.context, run.records).text
    assert "It moves as one with s3-0, s3-1, s3-2 and " in text
    assert " others, which take as little. Last: " in text
    run.state = replace(run.state, moved={"s3-4": 2})
    assert "It moves as one" not in explain("s3-4", run.context, run.records).text

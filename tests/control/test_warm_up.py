"""A node that is overloaded from the first period on is relieved before correlations are known."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest
from numpy.random import default_rng

from drover.control.record import PeriodOutcome, PeriodRecord
from drover.control.settings import Mode
from drover.control.view import view_of
from drover.control.warm_up import ENOUGH, UNKNOWN, offload
from drover.placement.plan import Plan
from tests.control.overloads import loaded
from tests.control.runs import AUTO, Run, moves_in, start

CAPACITY = replace(AUTO, capacity=1.0)


def crowded(heavy: Collection[int], nodes: int = 4, **options: object) -> Run:
    """Chains of ten operators; those in `heavy` are on node 0, the others on nodes of their own."""
    options = {"settings": CAPACITY, "count": nodes} | options
    run = start(nodes=nodes, plan="whole", **options)  # type: ignore[arg-type]  # options of `start`
    node_of = {
        unit: 0 if int(unit[1:].partition("-")[0]) in heavy else node
        for unit, node in run.deployment.plan.node_of.items()
    }
    run.deployment = replace(run.deployment, plan=Plan(1, nodes, node_of))
    return run


def moved(records: list[PeriodRecord]) -> list[PeriodRecord]:
    return [record for record in records if record.kind is PeriodOutcome.MOVED]


def units_moved(records: list[PeriodRecord]) -> set[str]:
    return {move.unit for record in moved(records) if record.proposal is not None for move in record.proposal.moves}


@pytest.mark.parametrize("seed", range(3))
def test_an_overloaded_node_is_relieved_within_the_first_periods(seed: int) -> None:
    run = crowded((0, 1, 2), load=0.6, seed=seed)
    assert run.loads[0] > 1.5
    first = moved(run.go(ENOUGH))
    assert [record.period for record in first] == [ENOUGH]
    assert first[0].reason == f"llf-bal: node 0 is overloaded; {UNKNOWN}"
    assert {move.source for move in first[0].proposal.moves} == {0}  # type: ignore[union-attr]  # it moved something
    run.go(3)
    assert run.loads.max() <= 1.0
    assert not run.state.placed, "the first plan is still to come"


def test_one_period_says_too_little() -> None:
    run = crowded((0, 1, 2), load=0.6)
    assert [record.reason for record in run.go(1)] == ["warming up, 4 more periods"]


def test_a_node_that_is_not_overloaded_keeps_what_it_has() -> None:
    run = crowded((0, 1), load=0.3)
    assert moves_in(run.go(9)) == 0
    assert {record.kind for record in run.records} == {PeriodOutcome.WATCHED}


@pytest.mark.parametrize("cool_down", [0, 5, 10])
@pytest.mark.parametrize("heavy", [(0, 1, 2), (0, 1, 2, 3)])
def test_moves_of_the_warm_up_are_not_undone_when_correlations_are_known(
    heavy: tuple[int, ...], cool_down: int
) -> None:
    for seed in range(3):
        run = crowded(heavy, load=0.6, seed=seed, settings=replace(CAPACITY, cool_down=cool_down))
        early = units_moved(run.go(9))
        assert early
        planned = [run.state.placed]
        first = run.go(1)
        assert [*planned, run.state.placed] == [False, True], "the first plan was made"
        assert not early & units_moved(first)
        run.go(40)
        back = {unit for unit in early if run.deployment.plan.node_of[unit] == 0}
        # Later rounds may still exchange a few units to make nodes more even.
        assert len(back) <= len(early) / 10, (seed, [record.reason for record in moved(run.records)])
        assert run.loads.max() <= 1.0


def test_too_many_moves_for_a_period_are_made_in_several() -> None:
    run = crowded((0, 1, 2, 3), load=0.6, settings=replace(CAPACITY, most_moves=2))
    records = run.go(4)
    assert [len(record.proposal.moves) for record in moved(records)] == [2, 2, 2]  # type: ignore[union-attr]
    loads = [record.proposal.after[0] for record in moved(records)]  # type: ignore[union-attr]
    assert loads == sorted(loads, reverse=True)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        pytest.param({"most_moves": 0}, "by load alone, no unit of node 0 can move", id="no moves allowed"),
        pytest.param({"payback": 0.0}, "but wins back only 0 s in 0 s", id="too dear"),
        pytest.param({"memory": 10.0}, "by load alone, no unit of node 0 can move", id="no room for the state"),
    ],
)
def test_the_record_says_why_nothing_moves(settings: dict[str, float], says: str) -> None:
    run = crowded((0, 1, 2), load=0.6, settings=replace(CAPACITY, **settings))  # type: ignore[arg-type]  # as above
    last = run.go(ENOUGH)[-1]
    assert last.kind in (PeriodOutcome.WATCHED, PeriodOutcome.REFUSED)
    assert last.reason.startswith("warming up, 3 more periods: ")
    assert says in last.reason
    assert last.reason in last.obstacle


def test_pinned_and_resting_units_stay() -> None:
    run = crowded((0, 1, 2), load=0.6)
    units = [unit for unit, node in run.deployment.plan.node_of.items() if node == 0]
    run.settings = replace(CAPACITY, pins=dict.fromkeys(units[::2], 0))
    run.state = replace(run.state, moved=dict.fromkeys(units[1::3], 1))
    taken = units_moved(run.go(ENOUGH))
    assert taken
    assert not taken & {*units[::2], *units[1::3]}


def test_in_mode_propose_the_moves_wait() -> None:
    run = crowded((0, 1, 2), load=0.6, settings=replace(CAPACITY, mode=Mode.PROPOSE))
    run.go(ENOUGH)
    assert run.state.waiting is not None
    assert run.go(1)[-1].reason == "p2 waits to be applied"


def test_with_a_model_of_a_batch_the_shortest_batches_come_first() -> None:
    run = loaded(nodes=2, count=4, cores=2, load=0.65, fixed=0.1)
    network = run.run.deployment.network
    together = {one.name: 0 if one.name.startswith(("s0", "s1", "s2")) else 1 for one in network.operators}
    run.run.deployment = replace(run.run.deployment, plan=Plan(1, 2, together))
    record = run.go(ENOUGH)[-1]
    assert record.kind is PeriodOutcome.MOVED
    assert record.reason.startswith("shorter-batches: batches take ")
    assert record.reason.endswith(UNKNOWN)
    assert not run.run.state.placed


def test_nothing_is_asked_of_nodes_that_are_not_overloaded() -> None:
    run = crowded((), load=0.3)
    run.measure()
    run.measure()
    _, record = offload(run.context, view_of(run.context), 8, default_rng(0))
    assert (record.kind, record.reason) == (PeriodOutcome.WATCHED, "warming up, 8 more periods")

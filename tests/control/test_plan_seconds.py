"""How long a batch takes under other plans: hop by hop, with what cuts cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.plan_seconds import PlanTimer, plan_timer
from drover.control.settings import Mode, control_of
from drover.control.view import view_of
from tests.control.overloads import LoadedRun, loaded
from tests.control.runs import AUTO

WATCHING = replace(AUTO, mode=Mode.OBSERVE)


def timer_of(run: LoadedRun) -> PlanTimer:
    run.go(8)
    found = plan_timer(run.run.context, view_of(run.run.context))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def run() -> LoadedRun:
    return loaded(nodes=2, count=2, plan="whole", cores=2, load=0.3, settings=WATCHING)


@pytest.fixture(scope="module")
def timer(run: LoadedRun) -> PlanTimer:
    return timer_of(run)


def places(timer: PlanTimer, **chains: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([chains[unit.partition("-")[0]] for unit in timer.units])


def test_the_current_plan_takes_what_was_measured(run: LoadedRun, timer: PlanTimer) -> None:
    found = timer.seconds(places(timer, s0=0, s1=1))
    assert found.mean == pytest.approx(run.seconds[-1], rel=0.1)
    assert found.low <= found.mean <= found.high


def test_both_chains_on_one_node_take_longer(timer: PlanTimer) -> None:
    apart, together = (timer.one_trigger(places(timer, s0=0, s1=node)) for node in (1, 0))
    assert together > apart + 0.2


def test_a_cut_between_equal_chains_adds_hops_and_no_speed(timer: PlanTimer) -> None:
    whole = places(timer, s0=0, s1=1)
    cut = np.where([unit.endswith(("-5", "-6", "-7", "-8", "-9")) for unit in timer.units], 1 - whole, whole)
    assert timer.schedule_of(cut).hops == 2
    assert timer.one_trigger(cut) > timer.one_trigger(whole)
    assert timer.busy(timer.schedule_of(cut)).sum() > timer.busy(timer.schedule_of(whole)).sum(), "packing costs"


@pytest.mark.parametrize(
    ("waits", "cores"),
    [
        pytest.param(0.0, 4.0, id="all nodes on one core"),
        pytest.param(0.5, 2.0, id="half of it waits"),
        pytest.param(1.0, 1.0, id="every node at once"),
    ],
)
def test_what_waits_is_not_divided_by_the_cores(waits: float, cores: float) -> None:
    timer = timer_of(loaded(nodes=4, count=4, plan="whole", cores=1, load=0.1, waits=waits, settings=WATCHING))
    schedule = timer.schedule_of(places(timer, s0=0, s1=1, s2=2, s3=3))
    whole = timer.busy(schedule)
    assert timer.waited(schedule).sum() == pytest.approx(waits * sum(timer.loads[unit] for unit in timer.units))
    assert timer.work_of(schedule) == pytest.approx(cores * float(whole.max()), rel=0.1)


@pytest.mark.parametrize("engine", ["resident", "shuffle"])
def test_a_cut_of_the_busier_chain_shortens_batches_in_pieces_only(timer: PlanTimer, engine: str) -> None:
    newest = replace(timer.usual.newest, engine=engine)
    heavier = {name: load * (4 if name.startswith("s0") else 0.1) for name, load in timer.loads.items()}
    uneven = replace(timer, loads=heavier, usual=replace(timer.usual, newest=newest))
    whole = places(uneven, s0=0, s1=1)
    cut = np.where([unit in {"s0-5", "s0-6", "s0-7", "s0-8", "s0-9"} for unit in timer.units], 1, whole)
    assert (uneven.one_trigger(cut) < uneven.one_trigger(whole)) == (engine == "resident")


def test_a_load_beyond_the_cores_makes_batches_grow_without_end() -> None:
    timer = timer_of(loaded(load=1.4, settings=WATCHING))
    current = np.arange(len(timer.units)) % 4
    assert timer.seconds(current).mean == np.inf
    assert np.isfinite(timer.one_trigger(current))


def test_without_a_model_or_with_a_given_capacity_nothing_is_predicted() -> None:
    run = loaded(settings=WATCHING)
    run.run.go(2)
    assert plan_timer(run.run.context, view_of(run.run.context)) is None
    run.go(3)
    assert plan_timer(run.run.context, view_of(run.run.context)) is not None
    run.run.settings = control_of({"capacity": 1})
    assert plan_timer(run.run.context, view_of(run.run.context)) is None

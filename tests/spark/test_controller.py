"""The loop beside a run, without Spark: batches that are made up, a clock by hand, a planner on a folder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from numpy.random import default_rng

from drover.control import history
from drover.control.engine_choice import EngineChoice, EngineInUse
from drover.control.executors import ExecutorStatus
from drover.control.record import PeriodOutcome
from drover.control.settings import control_of
from drover.errors import DroverError
from drover.flow.frames import Edge
from drover.flow.node import OperatorFacts
from drover.flow.schedule import HopNode
from drover.flow.state.storage import open_root
from drover.flow.worker import NodeReport
from drover.load.sample import Sample
from drover.placement.plan import Plan, units_of
from drover.spark.controller import Controller
from drover.spark.facts import BatchFacts, BatchSeconds, QueryFacts
from drover.spark.periods import PeriodAccumulator, query_busy_of, speeds_of
from drover.spark.planner import Planner
from drover_lab.generate import ChainParameters, chains
from tests.simulation.executors import SimulatedExecutors

NETWORK = chains(default_rng(0), ChainParameters(chains=2, length=5, selectivity=(1.0, 1.0)))
QUICK: dict[str, Any] = {"mode": "auto", "warm_up": 2, "window": 4, "trial": 0, "cool_down": 5}


def batch(plan: Plan, rows: float = 80, first: float = 1.0, nodes: float = 0.1) -> BatchFacts:
    """The facts of a batch; the first chain has `first` times the rows of the other."""
    busy = [0.0] * plan.nodes
    facts = []
    for operator in NETWORK.operators:
        mine = rows * (first if operator.name.startswith("s0") else 1.0)
        node = plan.node_of[operator.name]
        busy[node] += mine * 1e-3
        sample = Sample(operator.name, {operator.inputs[0]: mine}, {operator.name: mine}, mine * 1e-3, 1000)
        facts.append(OperatorFacts(sample, HopNode(0, node)))
    return BatchFacts(
        batch=0,
        spark_batch=0,
        plan=plan.number,
        nodes=plan.nodes,
        hops=1,
        seconds=BatchSeconds(0.2, 0.05, 0.01, nodes=nodes),
        rows_in={"s0": int(rows * first), "s1": int(rows)},
        routed=(Edge("s0", 0, 1, 10),),
        busy=tuple(busy),
        wall=tuple(2 * value for value in busy),
        operators=tuple(facts),
    )


class Beside:
    """A controller whose clock and batches are moved by hand."""

    def __init__(self, folder: Path, *, executors: SimulatedExecutors | None = None, **settings: Any) -> None:
        whole = Plan(1, 2, {unit: int(unit[1]) for unit in units_of(NETWORK)})
        self.planner = Planner(str(folder), whole)
        self.now = 0.0
        self.executors = executors
        control = control_of({**QUICK, **settings})
        self.loop = Controller(NETWORK, self.planner, control, executors=executors, clock=lambda: self.now)
        self.loop.start()

    def run(self, batches: int, first: float = 1.0) -> None:
        for _ in range(batches):
            self.now += 1.0
            self.loop(self._on_executors(batch(self.planner.plan, first=first)))
            self.loop.wait()

    def _on_executors(self, facts: BatchFacts) -> BatchFacts:
        if self.executors is None:
            return facts
        reports = [self.executors.ran(NodeReport(HopNode(0, node), (), (), (), {})) for node in range(facts.nodes)]
        return replace(facts, tasks={each.place.node: each.task for each in reports if each.task is not None})

    @property
    def kinds(self) -> list[PeriodOutcome]:
        return [record.kind for record in self.loop.records]


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Callable[..., Beside]]:
    made: list[Beside] = []

    def make(**options: Any) -> Beside:
        made.append(Beside(tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.loop.close()
        one.loop.close()  # does nothing


def test_a_period_lasts_from_commit_to_commit_and_sums_its_batches() -> None:
    ledger = PeriodAccumulator(NETWORK)
    plan = Plan(1, 2, dict.fromkeys(units_of(NETWORK), 0))
    assert ledger.take(100.0, batch(plan), 1.0) is None  # nobody knows when the first one began
    assert ledger.take(100.4, batch(plan), 1.0) is None
    found = ledger.take(101.5, batch(plan), 1.0)
    assert found is not None
    assert (found.period.seconds, found.period.rows) == (1.5, {"s0": 160.0, "s1": 160.0})
    assert [sample.busy for sample in found.period.samples] == pytest.approx([0.16] * 10)
    assert found.summary.batches == 2
    assert found.summary.batch_seconds == pytest.approx(0.26)
    assert found.speeds == (0.5, 0.0)
    assert ledger.take(101.6, batch(plan), 0.0) is not None  # every batch is a period


def test_what_a_move_took_is_what_its_first_batch_took_beyond_the_usual() -> None:
    ledger = PeriodAccumulator(NETWORK)
    plan = Plan(1, 2, dict.fromkeys(units_of(NETWORK), 0))
    for second in range(5):
        ledger.take(float(second), batch(plan), 1.0)
    ledger.expect(2, 3e6)
    ledger.expect(3, 1e6)  # before a batch ran with plan 2
    assert _moved(ledger, 5.0, batch(Plan(1, 2, plan.node_of), nodes=9.0)) == ()
    [(seconds, size)] = _moved(ledger, 6.0, batch(Plan(4, 2, plan.node_of), nodes=0.6))
    assert seconds == pytest.approx(0.5)
    assert size == 4e6
    assert _moved(ledger, 7.0, batch(Plan(4, 2, plan.node_of), nodes=0.6)) == ()


def _moved(ledger: PeriodAccumulator, now: float, facts: BatchFacts) -> tuple[tuple[float, float], ...]:
    found = ledger.take(now, facts, 1.0)
    assert found is not None
    return found.moved


def query_facts(*busy: float) -> QueryFacts:
    return QueryFacts(1, 0, 1, 0, 0, 1.0, {}, busy)


def test_what_queries_took_is_told_by_node() -> None:
    plan = Plan(1, 2, dict.fromkeys(units_of(NETWORK), 0))
    described = replace(batch(plan), queries=query_facts(0.5, 0.25))
    other = replace(batch(Plan(1, 3, plan.node_of)), queries=query_facts(9.0, 9.0, 9.0))
    assert query_busy_of([batch(plan)], 1.0) == (0.0, 0.0)
    assert query_busy_of([other, described, described], 2.0) == (0.5, 0.25)


def test_speed_is_known_only_of_nodes_that_worked() -> None:
    plan = Plan(1, 3, dict.fromkeys(units_of(NETWORK), 0))
    described = replace(batch(plan), busy=(0.5, 0.01, 3.0), wall=(1.0, 0.02, 2.9))
    assert speeds_of([described]) == (0.5, 0.0, 1.0)
    assert speeds_of([batch(Plan(1, 2, plan.node_of)), described]) == (0.5, 0.0, 1.0)  # of another number of nodes


def test_a_shift_changes_the_plan_and_is_written_down(beside: Callable[..., Beside], tmp_path: Path) -> None:
    one = beside()
    one.run(8)
    assert PeriodOutcome.MOVED not in one.kinds
    one.run(6, first=3.0)
    assert PeriodOutcome.MOVED in one.kinds
    assert one.planner.plan.number > 1
    assert {one.planner.plan.node_of[f"s0-{step}"] for step in range(5)} == {0, 1}
    fs, root = open_root(str(tmp_path))
    assert history.read_records(fs, root) == one.loop.records
    assert one.loop.status.failure is None


def test_a_restart_goes_on_with_windows_and_cool_downs(beside: Callable[..., Beside]) -> None:
    one = beside()
    one.run(8)
    one.run(4, first=3.0)
    one.loop.close()
    again = beside()
    assert again.loop.status.period == one.loop.status.period
    assert again.loop.records == one.loop.records
    again.planner.plan = one.planner.plan  # as `recover` does
    resting = again.loop._state.resting(5)
    assert resting == one.loop._state.resting(5) != {}
    again.run(2, first=0.2)
    later = [record for record in again.loop.records if record.period > one.loop.status.period]
    moved = {
        move.unit
        for each in later
        if each.kind is PeriodOutcome.MOVED and each.proposal
        for move in each.proposal.moves
    }
    assert not moved & set(resting)


def test_damaged_files_of_the_loop_stop_nothing(
    beside: Callable[..., Beside], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "control").mkdir()
    (tmp_path / "control" / "state.json").write_text("?")
    one = beside()
    assert "starts without history" in caplog.text
    one.run(3)
    assert one.loop.status.period == 2


def test_a_defect_ends_the_loop_and_not_the_run(beside: Callable[..., Beside]) -> None:
    one = beside()
    one.run(2)
    one.loop(replace(batch(one.planner.plan), busy=()))
    one.run(2)
    assert one.loop.status.failure == "IndexError: tuple index out of range"
    assert one.loop.status.period == 1


def test_a_proposal_is_applied_exactly_or_refused(beside: Callable[..., Beside]) -> None:
    one = beside(mode="propose")
    one.run(8)
    one.run(3, first=3.0)
    shown = one.loop.status.waiting
    before = one.planner.plan
    assert shown is not None
    with pytest.raises(DroverError, match="there is no proposal 'p0'"):
        one.loop.approve("p0")
    one.loop.approve(shown.id)
    assert one.planner.plan.node_of == {**before.node_of, **{move.unit: move.target for move in shown.moves}}
    assert one.loop.records[-1].proposal == replace(shown, reason=f"applied by hand: {shown.reason}")


def test_whoever_is_quicker_wins_and_nothing_rests_for_it(beside: Callable[..., Beside]) -> None:
    one = beside(mode="propose")
    one.run(8)
    one.run(3, first=3.0)
    shown = one.loop.status.waiting
    assert shown is not None
    one.planner.replan(lambda plan: plan.move(shown.moves[0].unit, shown.moves[0].target))
    with pytest.raises(DroverError, match="the deployment has changed"):
        one.loop.approve(shown.id)
    assert one.loop._state.moved == {}


def test_a_drained_node_is_emptied_and_the_last_one_is_not(beside: Callable[..., Beside]) -> None:
    one = beside()
    one.run(3)
    one.loop.drain(1)
    with pytest.raises(DroverError, match="node 0 is the last node in use"):
        one.loop.drain(0)
    with pytest.raises(DroverError, match="node is 7, but the nodes are 0 to 1"):
        one.loop.drain(7)
    one.run(1)
    assert set(one.planner.plan.node_of.values()) == {0}
    one.loop.drain(1, empty=False)
    assert one.loop.status.drained == ()


def test_units_of_a_lost_executor_are_placed_in_the_next_period(beside: Callable[..., Beside]) -> None:
    one = beside(executors=SimulatedExecutors())
    one.run(3)
    assert one.executors is not None
    one.executors.resize(1)  # executor 0 is lost, and node 0 ran on it
    one.run(1)
    assert set(one.planner.plan.node_of.values()) == {1}
    assert one.loop.records[-1].reason == "5 units need a node: executor 0 was lost: node 0 ran on it"
    assert one.loop.closed() == {0}
    one.executors.resize(2)
    one.run(1)
    assert one.loop.closed() == set()


def test_a_released_executor_forces_nothing(beside: Callable[..., Beside]) -> None:
    one = beside(executors=SimulatedExecutors())
    one.run(3)
    before = one.planner.plan
    assert one.executors is not None
    one.executors.resize(1, ExecutorStatus.RELEASED)
    one.run(1)
    assert one.loop.closed() == set()
    assert one.planner.plan == before
    assert one.kinds[-1] is not PeriodOutcome.MOVED


def test_resident_nodes_leave_a_slot_for_reading(beside: Callable[..., Beside]) -> None:
    one = beside(executors=SimulatedExecutors())
    assert one.executors is not None
    one.executors.resize(3)
    one.run(3)
    one.executors.resize(2)
    one.run(1)
    assert one.loop.closed() == set()
    one.loop.engine = EngineInUse(EngineChoice.RESIDENT)
    assert one.loop.closed() == {0}


def test_settings_change_while_it_runs_and_what_is_wrong_is_refused(beside: Callable[..., Beside]) -> None:
    one = beside(mode="observe")
    one.run(4)
    assert one.loop.change(mode="auto").mode == "auto"
    for wrong in ({"mode": "aut"}, {"windows": 3}, {"pins": {"nobody": 0}}):
        with pytest.raises(DroverError):
            one.loop.change(**wrong)
    assert one.loop.settings.mode == "auto"


def test_questions_may_come_from_any_thread_while_batches_do(beside: Callable[..., Beside]) -> None:
    one = beside()
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(20):
                assert one.loop.explain("s0-0").unit == "s0-0"
                assert one.loop.status.network == NETWORK.name
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    one.run(12, first=3.0)
    for thread in threads:
        thread.join()
    assert failures == []
    assert one.loop.status.failure is None


def test_a_loop_without_a_thread_is_stepped_by_its_caller(tmp_path: Path) -> None:
    plan = Plan(1, 2, {unit: int(unit[1]) for unit in units_of(NETWORK)})
    now = iter(range(10))
    loop = Controller(NETWORK, Planner(str(tmp_path), plan), control_of(QUICK), clock=lambda: float(next(now)))
    loop.begin()
    for _ in range(3):
        loop(batch(plan))
    assert loop.records == []
    loop.process_waiting()
    assert len(loop.records) == 2  # the first batch only starts the clock
    loop.process_waiting()
    assert len(loop.records) == 2
    loop.close()

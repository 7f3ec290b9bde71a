"""Batches on resident nodes: what the hops compute, repeated router tasks, moves, rescales, and nodes that are lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drover.errors import DroverError
from drover.flow.instances import explicit
from drover.network.model import Network
from drover.placement.plan import Plan, round_robin
from drover.spark.driver import Driver
from drover.spark.planner import Planner
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.service import QueryService
from drover.spark.resident import engine as module
from drover.spark.resident.engine import ResidentEngine
from drover.spark.sinks import Memory
from tests.flow.harness import Batch, Harness
from tests.flow.oracle import assert_same_rows
from tests.simulation.spark import laid_out, unified
from tests.spark.resident.local_nodes import LocalNodes, LocalRows
from tests.spark.runs import chaos_network, ordered_batches


class ResidentRun:
    """A driver whose batches run on nodes in threads."""

    def __init__(self, network: Network, root: Path, nodes: int = 3) -> None:
        self.network = network
        self.nodes = LocalNodes()
        given: Any = self.nodes  # Any: what the engine calls of `ResidentNodes`
        self.engine = ResidentEngine(given)
        self.sinks = {stream: Memory() for stream in network.outputs}
        self.planner = Planner(str(root), explicit(round_robin(network, nodes), network))
        service = QueryService(network, QueryCatalog(network, str(root), {}))
        sinks = {stream: (sink,) for stream, sink in self.sinks.items()}
        self.driver = Driver(network, unified(network), sinks, str(root), self.planner, service, engine=self.engine)
        self.driver.open()

    def process(self, batch: Batch, number: int, **options: Any) -> None:  # Any: of LocalRows
        layout = unified(self.network).layout
        rows: Any = LocalRows(  # Any: a DataFrame
            [
                laid_out(batch[name], index, shape, self.network, layout)
                for index, (name, shape) in enumerate(layout.shapes.items())
            ],
            **options,
        )
        self.driver.process(rows, number)

    def read_bytes(self) -> int:
        """The bytes of state that the last batch had to read."""
        return self.driver.history[-1].loaded


@pytest.fixture
def run(tmp_path: Path) -> Iterator[ResidentRun]:
    found = ResidentRun(chaos_network(), tmp_path)
    yield found
    found.driver.close()


BATCHES = ordered_batches(chaos_network(), 6, 30)


def expected(network: Network, batches: Sequence[Batch]) -> dict[str, pl.DataFrame]:
    harness = Harness(network)
    for batch in batches:
        harness.run(batch, Plan(1, 1, {operator.name: 0 for operator in network.operators}))
    return {stream: harness.output(stream) for stream in network.outputs}


def assert_exact(run: ResidentRun, batches: Sequence[Batch]) -> None:
    for stream, rows in expected(run.network, batches).items():
        assert_same_rows(run.sinks[stream].rows(), rows)


def test_batches_give_what_one_process_gives(run: ResidentRun) -> None:
    for number, batch in enumerate(BATCHES):
        run.process(batch, number)
    assert_exact(run, BATCHES)


def test_in_the_steady_state_no_state_is_read(run: ResidentRun) -> None:
    for number, batch in enumerate(BATCHES):
        run.process(batch, number)
        assert run.read_bytes() == 0
    assert run.nodes.starts == 3


def test_only_the_attempt_that_counts_gives_rows(run: ResidentRun) -> None:
    for number, batch in enumerate(BATCHES):
        run.process(batch, number, attempts=1 + number % 3)
    assert_exact(run, BATCHES)


def test_units_move_and_nodes_come_and_go(run: ResidentRun) -> None:
    moves = [
        lambda plan: plan.move("windows", 0).move("pairs", 2),
        lambda plan: Plan(plan.number + 1, 5, {unit: (node + 3) % 5 for unit, node in plan.node_of.items()}),
        lambda plan: Plan(plan.number + 1, 1, dict.fromkeys(plan.node_of, 0)),
    ]
    for number, batch in enumerate(BATCHES):
        run.process(batch, number)
        if moves:
            run.planner.replan(moves.pop(0))
    assert_exact(run, BATCHES)
    assert len(run.nodes.nodes) == 1


@pytest.mark.parametrize("when", ["between batches", "while rows are routed"])
def test_a_lost_node_is_replaced_and_the_batch_repeated(
    run: ResidentRun, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(module, "FROZEN", 1.0)
    for number, batch in enumerate(BATCHES):
        before: Any = lambda: None  # noqa: E731
        if number in {2, 4}:
            lost = [number % 3]

            def lose(lost: list[int] = lost) -> None:
                while lost:
                    run.nodes.replace(lost.pop())

            if when == "between batches":
                lose()
            else:
                before = lose
        run.process(batch, number, before=before)
    assert run.nodes.starts == 5
    assert_exact(run, BATCHES)


def test_a_call_without_the_secret_is_refused(run: ResidentRun) -> None:
    run.process(BATCHES[0], 0)
    stranger: Any = LocalNodes()  # Any: as above
    stranger.nodes = run.nodes.nodes
    with pytest.raises(Exception, match="needs the secret of the run"):
        ResidentEngine(stranger)._clients.begin(b"", run.nodes.ensure(3)[0])


def test_an_error_of_drover_in_a_node_is_that_error(run: ResidentRun, tmp_path: Path) -> None:
    run.process(BATCHES[0], 0)
    run.nodes.replace(0)
    run.nodes.replace(1)
    run.nodes.replace(2)
    for file in (tmp_path / "state").glob("*.arrow"):
        file.write_bytes(b"")
    with pytest.raises(DroverError, match="arrow"):
        run.process(BATCHES[1], 1)

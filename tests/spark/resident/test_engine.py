"""Batches on resident nodes: what the hops compute, repeated router tasks, moves, rescales, and nodes that are lost."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from operator import methodcaller
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.flight as fl
import pytest

from drover.control.failing import FailurePolicy
from drover.errors import DroverError
from drover.flow.instances import explicit
from drover.flow.pipelining import pipeline_of
from drover.network.model import Network
from drover.placement.plan import Plan, round_robin
from drover.spark.driver import Driver
from drover.spark.planner import Planner
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.service import QueryService
from drover.spark.resident import engine as module
from drover.spark.resident import node_server
from drover.spark.resident.encryption import RunCertificate
from drover.spark.resident.engine import Pipelines, ResidentEngine
from drover.spark.resident.inbox import INBOX_BYTES
from drover.spark.resident.node_server import Turn
from drover.spark.sinks import Memory
from drover.spark.tasks import NodeTask
from tests.flow.harness import Batch, Harness
from tests.flow.oracle import assert_same_rows
from tests.simulation.spark import laid_out, unified
from tests.spark.resident.local_nodes import LocalNode, LocalNodes, LocalRows
from tests.spark.runs import chaos_network, ordered_batches

ON_FAILURE = FailurePolicy()


class ResidentRun:
    """A driver whose batches run on nodes in threads."""

    def __init__(
        self,
        network: Network,
        root: Path,
        nodes: int = 3,
        inbox_bytes: int = INBOX_BYTES,
        estimate: Callable[[Any], int] = lambda _: sys.maxsize,  # Any: the batch
        pipelines: Pipelines = pipeline_of,
        policy: FailurePolicy = ON_FAILURE,
        *,
        certificate: RunCertificate | None = None,
    ) -> None:
        self.network = network
        self.nodes = LocalNodes(inbox_bytes, certificate)
        given: Any = self.nodes  # Any: what the engine calls of `ResidentNodes`
        self.engine = ResidentEngine(given, estimate, pipelines)
        self.sinks = {stream: Memory() for stream in network.outputs}
        self.results = Memory()  # of submitted queries
        self.late = Memory()
        self.planner = Planner(str(root), explicit(round_robin(network, nodes), network))
        self.service = QueryService(network, QueryCatalog(network, str(root), {}))
        self.service.use_sink(self.results)
        self.driver = Driver(
            network,
            unified(network),
            {stream: (sink,) for stream, sink in self.sinks.items()},
            str(root),
            self.planner,
            self.service,
            policy,
            engine=self.engine,
            late=self.late,
        )
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


def turned(plan: Plan) -> Plan:
    """The next plan, in which every unit is on another node."""
    return Plan(plan.number + 1, plan.nodes, {unit: (node + 1) % plan.nodes for unit, node in plan.node_of.items()})


def test_state_goes_from_node_to_node_and_nothing_is_read(run: ResidentRun) -> None:
    for number, batch in enumerate(BATCHES):
        run.process(batch, number)
        assert run.read_bytes() == 0
        run.planner.replan(turned)
    assert_exact(run, BATCHES)


def test_with_more_nodes_and_with_fewer_nothing_is_read(run: ResidentRun) -> None:
    for number, batch in enumerate(BATCHES):
        run.process(batch, number)
        assert run.read_bytes() == 0
        assert len(run.nodes.nodes) == run.planner.plan.nodes
        run.planner.replan(methodcaller("scale", 1 + 2 * number % 5))
    assert_exact(run, BATCHES)


def test_state_whose_node_is_gone_is_read_from_the_log(run: ResidentRun) -> None:
    read = []
    for number, batch in enumerate(BATCHES):
        run.process(batch, number)
        read.append(run.read_bytes())
        run.planner.replan(turned)
        if number == 2:
            for node in range(3):
                run.nodes.lose(node)
    assert [number for number, size in enumerate(read) if size > 0] == [3]
    assert_exact(run, BATCHES)


def test_a_node_that_refuses_to_lend_costs_time_and_nothing_else(
    run: ResidentRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, batch in enumerate(BATCHES):
        run.process(batch, number)
        run.planner.replan(turned)
        if number == 2:
            monkeypatch.setattr(node_server, "lend", lambda _states, _request: None)
    assert run.read_bytes() > 0
    assert_exact(run, BATCHES)


def test_frames_that_do_not_fit_into_memory_wait_in_files(tmp_path: Path) -> None:
    run = ResidentRun(chaos_network(), tmp_path, inbox_bytes=0)
    try:
        for number, batch in enumerate(BATCHES):
            run.process(batch, number)
            assert [node.server.inbox.held for node in run.nodes.nodes.values()] == [0, 0, 0]
        assert all(node.server.inbox.written > 0 for node in run.nodes.nodes.values())
        assert_exact(run, BATCHES)
    finally:
        run.driver.close()


class FrozenNode:
    """Stops a node from answering, as if its process were stopped."""

    def __init__(self, node: LocalNode, monkeypatch: pytest.MonkeyPatch) -> None:
        self.goes_on = threading.Event()
        for name in ("do_action", "do_put", "do_get"):
            monkeypatch.setattr(node.server, name, self._wait)

    def _wait(self, *_args: object) -> None:
        self.goes_on.wait(30)
        raise fl.FlightUnavailableError("it was ended")


@pytest.mark.parametrize("when", ["between batches", "while rows are routed", "while others send frames to it"])
def test_a_frozen_node_is_replaced_and_the_batch_repeated(
    run: ResidentRun, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(module, "FROZEN", 0.2)
    frozen: list[FrozenNode] = []
    end = run.nodes.lose

    def lose(node: int) -> None:
        frozen[0].goes_on.set()
        end(node)

    monkeypatch.setattr(run.nodes, "lose", lose)

    def freeze() -> None:
        if not frozen:
            frozen.append(FrozenNode(run.nodes.nodes[1], monkeypatch))

    @contextlib.contextmanager
    def freezing(_turn: Turn) -> Iterator[None]:
        yield
        freeze()

    for number, batch in enumerate(BATCHES):
        if number == 2 and when == "between batches":
            freeze()
        if number == 2 and when == "while others send frames to it":
            monkeypatch.setattr(run.engine, "_watched", freezing)
        run.process(batch, number, before=freeze if number == 2 and when == "while rows are routed" else lambda: None)
    assert run.nodes.starts == 4
    assert_exact(run, BATCHES)


def test_an_operator_at_which_polars_panics_ends_no_batch_with_fewer_rows(
    run: ResidentRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicError(BaseException):
        """Polars' own is no Exception, either."""

    def panic(*_args: object) -> None:
        raise PanicError("a bug in native code")

    run.process(BATCHES[0], 0)
    monkeypatch.setattr(NodeTask, "run_frames", panic)
    monkeypatch.setattr(threading, "excepthook", lambda _args: None)
    with pytest.raises(Exception, match="a bug in native code"):
        run.process(BATCHES[1], 1)


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
                    run.nodes.lose(lost.pop())

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
    run.nodes.lose(0)
    run.nodes.lose(1)
    run.nodes.lose(2)
    for file in (tmp_path / "state").glob("*.arrow"):
        file.write_bytes(b"")
    with pytest.raises(DroverError, match="arrow"):
        run.process(BATCHES[1], 1)

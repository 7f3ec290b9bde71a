"""Computes micro-batches on resident nodes: one Spark stage reads and routes, then the nodes run hop by hop.

Rule 1: nothing is decided here, as in `batch`: the same input gives the same output on every replay.
Rule 2: whatever happens to a node in a turn, the turn fails as a whole. The driver repeats it from the same rows.
Rule 3: a turn in pieces in which an operator fails is repeated without pieces, because a failed operator emits nothing.
"""

from __future__ import annotations

import logging
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

import pyarrow.flight as fl
from pyspark.sql import DataFrame

from drover.control.engine_choice import EngineChoice
from drover.errors import DroverError, TableError
from drover.flow.frames import LARGE_FRAME_BYTES, Frame, FrameKind
from drover.flow.parking import Parking
from drover.flow.pieces import PieceFailedError
from drover.flow.pipelining import UNPIPELINED, Pipeline, Step, Wave, pipeline_of
from drover.flow.schedule import HopNode, Schedule
from drover.flow.spill import fetch
from drover.flow.worker import Assignment
from drover.spark.batch import BatchResult, WorkerDiedError, collect_frames, gather, overlapped
from drover.spark.resident.driver_routing import DriverRouter, Estimate, estimated_bytes
from drover.spark.resident.node_jobs import ResidentNodes
from drover.spark.resident.node_server import BEGIN, PING, Turn
from drover.spark.resident.routing import ResidentRouterTask
from drover.spark.resident.wire import UNKNOWN_TURN, HopRequest, NodeAddress, RunSecret, call_options, connect, dumps
from drover.spark.tasks import FRAME_TYPE, RouterTask, SourceLayout, frames_of

LOOK_EVERY: Final = 2.0  # seconds between two checks of the nodes while a turn runs
FROZEN: Final = 20.0  # seconds without an answer to a ping after which a node is replaced
NOTICE: Final = 5.0  # seconds in which Spark notices by itself that a node has ended
MOST_CALLS: Final = 1024  # at once; a thread begins when it is needed
GONE: Final = (fl.FlightUnavailableError, fl.FlightCancelledError, fl.FlightTimedOutError)
log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Calls = dict[Future[Answer], NodeAddress]
Pipelines = Callable[[Schedule, Parking, Mapping[str, float]], Pipeline]  # as `pipeline_of`


class NodeLostError(WorkerDiedError):
    """A resident node has died, or no longer answers."""

    def __init__(self, address: NodeAddress, *, frozen: bool = False) -> None:
        how = "does not answer" if frozen else "died"
        super().__init__(f"resident node {address.node} {how}, and is started again", address.node)
        self.address = address
        self.frozen = frozen


@dataclass(slots=True)
class NodeClients:
    """The driver's connections to the nodes: one for work, and one for pings that overtake it."""

    secret: RunSecret = field(repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _clients: dict[tuple[str, str], fl.FlightClient] = field(default_factory=dict)

    def begin(self, turn: bytes, address: NodeAddress) -> None:
        """Tell a node of a turn."""
        list(self._client("work", address).do_action(fl.Action(BEGIN, turn), call_options(self.secret)))

    def run_hop(self, request: HopRequest, address: NodeAddress) -> list[Frame]:
        """Run a hop on a node, and return its frames for the driver."""
        reader = self._client("work", address).do_get(fl.Ticket(dumps(request)), call_options(self.secret))
        return [frame for chunk in reader for frame in frames_of(chunk.data.columns)]

    def look(self, address: NodeAddress) -> NodeLostError | None:
        """Return the loss of a node that does not answer a ping; None if it answers."""
        try:
            list(self._client("ping", address).do_action(fl.Action(PING, b""), call_options(self.secret, FROZEN)))
        except fl.FlightTimedOutError:
            return NodeLostError(address, frozen=True)
        except fl.FlightError:
            return NodeLostError(address)
        return None

    def forget(self, address: NodeAddress) -> None:
        """Close the connections to a node that is lost."""
        with self._lock:
            for key in [key for key in self._clients if key[1] == address.location]:
                self._clients.pop(key).close()

    def _client(self, purpose: str, address: NodeAddress) -> fl.FlightClient:
        with self._lock:
            key = purpose, address.location
            if key not in self._clients:
                self._clients[key] = connect(address.location, self.secret)
            return self._clients[key]

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()


class ResidentEngine:
    """Computes micro-batches on the resident nodes of one run."""

    def __init__(
        self, nodes: ResidentNodes, estimate: Estimate = estimated_bytes, pipelines: Pipelines = pipeline_of
    ) -> None:
        self._nodes = nodes
        self._pipelines = pipelines
        self._busy: Mapping[str, float] = {}  # CPU seconds of operators in the last batch
        self._router = DriverRouter(nodes.secret, time.process_time, estimate)
        self._clients = NodeClients(nodes.secret)
        self._pool = ThreadPoolExecutor(MOST_CALLS, "drover turn")
        self._looks = ThreadPoolExecutor(MOST_CALLS, "drover look")  # not behind calls that a frozen node keeps waiting
        self._holders: dict[str, NodeAddress] = {}  # by operator: the node that ran it in the last turn

    def run(
        self, rows: DataFrame, layout: SourceLayout, assignment: Assignment, meanwhile: Callable[[], None]
    ) -> BatchResult:
        """Run one micro-batch."""
        assignment = replace(assignment, frame_bytes=LARGE_FRAME_BYTES)
        nodes = self._nodes.ensure(assignment.schedule.nodes)
        places = _nodes_of(assignment, nodes)
        pipeline = self._pipelines(assignment.schedule, assignment.parking, self._busy)
        turn = Turn(uuid.uuid4().hex, assignment, nodes, self._moved(places), pipeline)
        try:
            with overlapped(meanwhile):
                frames, pieces = self._run_pieces(rows, layout, turn)
        except NodeLostError as lost:
            self._replace(lost)
            raise
        except DroverError:
            raise
        except Exception as error:
            found = self._find_lost(turn.involved)  # routers and other nodes fail if they cannot reach a node
            if found is None and UNKNOWN_TURN in str(error):
                raise WorkerDiedError("a resident node was started again while a batch ran") from error
            if found is None:
                raise
            self._replace(found)
            raise found from error
        self._holders = places
        # Not earlier: a node that the plan no longer has may have lent state in this turn.
        self._nodes.release(assignment.schedule.nodes)
        result = replace(gather(*fetch(frames, assignment.root)), engine=str(EngineChoice.RESIDENT), pieces=pieces)
        self._router.note(result)
        self._busy = {one.sample.operator: one.sample.busy for report in result.reports for one in report.operators}
        return result

    def _moved(self, places: Mapping[str, NodeAddress]) -> dict[str, NodeAddress]:
        """Return the nodes that have the state of operators which run elsewhere now, if they still live."""
        return {
            operator: before
            for operator, before in self._holders.items()
            if operator in places and places[operator] != before and self._nodes.is_there(before)
        }

    def _run_pieces(self, rows: DataFrame, layout: SourceLayout, turn: Turn) -> tuple[list[Frame], int]:
        """Return the frames that routers and nodes have for the driver, and in how many pieces the nodes made them."""
        try:
            return self._run_turn(rows, layout, turn), turn.pipeline.pieces
        except PieceFailedError as failed:
            # It takes the batch twice the time, which would look like a slow node.
            log.warning("%s. The batch runs again in one piece.", failed)
        whole = replace(turn, name=uuid.uuid4().hex, pipeline=UNPIPELINED)
        return self._run_turn(rows, layout, whole), 1

    def _run_turn(self, rows: DataFrame, layout: SourceLayout, turn: Turn) -> list[Frame]:
        """Return the frames that routers and nodes have for the driver."""
        begin = partial(self._clients.begin, pickle.dumps(turn))
        begun = self._pool.submit(self._on_each, turn, turn.nodes, begin)
        with self._watched(turn):
            routed = self._route(rows, layout, turn, begun.result)
        frames = [one for one in routed if one.port.kind is not FrameKind.ROUTER_ATTEMPT]
        routers = tuple(one.port.stream for one in routed if one.port.kind is FrameKind.ROUTER_ATTEMPT)
        return frames + self._run_steps(turn, routers)

    def _run_steps(self, turn: Turn, routers: tuple[str, ...]) -> list[Frame]:
        """Run all hops, in the pieces of the turn; return the frames that nodes have for the driver."""
        wave = Wave(turn.assignment.schedule, turn.pipeline)
        running: Calls[list[Frame]] = {}
        made: dict[HopNode, list[Frame]] = {}
        steps: dict[Future[list[Frame]], Step] = {}
        while True:
            for step in wave.ready():
                request = HopRequest(turn.name, step.place.hop, routers, step.piece)
                address = turn.nodes[step.place.node]
                call = self._pool.submit(self._clients.run_hop, request, address)
                running[call] = address
                steps[call] = step
            if not running:
                return [frame for place in sorted(made) for frame in made[place]]
            for call in self._ended(turn, running):
                del running[call]
                wave.end(steps[call])
                made.setdefault(steps[call].place, []).extend(call.result())

    def _route(
        self, rows: DataFrame, layout: SourceLayout, turn: Turn, wait_for_nodes: Callable[[], object]
    ) -> list[Frame]:
        """Read the rows of a batch, put their frames to the nodes, and return the frames for the driver."""
        task = ResidentRouterTask(
            turn.name, RouterTask(turn.assignment, layout), turn.nodes, self._nodes.secret.for_callers()
        )
        what = f"drover batch {turn.assignment.batch}: {len(layout.shapes)} sources to {len(turn.nodes)} resident nodes"
        if self._router.suits(rows, task):
            # Spark reads while the nodes learn of the turn.
            return list(self._router.route(rows, task, what, wait_for_nodes))
        wait_for_nodes()  # a node refuses frames of a turn that it does not know
        return list(collect_frames(rows.sparkSession, rows.mapInArrow(task, FRAME_TYPE), what))

    def close(self) -> None:
        """Stop the nodes."""
        for pool in (self._pool, self._looks):
            pool.shutdown(wait=False, cancel_futures=True)
        self._clients.close()
        self._nodes.close()

    def _on_each(self, turn: Turn, nodes: Sequence[NodeAddress], call: Callable[[NodeAddress], Answer]) -> list[Answer]:
        """Call nodes at once; return the answers in their order, or raise the first error."""
        calls: Calls[Answer] = {self._pool.submit(call, address): address for address in nodes}
        running = dict(calls)
        while running:
            for one in self._ended(turn, running):
                del running[one]
        return [one.result() for one in calls]

    def _ended(self, turn: Turn, running: Calls[Answer]) -> set[Future[Answer]]:
        """Wait for calls to nodes; return those that have ended, or raise the first error."""
        while True:
            done, _ = wait(running, LOOK_EVERY, FIRST_COMPLETED)
            for one in done:
                if (error := one.exception()) is not None:
                    raise _read_error(error, running[one])
            if done:
                return done
            # All nodes, not only those that were called: they may wait for one that has no work of its own.
            if (lost := self._find_lost(turn.involved)) is not None:
                raise lost

    @contextmanager
    def _watched(self, turn: Turn) -> Iterator[None]:
        """Replace nodes that are lost while the block runs: a router that waits for one fails then."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(LOOK_EVERY):
                if (lost := self._find_lost(turn.involved)) is not None:
                    self._replace(lost)
                    return

        watching = self._pool.submit(watch)
        try:
            yield
        finally:
            ended.set()
            watching.result()

    def _find_lost(self, addresses: Sequence[NodeAddress]) -> NodeLostError | None:
        """Return the loss of the first node that is gone or frozen; None if all answer."""
        gone = (NodeLostError(address) for address in addresses if not self._nodes.is_there(address))
        if (lost := next(gone, None)) is not None:
            return lost
        return next((lost for lost in self._looks.map(self._clients.look, addresses) if lost is not None), None)

    def _replace(self, lost: NodeLostError) -> None:
        """Let Spark start a lost node again, so that the next turn does not meet it."""
        log.warning("%s", lost)
        self._clients.forget(lost.address)
        self._nodes.replace(lost.address, 0.0 if lost.frozen else NOTICE)


def _nodes_of(assignment: Assignment, nodes: Sequence[NodeAddress]) -> dict[str, NodeAddress]:
    """Return the node of every operator that may have state."""
    return {
        operator.name: nodes[place.node]
        for place, operators in assignment.schedule.runs.items()
        for operator in operators
        if operator.holds_state
    }


def _read_error(error: BaseException, address: NodeAddress) -> BaseException:
    """Return the error that a call to a node stands for."""
    if isinstance(error, GONE):
        return NodeLostError(address)
    kind = getattr(error, "extra_info", b"").decode()
    text = str(error).partition(". Detail:")[0]
    for special in (TableError, PieceFailedError):
        if kind == special.__name__:
            return special(text)
    return DroverError(text) if kind else error

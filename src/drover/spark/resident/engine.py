"""Computes micro-batches on resident nodes: one Spark stage reads and routes, then the nodes run hop by hop.

Rule 1: nothing is decided here, as in `batch`: the same input gives the same output on every replay.
Rule 2: whatever happens to a node in a turn, the turn fails as a whole. The driver repeats it from the same rows.
"""

from __future__ import annotations

import pickle
import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import pyarrow.flight as fl
from pyspark.sql import DataFrame

from drover.errors import DroverError, TableError
from drover.flow.frames import Frame, FrameKind
from drover.flow.schedule import HopNode, Schedule
from drover.flow.spill import fetch
from drover.flow.worker import Assignment
from drover.spark.batch import BatchResult, WorkerDiedError, collect_frames, gather, overlapped
from drover.spark.resident.node_jobs import ResidentNodes
from drover.spark.resident.node_server import BEGIN, PING, Turn
from drover.spark.resident.routing import ResidentRouterTask
from drover.spark.resident.wire import UNKNOWN_TURN, HopRequest, NodeAddress, call_options, dumps
from drover.spark.tasks import FRAME_TYPE, RouterTask, SourceLayout, frames_of

LOOK_EVERY: Final = 2.0  # seconds between two looks at nodes that have not answered
FROZEN: Final = 20.0  # seconds without an answer to a ping after which a node is replaced
GONE: Final = (fl.FlightUnavailableError, fl.FlightCancelledError, fl.FlightTimedOutError)

Answer = TypeVar("Answer")


@dataclass(slots=True)
class NodeClients:
    """The driver's connections to the nodes: one for work, and one for pings that overtake it."""

    secret: str
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _clients: dict[tuple[str, str], fl.FlightClient] = field(default_factory=dict)

    def begin(self, turn: bytes, address: NodeAddress) -> None:
        """Tell a node of a turn."""
        list(self._client("work", address).do_action(fl.Action(BEGIN, turn), call_options(self.secret)))

    def run_hop(self, request: HopRequest, address: NodeAddress) -> list[Frame]:
        """Run a hop on a node, and return its frames for the driver."""
        reader = self._client("work", address).do_get(fl.Ticket(dumps(request)), call_options(self.secret))
        return [frame for chunk in reader for frame in frames_of(chunk.data.columns)]

    def ping(self, address: NodeAddress) -> bool:
        """Return whether a node answers in time."""
        try:
            list(self._client("ping", address).do_action(fl.Action(PING, b""), call_options(self.secret, FROZEN)))
        except fl.FlightError:
            return False
        return True

    def _client(self, purpose: str, address: NodeAddress) -> fl.FlightClient:
        with self._lock:
            key = purpose, address.location
            if key not in self._clients:
                self._clients[key] = fl.connect(address.location)
            return self._clients[key]

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()


class ResidentEngine:
    """Computes micro-batches on the resident nodes of one run."""

    def __init__(self, nodes: ResidentNodes) -> None:
        self._nodes = nodes
        self._clients = NodeClients(nodes.secret)
        self._pool = ThreadPoolExecutor(64, "drover turn")

    def run(
        self, rows: DataFrame, layout: SourceLayout, assignment: Assignment, meanwhile: Callable[[], None]
    ) -> BatchResult:
        """Run one micro-batch."""
        nodes = self._nodes.ensure(assignment.schedule.nodes)
        try:
            with overlapped(meanwhile):
                frames = self._run_turn(rows, layout, Turn(uuid.uuid4().hex, assignment, nodes))
        except DroverError:
            raise
        except Exception:
            self._look_after(nodes)  # routers and other nodes fail if they cannot reach a node
            raise
        return gather(*fetch(frames, assignment.root))

    def _run_turn(self, rows: DataFrame, layout: SourceLayout, turn: Turn) -> list[Frame]:
        """Return the frames that routers and nodes have for the driver."""
        schedule = turn.assignment.schedule
        self._on_each(turn.nodes, partial(self._clients.begin, pickle.dumps(turn)))
        task = ResidentRouterTask(turn.name, RouterTask(turn.assignment, layout), turn.nodes, self._nodes.secret)
        what = f"drover batch {turn.assignment.batch}: {len(layout.shapes)} sources to {schedule.nodes} resident nodes"
        routed = list(collect_frames(rows.sparkSession, rows.mapInArrow(task, FRAME_TYPE), what))
        frames = [one for one in routed if one.port.kind is not FrameKind.ROUTER_ATTEMPT]
        routers = tuple(one.port.stream for one in routed if one.port.kind is FrameKind.ROUTER_ATTEMPT)
        for hop in range(schedule.hops):
            request = HopRequest(turn.name, hop, routers)
            working = [turn.nodes[node] for node in _working(schedule, hop)]
            for made in self._on_each(working, partial(self._clients.run_hop, request)):
                frames += made
        return frames

    def close(self) -> None:
        """Stop the nodes."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._clients.close()
        self._nodes.close()

    def _on_each(self, nodes: Sequence[NodeAddress], call: Callable[[NodeAddress], Answer]) -> list[Answer]:
        """Call nodes at once; return the answers in their order, or raise the first error."""
        running = {self._pool.submit(call, address): address for address in nodes}
        waiting: set[Future[Answer]] = set(running)
        while waiting:
            done, waiting = wait(waiting, LOOK_EVERY, FIRST_COMPLETED)
            for one in done:
                if (error := one.exception()) is not None:
                    raise _read_error(error, running[one])
            if not done:
                self._look_after([running[one] for one in waiting])
        return [one.result() for one in running]

    def _look_after(self, addresses: Sequence[NodeAddress]) -> None:
        """Raise WorkerDiedError if a node is gone or frozen; a frozen one is replaced."""
        for address in addresses:
            if not self._nodes.is_there(address):
                raise _lost(address)
            if not self._clients.ping(address):
                self._nodes.replace(address.node)
                raise _lost(address)


def _working(schedule: Schedule, hop: int) -> list[int]:
    """Return the nodes that have work in a hop."""
    return [
        node
        for node in range(schedule.nodes)
        if (place := HopNode(hop, node)) in schedule.runs or place in schedule.herds
    ]


def _lost(address: NodeAddress) -> WorkerDiedError:
    return WorkerDiedError(f"node {address.node} died or does not answer", address.node)


def _read_error(error: BaseException, address: NodeAddress) -> BaseException:
    """Return the error that a call to a node stands for."""
    if isinstance(error, GONE) or (isinstance(error, fl.FlightError) and UNKNOWN_TURN in str(error)):
        return _lost(address)
    kind = getattr(error, "extra_info", b"").decode()
    text = str(error).partition(". Detail:")[0]
    if kind == TableError.__name__:
        return TableError(text)
    return DroverError(text) if kind else error

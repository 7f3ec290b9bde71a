"""A resident node: a Flight server in a long-running Spark task, with its operators' state in memory.

Rule 1: hops run in the main thread. Time limits of user functions are signals, and Python delivers these only there.
Rule 2: the driver says when a hop runs. By then everything that the hop reads has arrived, so a node never waits for
another node, and no deadlock is possible.
Rule 3: a node that has not heard from its driver for long ends: Spark's executor may outlive the application.
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.flight as fl

from drover.errors import DroverError
from drover.flow.frames import LARGE, Frame
from drover.flow.lending import LentPart, PartRequest, lend
from drover.flow.node import NOTHING_STREAMED
from drover.flow.pieces import PlacePieces, pieces_at
from drover.flow.pipelining import UNPIPELINED, Pipeline
from drover.flow.schedule import HopNode
from drover.flow.worker import Assignment, WorkerCache
from drover.spark.resident.encryption import demand_encryption
from drover.spark.resident.frame_split import split_frames
from drover.spark.resident.inbox import INBOX_BYTES, Inbox, UnknownTurnError
from drover.spark.resident.state_transfer import NOT_HERE, StateBorrower, from_table, to_table
from drover.spark.resident.wire import (
    FrameDelivery,
    HopRequest,
    NodeAddress,
    RunSecret,
    call_options,
    connect,
    dumps,
    loads,
    reachable_host,
    server_options,
)
from drover.spark.tasks import CACHE, FRAME_SCHEMA, NodeTask, attempt_word, frames_of, record_batches

BEGIN: Final = "begin"
PING: Final = "ping"
STATE: Final = b"state:"  # how the ticket begins with which a node asks another one for state
STOP: Final = "stop"
REGISTER: Final = "register"
LOOK_EVERY: Final = 5.0  # seconds between two checks that the driver is there
PATIENCE: Final = 60.0  # seconds without the driver after which a node ends


@dataclass(frozen=True, slots=True)
class Turn:
    """What a node needs to know before a batch: its name, the assignment, and where the other nodes are."""

    name: str
    assignment: Assignment
    nodes: tuple[NodeAddress, ...]
    holders: Mapping[str, NodeAddress] = field(default_factory=dict)  # who has the state of operators that moved
    pipeline: Pipeline = UNPIPELINED

    @property
    def involved(self) -> tuple[NodeAddress, ...]:
        """Every node that the turn needs."""
        return (*self.nodes, *sorted(set(self.holders.values()) - set(self.nodes), key=lambda one: one.node))


@dataclass(slots=True)
class HopWork:
    """A hop that waits for the main thread, and its outcome."""

    request: HopRequest
    done: threading.Event = field(default_factory=threading.Event)
    batches: list[pa.RecordBatch] = field(default_factory=list)
    error: BaseException | None = None


class Deliveries:
    """Sends frames to other nodes, and asks them for state; connections are kept from batch to batch."""

    def __init__(self, secret: RunSecret) -> None:
        self._secret = secret
        self._options = call_options(secret)
        self._clients: dict[str, fl.FlightClient] = {}

    def send(self, location: str, delivery: FrameDelivery, batches: Iterable[pa.RecordBatch]) -> None:
        """Send frames; return when the other node has all of them."""
        descriptor = fl.FlightDescriptor.for_command(dumps(delivery))
        writer, _ = self._client(location).do_put(descriptor, FRAME_SCHEMA, self._options)
        with writer:  # its end waits until the other node has taken the frames, or raises its error
            for batch in batches:
                writer.write_batch(batch)

    def fetch(self, holder: NodeAddress, request: PartRequest) -> LentPart:
        """Return a part of the state that another node has; FlightError if it does not have it."""
        ticket = fl.Ticket(STATE + pickle.dumps(request))
        return from_table(self._client(holder.location).do_get(ticket, self._options).read_all())

    def _client(self, location: str) -> fl.FlightClient:
        if location not in self._clients:
            self._clients[location] = connect(location, self._secret)
        return self._clients[location]


class NodeServer(fl.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """Receives frames, and passes hops on to the main thread."""

    def __init__(self, location: str, secret: RunSecret, cache: WorkerCache, inbox: Inbox | None = None) -> None:
        super().__init__(location, **server_options(secret))
        self.inbox = Inbox() if inbox is None else inbox
        self.cache = cache
        self.turn: Turn | None = None
        self.work: queue.SimpleQueue[HopWork | None] = queue.SimpleQueue()
        self.heard = time.monotonic()  # when the driver last called
        self.ended = threading.Event()  # no work is done any more

    # Any in the methods below: pyarrow has no types.
    def do_put(self, _context: Any, descriptor: Any, reader: Any, _writer: Any) -> None:
        """Take frames from a router or from another node."""
        delivery = loads(FrameDelivery, descriptor.command)
        try:
            self.inbox.put(delivery, (chunk.data for chunk in reader))
        except UnknownTurnError as error:
            raise fl.FlightServerError(str(error)) from error

    def do_action(self, _context: Any, action: Any) -> list[bytes]:
        """Begin a turn, answer a ping with the number of this process, or stop."""
        self.heard = time.monotonic()
        if action.type == BEGIN:
            turn: Turn = pickle.loads(action.body)  # only the driver has the secret
            self.turn = turn
            self.inbox.begin(turn.name)
        elif action.type == STOP:
            self.work.put(None)
        return [str(os.getpid()).encode()]

    def do_get(self, _context: Any, ticket: Any) -> fl.RecordBatchStream:
        """Run a hop and return its frames for the driver, or lend state to another node."""
        if ticket.ticket.startswith(STATE):
            return self._lend(pickle.loads(ticket.ticket[len(STATE) :]))  # only nodes of the run have the secret
        self.heard = time.monotonic()
        work = HopWork(loads(HopRequest, ticket.ticket))
        self.work.put(work)
        if self.ended.is_set():
            self.end()
        work.done.wait()
        if work.error is not None:
            kind = type(work.error).__name__ if isinstance(work.error, DroverError) else ""
            raise fl.FlightServerError(str(work.error), extra_info=kind.encode()) from work.error
        return fl.RecordBatchStream(pa.Table.from_batches(work.batches, FRAME_SCHEMA))

    def end(self) -> None:
        """Refuse the work that waits, and all that will come: a server that shuts down waits for every call."""
        self.ended.set()
        while True:
            try:
                work = self.work.get_nowait()
            except queue.Empty:  # another call has refused it
                return
            if work is not None:
                work.error = UnknownTurnError()
                work.done.set()

    def _lend(self, request: PartRequest) -> fl.RecordBatchStream:
        lent = lend(self.cache.states, request)
        if lent is None:
            raise fl.FlightServerError(NOT_HERE)
        return fl.RecordBatchStream(to_table(lent))


@dataclass(slots=True)
class HopRunner:
    """Runs hops of one node in the main thread."""

    node: int
    server: NodeServer
    deliveries: Deliveries
    _turn: str = ""
    _pieces: dict[int, PlacePieces] = field(default_factory=dict)  # of this turn, by hop

    def run(self, request: HopRequest) -> list[pa.RecordBatch]:
        """Run a hop or a piece of it, send its frames to other nodes, and return those for the driver."""
        turn = self.server.turn
        if turn is None or turn.name != request.turn:
            raise UnknownTurnError
        if self._turn != turn.name:
            self._turn = turn.name
            self._pieces.clear()
        batches = self.server.inbox.take(turn.name, request.hop, request.routers, request.piece)
        arrived = (frame for batch in batches for frame in frames_of(batch.columns))
        if request.piece is None:
            made = self._run_hop(turn, request.hop, arrived)
        else:
            made = self._run_piece(turn, request.hop, request.piece, arrived)
        by_place, for_driver = split_frames(made)
        for place, frames in by_place.items():
            delivery = FrameDelivery(turn.name, place.hop, f"node {self.node} in hop {request.hop}", "", request.piece)
            sent = record_batches(frames, LARGE)
            if place.node == self.node:
                self.server.inbox.put(delivery, sent)
            else:
                self.deliveries.send(turn.nodes[place.node].location, delivery, sent)
        self.server.cache.freeze()
        return list(record_batches(for_driver))

    def _run_hop(self, turn: Turn, hop: int, arrived: Iterable[Frame]) -> list[Frame]:
        """Run what does not run in pieces, and end what does."""
        cache = self.server.cache
        cache.borrow = StateBorrower(turn.holders, self.deliveries.fetch)
        streamed = self._pieces.pop(hop).end() if hop in self._pieces else NOTHING_STREAMED
        return NodeTask(turn.assignment, hop).run_frames(arrived, self.node, attempt_word(), cache, streamed)

    def _run_piece(self, turn: Turn, hop: int, piece: int, arrived: Iterable[Frame]) -> list[Frame]:
        """Run a piece of the streamed operators of a hop."""
        started = time.perf_counter()
        busy = time.process_time()
        cache = self.server.cache
        if hop not in self._pieces:
            network, _ = cache.compile_context(turn.assignment.network)
            self._pieces[hop] = pieces_at(HopNode(hop, self.node), turn.pipeline, turn.assignment, network)
        mine = self._pieces[hop]
        made = mine.run(piece, arrived, turn.assignment, f"{hop}-{attempt_word()}", cache)
        mine.spend(time.process_time() - busy, time.perf_counter() - started)
        return made


def serve(runner: HopRunner, driver_lives: Callable[[], bool]) -> None:
    """Run hops until the driver says stop, or is gone."""
    server = runner.server
    try:
        while (work := _next_work(server, driver_lives)) is not None:
            try:
                work.batches = runner.run(work.request)
            except BaseException as error:
                work.error = error  # whatever it is, the driver must know: Polars panics with more than an Exception
                if not isinstance(error, Exception):
                    raise
            finally:
                work.done.set()
    finally:
        server.end()


def _next_work(server: NodeServer, driver_lives: Callable[[], bool]) -> HopWork | None:
    """Wait for work and return it; None if the driver says stop, or is gone."""
    while True:
        try:
            return server.work.get(timeout=LOOK_EVERY)
        except queue.Empty:
            if driver_lives():
                server.heard = time.monotonic()
            if time.monotonic() - server.heard > PATIENCE:
                return None


@dataclass(frozen=True, slots=True)
class NodeProgram:
    """What Spark runs as the task of a node."""

    registry: str  # location of the driver's registry
    secret: RunSecret
    job: str = ""
    inbox_bytes: int = INBOX_BYTES

    def __call__(self, numbers: Iterable[int]) -> Iterator[int]:
        """Serve until the driver ends."""
        for node in numbers:
            self.serve(node)
            yield node

    def serve(self, node: int) -> None:
        """Serve as one node."""
        scheme, _, host_port = self.registry.partition("://")
        host, _, port = host_port.rpartition(":")
        mine = reachable_host(host, int(port))
        encrypts = self.secret.certificate is not None
        if encrypts:
            demand_encryption()  # now, not when the first frame has to wait on disk
        server = NodeServer(f"{scheme}://{mine}:0", self.secret, CACHE, Inbox(self.inbox_bytes, encrypts))
        registry = connect(self.registry, self.secret)
        address = NodeAddress(node, f"{scheme}://{mine}:{server.port}", uuid.uuid4().hex, self.job)

        parent = os.getppid()

        def driver_lives() -> bool:
            if os.getppid() != parent:  # Spark's daemon of workers has died, and only it could end this process
                server.work.put(None)
            try:
                list(registry.do_action(fl.Action(PING, b""), call_options(self.secret, LOOK_EVERY)))
            except fl.FlightError:
                return False
            return True

        try:
            list(registry.do_action(fl.Action(REGISTER, dumps(address)), call_options(self.secret, PATIENCE)))
            serve(HopRunner(node, server, Deliveries(self.secret.for_callers())), driver_lives)
        finally:
            server.shutdown()

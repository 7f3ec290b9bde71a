"""The Spark jobs of resident nodes: one per node, so that nodes come, go and fail one by one.

Rule 1: Spark places and restarts a node's task. If its job fails for good, the job is submitted again.
Rule 2: a node counts from the moment it registers with its address. Its newest registration counts.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from typing import Any, Final

import pyarrow.flight as fl
from pyspark import InheritableThread, SparkContext
from pyspark.sql import SparkSession

from drover import wording
from drover.errors import DroverError, shorten
from drover.spark.resident.encryption import RunCertificate
from drover.spark.resident.inbox import INBOX_BYTES
from drover.spark.resident.node_server import PING, REGISTER, STOP, NodeProgram
from drover.spark.resident.wire import NodeAddress, RunSecret, call_options, connect, loads, new_secret, server_options
from drover.spark.slots import has_fixed_slots, task_slots

START_SECONDS: Final = 60.0  # until a node must have registered
PAUSE: Final = 0.5  # seconds before a failed job is submitted again
STOP_SECONDS: Final = 5.0
INBOX_SETTING: Final = "spark.drover.inboxBytes"
WAY_OUT: Final = (
    "A resident node needs a slot of Spark for itself, and reading needs one more. "
    "Give Spark more cores, use fewer nodes, or write engine: shuffle."
)
log = logging.getLogger(__name__)


class NodeRegistry(fl.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """The driver's list of nodes; they register themselves."""

    def __init__(self, host: str, secret: RunSecret) -> None:
        super().__init__(f"{secret.scheme}://{host}:0", **server_options(secret))
        self.location = f"{secret.scheme}://{host}:{self.port}"
        self._known: dict[int, NodeAddress] = {}
        self._changed = threading.Condition()

    def do_action(self, _context: Any, action: Any) -> list[bytes]:  # Any: pyarrow has no types
        """Register a node, or answer a ping."""
        if action.type == REGISTER:
            address = loads(NodeAddress, action.body.to_pybytes())
            with self._changed:
                self._known[address.node] = address
                self._changed.notify_all()
        elif action.type != PING:
            raise fl.FlightServerError(f"unknown action {action.type!r}")
        return [b""]

    def forget(self, node: int, job: str | None = None) -> None:
        """Remove a node whose task has ended; with `job`, only if that job has started it."""
        with self._changed:
            if node in self._known and job in (None, self._known[node].job):
                del self._known[node]
                self._changed.notify_all()

    def known(self, node: int) -> NodeAddress | None:
        """Return where a node is; None if its task does not run."""
        with self._changed:
            return self._known.get(node)

    def wait_until_gone(self, address: NodeAddress, seconds: float) -> bool:
        """Wait until a node has left this address; return False if it has not after so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._known.get(address.node) != address, seconds)

    def wait_for(self, count: int, seconds: float) -> tuple[NodeAddress, ...] | None:
        """Wait until nodes 0 to `count` - 1 are there; None if they are not after so many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: all(node in self._known for node in range(count)), seconds):
                return None
            return tuple(self._known[node] for node in range(count))


def is_stopped(context: SparkContext) -> bool:
    """Return whether somebody has stopped Spark; then no node can be started again."""
    return getattr(context, "_jsc", None) is None  # Spark has no other way to ask


class NodeSupervisor:
    """Keeps one node running, as one Spark job after another, until it is told to end."""

    def __init__(
        self, context: SparkContext, registry: NodeRegistry, name: str, node: int, program: NodeProgram
    ) -> None:
        self.job = f"{name} node {node} {program.job}"
        self._context = context
        self._registry = registry
        self._node = node
        self._program = program
        self._ending = threading.Event()
        self._thread = InheritableThread(target=self._keep_running, daemon=True)
        self._thread.start()

    @property
    def runs(self) -> bool:
        """Whether it keeps the node running."""
        return self._thread.is_alive()

    def cancel(self) -> None:
        """End the task of the node by force: Spark kills its process. Another one is started, unless this is ending."""
        self._context.cancelJobGroup(self.job)

    def end(self, secret: RunSecret) -> None:
        """Ask the node to end, and let it end by force if it cannot hear that; `wait` waits for it."""
        self._ending.set()
        address = self._registry.known(self._node)
        try:
            if address is not None:
                with connect(address.location, secret) as client:
                    list(client.do_action(fl.Action(STOP, b""), call_options(secret, STOP_SECONDS)))
        except fl.FlightError:
            self.cancel()

    def wait(self) -> None:
        """Wait until the node has ended; a hop that does not end is ended by force."""
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            self.cancel()

    def _keep_running(self) -> None:
        while not self._ending.is_set() and not is_stopped(self._context):
            try:
                self._context.setJobGroup(self.job, f"drover node {self._node}", interruptOnCancel=True)
                self._context.parallelize([self._node], 1).mapPartitions(self._program).collect()
            except Exception as error:  # noqa: BLE001 - Spark raises many kinds, and the answer is the same
                if not self._ending.is_set() and not is_stopped(self._context):
                    log.warning("node %s ended: %s. It is started again.", self._node, str(error).splitlines()[0])
            # Only what this job has registered: a newer task of the node may be there already.
            self._registry.forget(self._node, self._program.job)
            self._ending.wait(PAUSE)


class ResidentNodes:
    """Keeps the nodes of one run alive; with a certificate, they encrypt what they send and what waits on disk."""

    def __init__(self, spark: SparkSession, run: str, certificate: RunCertificate | None = None) -> None:
        self.secret = new_secret(certificate)
        self._spark = spark
        self._context = spark.sparkContext
        self._run = run
        self._inbox_bytes = inbox_bytes(spark.conf.get(INBOX_SETTING, None))
        self._registry = NodeRegistry(spark.conf.get("spark.driver.host") or "127.0.0.1", self.secret)
        self._supervisors: dict[int, NodeSupervisor] = {}
        self._addresses: tuple[NodeAddress, ...] = ()  # of the nodes beside which there was a slot for reading
        # Dynamic allocation adds executors for tasks that wait, so reading gets a slot once it asks for one.
        self._grows = spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true"

    def ensure(self, count: int, seconds: float = START_SECONDS) -> tuple[NodeAddress, ...]:
        """Return the addresses of so many nodes, once all of them run. Nodes beyond these run on until `release`."""
        end = time.monotonic() + seconds
        missing = [node for node in range(count) if node not in self._supervisors or not self._supervisors[node].runs]
        if missing and has_fixed_slots(str(self._context.master)):
            # Such a master never gets more slots, so waiting would not help.
            self._demand_slots(count, 0.0)
        for node in missing:
            self._supervisors[node] = self._start(node)
        found = self._registry.wait_for(count, seconds)
        if found is None:
            silent = [node for node in range(count) if self._registry.known(node) is None]
            raise DroverError(f"nodes {silent} did not start within {seconds:.0f} s. {WAY_OUT}")
        # A node that was started again may have taken the slot that reading needs.
        if missing or (found != self._addresses and not self._grows):
            self._demand_slots(count, end)
        self._addresses = found
        return found

    def _demand_slots(self, count: int, end: float) -> None:
        """Wait for a slot beside those of the nodes; otherwise nobody could read. DroverError if none comes."""
        while (slots := task_slots(self._spark)) <= count:
            if time.monotonic() > end:
                raise DroverError(f"nodes is {count}, but Spark has {wording.count(slots, 'slot')}. {WAY_OUT}")
            time.sleep(PAUSE)

    def release(self, count: int) -> None:
        """Stop the nodes from number `count` on: batches no longer need them."""
        for node in [number for number in self._supervisors if number >= count]:
            self._supervisors.pop(node).end(self.secret)
            self._registry.forget(node)

    def is_there(self, address: NodeAddress) -> bool:
        """Return whether a node has not been started again since it had this address."""
        return self._registry.known(address.node) == address

    def replace(self, address: NodeAddress, patience: float = 0.0) -> None:
        """Make sure that a lost node is started again; Spark has so many seconds to notice by itself that it ended."""
        if not self._registry.wait_until_gone(address, patience) and address.node in self._supervisors:
            self._supervisors[address.node].cancel()
            self._registry.forget(address.node, address.job)

    def close(self) -> None:
        """Stop all nodes."""
        for supervisor in self._supervisors.values():
            supervisor.end(self.secret)
        for supervisor in self._supervisors.values():
            supervisor.wait()
        self._registry.shutdown()

    def _start(self, node: int) -> NodeSupervisor:
        program = NodeProgram(self._registry.location, self.secret, uuid.uuid4().hex[:8], self._inbox_bytes)
        return NodeSupervisor(self._context, self._registry, f"drover {self._run}", node, program)


def inbox_bytes(given: str | None) -> int:
    """Return the bytes of frames that may wait in a node's memory, from a setting of Spark."""
    if given is None:
        return INBOX_BYTES
    if not (given.isascii() and given.isdigit()):
        raise DroverError(f"{INBOX_SETTING} is {shorten(given)}, but must be a whole number of bytes. Correct it.")
    return int(given)

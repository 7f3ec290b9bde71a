"""The Spark jobs of resident nodes: one per node, so that nodes come, go and fail one by one.

Rule 1: Spark places and restarts a node's task. If its job fails for good, the job is submitted again.
Rule 2: a node counts from the moment it registers with its address. Its newest registration counts.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Final

import pyarrow.flight as fl
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.spark.resident.node_server import PING, REGISTER, STOP, NodeProgram
from drover.spark.resident.wire import NodeAddress, call_options, loads, new_secret, server_middleware

START_SECONDS: Final = 60.0  # until a node must have registered
PAUSE: Final = 0.5  # seconds before a failed job is submitted again
STOP_SECONDS: Final = 5.0
log = logging.getLogger(__name__)


class NodeRegistry(fl.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """The driver's list of nodes; they register themselves."""

    def __init__(self, host: str, secret: str) -> None:
        super().__init__(f"grpc://{host}:0", middleware=server_middleware(secret))
        self.location = f"grpc://{host}:{self.port}"
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

    def forget(self, node: int) -> None:
        """Remove a node whose task has ended."""
        with self._changed:
            self._known.pop(node, None)
            self._changed.notify_all()

    def known(self, node: int) -> NodeAddress | None:
        """Return where a node is; None if its task does not run."""
        with self._changed:
            return self._known.get(node)

    def wait_until_gone(self, address: NodeAddress, seconds: float) -> bool:
        """Wait until a node is not at this address any more; return False if it still is after so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._known.get(address.node) != address, seconds)

    def wait_for(self, count: int, seconds: float) -> tuple[NodeAddress, ...] | None:
        """Wait until nodes 0 to `count` - 1 are there; None if they are not after so many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: all(node in self._known for node in range(count)), seconds):
                return None
            return tuple(self._known[node] for node in range(count))


class ResidentNodes:
    """Keeps the nodes of one run alive."""

    def __init__(self, spark: SparkSession, run: str) -> None:
        self.secret = new_secret()
        self._context = spark.sparkContext
        self._run = run
        self._registry = NodeRegistry(spark.conf.get("spark.driver.host") or "127.0.0.1", self.secret)
        self._threads: dict[int, InheritableThread] = {}
        self._wanted = 0
        self._closed = threading.Event()

    def ensure(self, count: int, seconds: float = START_SECONDS) -> tuple[NodeAddress, ...]:
        """Return the addresses of so many nodes, once all of them run."""
        self._wanted = count
        for node in range(count):
            if node not in self._threads or not self._threads[node].is_alive():
                self._threads[node] = InheritableThread(target=self._keep_running, args=(node,), daemon=True)
                self._threads[node].start()
        for node in [number for number in self._threads if number >= count]:
            self._stop(node)
            del self._threads[node]
        found = self._registry.wait_for(count, seconds)
        if found is None:
            missing = [node for node in range(count) if self._registry.known(node) is None]
            raise DroverError(
                f"nodes {missing} did not start within {seconds:.0f} s. A resident node needs a slot of Spark for "
                "itself, besides one for reading. Give Spark more cores, use fewer nodes, or write engine: shuffle."
            )
        return found

    def is_there(self, address: NodeAddress) -> bool:
        """Return whether a node has not been started again since it had this address."""
        return self._registry.known(address.node) == address

    def wait_until_gone(self, address: NodeAddress, seconds: float = START_SECONDS) -> bool:
        """Wait until Spark has noticed that a node ended; return False if it has not after so many seconds."""
        return self._registry.wait_until_gone(address, seconds)

    def replace(self, node: int) -> None:
        """End the task of a node that does not answer; another one is started."""
        self._context.cancelJobGroup(self._group(node))
        self._registry.forget(node)

    def close(self) -> None:
        """Stop all nodes."""
        self._closed.set()
        for node in self._threads:
            self._stop(node)
        for thread in self._threads.values():
            thread.join(STOP_SECONDS)
        self._registry.shutdown()

    def _stop(self, node: int) -> None:
        address = self._registry.known(node)
        self._registry.forget(node)
        try:
            if address is not None:
                client = fl.connect(address.location)
                list(client.do_action(fl.Action(STOP, b""), call_options(self.secret, STOP_SECONDS)))
                client.close()
        except fl.FlightError:
            self._context.cancelJobGroup(self._group(node))

    def _group(self, node: int) -> str:
        return f"drover {self._run} node {node}"

    def _keep_running(self, node: int) -> None:
        program = NodeProgram(self._registry.location, self.secret)
        while not self._closed.is_set() and node < self._wanted:
            self._context.setJobGroup(self._group(node), f"drover node {node}", interruptOnCancel=True)
            try:
                self._context.parallelize([node], 1).mapPartitions(program).collect()
            except Exception as error:  # noqa: BLE001 - Spark raises many kinds, and the answer is the same
                if not self._closed.is_set():
                    log.warning("node %s ended: %s. It is started again.", node, str(error).splitlines()[0])
                    time.sleep(PAUSE)
            self._registry.forget(node)

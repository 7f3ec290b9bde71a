"""Resident nodes in threads of this process, and rows that need no Spark."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa

from drover.flow.worker import WorkerCache
from drover.spark.resident.encryption import RunCertificate
from drover.spark.resident.inbox import INBOX_BYTES, Inbox
from drover.spark.resident.node_server import Deliveries, HopRunner, NodeServer, serve
from drover.spark.resident.routing import ResidentRouterTask
from drover.spark.resident.wire import NodeAddress, new_secret


class QuietCache(WorkerCache):
    """The memory of a worker that shares its process with tests."""

    def freeze(self) -> None:
        """Leave the garbage collector alone."""


def new_cache() -> QuietCache:
    return QuietCache(lambda: 0.0, lambda _: None)


@dataclass
class LocalNode:
    """A node that runs in a thread."""

    address: NodeAddress
    server: NodeServer
    thread: threading.Thread
    cache: QuietCache

    def end(self) -> None:
        self.server.work.put(None)
        self.thread.join(10)
        self.server.shutdown()


class LocalNodes:
    """Takes the place of `ResidentNodes`."""

    def __init__(self, inbox_bytes: int = INBOX_BYTES, certificate: RunCertificate | None = None) -> None:
        self.inbox_bytes = inbox_bytes
        self.secret = new_secret(certificate)
        self.nodes: dict[int, LocalNode] = {}
        self.starts = 0

    def ensure(self, count: int) -> tuple[NodeAddress, ...]:
        for node in range(count):
            if node not in self.nodes:
                self.nodes[node] = self._start(node)
        return tuple(self.nodes[node].address for node in range(count))

    def release(self, count: int) -> None:
        for node in [number for number in self.nodes if number >= count]:
            self.nodes.pop(node).end()

    def is_there(self, address: NodeAddress) -> bool:
        return address.node in self.nodes and self.nodes[address.node].address == address

    def replace(self, address: NodeAddress, _patience: float = 0.0) -> None:
        if self.is_there(address):
            self.lose(address.node)

    def lose(self, node: int) -> None:
        self.nodes.pop(node).end()

    def close(self) -> None:
        while self.nodes:
            self.nodes.popitem()[1].end()

    def _start(self, node: int) -> LocalNode:
        self.starts += 1
        cache = new_cache()
        location = f"{self.secret.scheme}://127.0.0.1"
        inbox = Inbox(self.inbox_bytes, self.secret.certificate is not None)
        server = NodeServer(f"{location}:0", self.secret, cache, inbox)
        runner = HopRunner(node, server, Deliveries(self.secret.for_callers()))
        thread = threading.Thread(target=serve, args=(runner, lambda: True), daemon=True)
        thread.start()
        address = NodeAddress(node, f"{location}:{server.port}", uuid.uuid4().hex)
        return LocalNode(address, server, thread, cache)


class _NoConf:
    def get(self, _key: str) -> str:
        return "true"

    def set(self, _key: str, _value: str) -> None: ...


class _NoContext:
    def setLocalProperty(self, _key: str, _value: str | None) -> None: ...  # noqa: N802 - Spark's name


class LocalSession:
    """Takes the place of a SparkSession."""

    conf = _NoConf()
    sparkContext = _NoContext()  # noqa: N815 - Spark's name

    def createDataFrame(self, _rows: object, _schema: object) -> LocalRows:  # noqa: N802 - Spark's name
        return LocalRows(())


@dataclass
class LocalRows:
    """Takes the place of a DataFrame; `attempts` says how often each router task runs, and its last attempt counts."""

    partitions: Sequence[pl.DataFrame]
    attempts: int = 1
    before: Callable[[], object] = lambda: None
    sparkSession: LocalSession = field(default_factory=LocalSession)  # noqa: N815 - Spark's name

    task: ResidentRouterTask | None = None  # None: the rows themselves are collected

    def mapInArrow(self, task: Any, _type: object) -> LocalRows:  # noqa: N802 - Spark's name. Any: a router task
        self.task = task
        return self

    def _collect_as_arrow(self) -> list[pa.RecordBatch]:
        self.before()
        if self.task is None:
            rows: list[pa.RecordBatch] = pl.concat(self.partitions).to_arrow().to_batches()
            return rows
        return list(self._routed(self.task))

    def _routed(self, task: ResidentRouterTask) -> Iterator[pa.RecordBatch]:
        cache = new_cache()
        deliveries = Deliveries(task.secret)
        for number, part in enumerate(self.partitions):
            for attempt in range(self.attempts):
                batches = iter(part.to_arrow().to_batches())
                word = f"{number}-{attempt}-{uuid.uuid4().hex[:6]}"
                made = list(task.run(batches, number, word, cache, deliveries))
                if attempt == self.attempts - 1:
                    yield from made

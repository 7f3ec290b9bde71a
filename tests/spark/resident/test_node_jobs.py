"""The driver's list of nodes: it has the newest address of each, and waits for those that are missing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow.flight as fl
import pytest
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.spark.resident.inbox import INBOX_BYTES
from drover.spark.resident.node_jobs import NodeRegistry, NodeSupervisor, inbox_bytes
from drover.spark.resident.node_server import REGISTER, NodeProgram
from drover.spark.resident.wire import NodeAddress, call_options, dumps, new_secret

SECRET = new_secret()


@pytest.fixture
def registry() -> Iterator[NodeRegistry]:
    with NodeRegistry("127.0.0.1", SECRET) as found:
        yield found


def register(registry: NodeRegistry, address: NodeAddress) -> None:
    with fl.connect(registry.location) as client:
        list(client.do_action(fl.Action(REGISTER, dumps(address)), call_options(SECRET)))


def test_the_newest_registration_counts(registry: NodeRegistry) -> None:
    first = NodeAddress(0, "grpc://127.0.0.1:1", "a")
    second = NodeAddress(0, "grpc://127.0.0.1:2", "b")
    register(registry, first)
    register(registry, second)
    assert registry.wait_for(1, 0.0) == (second,)
    registry.forget(0)
    assert registry.known(0) is None


def test_it_waits_for_all_nodes(registry: NodeRegistry) -> None:
    one = NodeAddress(0, "grpc://127.0.0.1:1", "a")
    other = NodeAddress(1, "grpc://127.0.0.1:2", "b")
    register(registry, one)
    assert registry.wait_for(2, 0.01) is None
    late = threading.Timer(0.05, register, (registry, other))
    late.start()
    assert registry.wait_for(2, 10.0) == (one, other)
    late.join()


def test_an_unknown_action_is_refused(registry: NodeRegistry) -> None:
    with fl.connect(registry.location) as client, pytest.raises(fl.FlightServerError, match="unknown action 'x'"):
        list(client.do_action(fl.Action("x", b""), call_options(SECRET)))


def test_a_job_that_has_ended_forgets_only_its_own_node(registry: NodeRegistry) -> None:
    mine = NodeAddress(0, "grpc://127.0.0.1:1", "a", "new job")
    register(registry, mine)
    registry.forget(0, "old job")
    assert registry.known(0) == mine
    registry.forget(0, "new job")
    assert registry.known(0) is None


def test_how_many_bytes_wait_in_memory_is_a_setting() -> None:
    assert inbox_bytes(None) == INBOX_BYTES
    assert inbox_bytes("1000") == 1000
    with pytest.raises(DroverError, match="inboxBytes is '1g', but must be a whole number of bytes"):
        inbox_bytes("1g")


class StoppedContext:
    """Takes the place of a SparkContext that somebody has stopped."""

    _jsc = None


def test_a_node_is_not_started_again_once_spark_has_stopped(spark: SparkSession, registry: NodeRegistry) -> None:
    del spark  # a thread that passes on its settings needs it
    stopped: Any = StoppedContext()  # Any: a SparkContext
    supervisor = NodeSupervisor(stopped, registry, "run", 0, NodeProgram(registry.location, SECRET, "job"))
    supervisor.wait()
    assert not supervisor.runs

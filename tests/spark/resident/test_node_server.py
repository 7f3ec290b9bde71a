"""A resident node: it refuses what belongs to no turn, runs hops in its own thread, and ends without its driver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from drover.spark.resident import node_server as module
from drover.spark.resident.node_server import PING, Deliveries, HopRunner, HopWork, NodeServer, serve
from drover.spark.resident.wire import FrameDelivery, HopRequest, RunSecret, call_options, dumps
from drover.spark.tasks import FRAME_SCHEMA
from tests.spark.resident.local_nodes import LocalNodes, new_cache

SECRET = RunSecret("secret")


@pytest.fixture
def nodes() -> Iterator[LocalNodes]:
    found = LocalNodes()
    yield found
    found.close()


def test_a_node_says_which_process_it_is(nodes: LocalNodes) -> None:
    (address,) = nodes.ensure(1)
    with fl.connect(address.location) as client:
        (answer,) = client.do_action(fl.Action(PING, b""), call_options(nodes.secret))
    assert int(answer.body.to_pybytes()) == os.getpid()


def test_frames_and_hops_of_an_unknown_turn_are_refused(nodes: LocalNodes) -> None:
    (address,) = nodes.ensure(1)
    empty = pa.RecordBatch.from_arrays([pa.array([], one.type) for one in FRAME_SCHEMA], schema=FRAME_SCHEMA)
    with pytest.raises(fl.FlightServerError, match="does not know the turn"):
        Deliveries(nodes.secret).send(address.location, FrameDelivery("t", 0, "s"), [empty])
    with fl.connect(address.location) as client, pytest.raises(fl.FlightError, match="does not know the turn"):
        client.do_get(fl.Ticket(dumps(HopRequest("t", 0, ()))), call_options(nodes.secret)).read_all()


@pytest.mark.parametrize("lives", [True, False])
def test_a_node_ends_when_its_driver_has_been_silent_for_long(monkeypatch: pytest.MonkeyPatch, lives: bool) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    looked: list[bool] = []
    with NodeServer("grpc://127.0.0.1:0", SECRET, new_cache()) as server:

        def driver_lives() -> bool:
            looked.append(lives)
            if len(looked) == 20:
                server.work.put(None)  # otherwise a node whose driver lives would go on for ever
            return lives

        runner: Any = HopRunner(0, server, Deliveries(SECRET))  # Any: none of its hops is run
        serve(runner, driver_lives)
    assert (len(looked) == 20) is lives


def test_a_node_that_ends_keeps_no_call_waiting(nodes: LocalNodes) -> None:
    (address,) = nodes.ensure(1)
    server = nodes.nodes[0].server
    server.work.put(None)
    nodes.nodes[0].thread.join(10)
    with fl.connect(address.location) as client, pytest.raises(fl.FlightError, match="does not know the turn"):
        client.do_get(fl.Ticket(dumps(HopRequest("t", 0, ()))), call_options(nodes.secret)).read_all()
    waiting = HopWork(HopRequest("t", 0, (), 1))
    server.work.put(waiting)
    server.end()
    assert waiting.done.is_set()
    assert waiting.error is not None

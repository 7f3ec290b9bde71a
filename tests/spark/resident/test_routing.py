"""The router of resident nodes: frames go to the nodes, and the driver gets its reports and the word of the attempt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from drover.flow.frames import DRIVER, Frame, FrameKind, FramePort
from drover.spark.resident.routing import ResidentRouterTask
from drover.spark.resident.wire import FrameDelivery, NodeAddress, RunSecret
from drover.spark.tasks import frames_of
from tests.spark.resident.local_nodes import new_cache

NODES = tuple(NodeAddress(node, f"grpc://node-{node}", "start") for node in range(2))
PORT = FramePort(FrameKind.ROWS, "s")
REPORT = Frame(0, DRIVER, FramePort(FrameKind.ROUTER_REPORT), 7, 0, b"report")


@dataclass
class Sent:
    """Takes the place of the connections to the nodes."""

    deliveries: list[tuple[str, FrameDelivery, int]] = field(default_factory=list)

    def send(self, location: str, delivery: FrameDelivery, batches: Iterator[pa.RecordBatch]) -> None:
        self.deliveries.append((location, delivery, sum(batch.num_rows for batch in batches)))


class TwoPieces:
    """Takes the place of the router: two pieces with frames for both nodes, and a report for the driver."""

    def pieces(self, *_: object) -> list[list[Frame]]:
        frames = [Frame(node, hop, PORT, 7, 0, b"rows") for node in range(2) for hop in range(2)]
        return [frames[:3], [frames[3], REPORT]]


def test_frames_go_to_their_nodes_and_the_rest_to_the_driver() -> None:
    sent: Any = Sent()  # Any: Deliveries
    router: Any = TwoPieces()  # Any: a RouterTask
    task = ResidentRouterTask("turn", router, NODES, RunSecret("secret"))
    made = [frame for batch in task.run(iter(()), 7, "word", new_cache(), sent) for frame in frames_of(batch.columns)]
    assert made == [REPORT, Frame(0, DRIVER, FramePort(FrameKind.ROUTER_ATTEMPT, "word"), 7, 0, b"")]
    assert sent.deliveries == [
        ("grpc://node-0", FrameDelivery("turn", 0, "piece 0", "word"), 1),
        ("grpc://node-1", FrameDelivery("turn", 0, "piece 0", "word"), 1),
        ("grpc://node-0", FrameDelivery("turn", 1, "piece 0", "word"), 1),
        ("grpc://node-1", FrameDelivery("turn", 1, "piece 1", "word"), 1),
    ]

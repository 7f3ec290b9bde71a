"""The router of resident nodes: a Spark task that reads rows and puts their frames to the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from drover.flow.frames import DRIVER, LARGE, Frame, FrameKind, FramePort
from drover.flow.worker import WorkerCache
from drover.spark.resident.frame_split import split_frames
from drover.spark.resident.node_server import Deliveries
from drover.spark.resident.wire import FrameDelivery, NodeAddress, RunSecret
from drover.spark.tasks import CACHE, RouterTask, attempt_word, partition_number, record_batch, record_batches

DELIVERIES: Final[dict[RunSecret, Deliveries]] = {}  # a worker process keeps its connections from batch to batch


@dataclass(frozen=True, slots=True)
class ResidentRouterTask:
    """Puts frames to the nodes, and returns to the driver what it needs: reports, dead letters, and its own word."""

    turn: str
    router: RouterTask
    nodes: tuple[NodeAddress, ...]
    secret: RunSecret

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run in a task of Spark."""
        deliveries = DELIVERIES.setdefault(self.secret, Deliveries(self.secret))
        yield from self.run(batches, partition_number(), attempt_word(), CACHE, deliveries)
        CACHE.freeze()

    def run(
        self,
        batches: Iterator[pa.RecordBatch],
        partition: int,
        attempt: str,
        cache: WorkerCache,
        deliveries: Deliveries,
    ) -> Iterator[pa.RecordBatch]:
        """Route one partition. The driver sees the word of this attempt only if the task succeeds."""
        for piece, made in enumerate(self.router.pieces(batches, partition, attempt, cache)):
            by_place, for_driver = split_frames(made)
            for place, frames in by_place.items():
                delivery = FrameDelivery(self.turn, place.hop, f"piece {piece}", attempt)
                deliveries.send(self.nodes[place.node].location, delivery, record_batches(frames, LARGE))
            yield from record_batches(for_driver)
        yield record_batch([Frame(0, DRIVER, FramePort(FrameKind.ROUTER_ATTEMPT, attempt), partition, 0, b"")])

"""The frames that wait at a resident node, by hop and sender."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

import pyarrow as pa

from drover.spark.resident.wire import UNKNOWN_TURN, FrameDelivery


class UnknownTurnError(Exception):
    """The node was started after the turn began, or another turn has begun since."""

    def __init__(self) -> None:
        super().__init__(UNKNOWN_TURN)


@dataclass(slots=True)
class Inbox:
    """Frames of one turn. Routers and other nodes put them from any thread; the node takes them hop by hop."""

    turn: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _frames: dict[int, dict[FrameDelivery, list[pa.RecordBatch]]] = field(default_factory=lambda: defaultdict(dict))

    def begin(self, turn: str) -> None:
        """Forget everything else and wait for frames of this turn."""
        with self._lock:
            self.turn = turn
            self._frames.clear()

    def put(self, delivery: FrameDelivery, batches: list[pa.RecordBatch]) -> None:
        """Add the frames of one sender for one hop; a repeated delivery replaces the first."""
        with self._lock:
            if delivery.turn != self.turn:
                raise UnknownTurnError
            self._frames[delivery.hop][delivery] = batches

    def take(self, turn: str, hop: int, routers: Collection[str]) -> list[pa.RecordBatch]:
        """Return the frames of a hop from nodes and from these attempts of routers; other attempts do not count."""
        with self._lock:
            if turn != self.turn:
                raise UnknownTurnError
            found = self._frames.pop(hop, {})
        return [
            batch
            for delivery, batches in found.items()
            if not delivery.router or delivery.router in routers
            for batch in batches
        ]

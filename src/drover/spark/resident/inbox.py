"""The frames that wait at a resident node, by hop and sender.

Rule 1: up to `limit` bytes wait in memory. What comes beyond that is written to a file while it comes, so a sender can
only be as fast as the disk: Flight asks it for the next frames when these are written.
Rule 2: the files have no names. Whatever ends the node, nothing is left of them. If the run encrypts, so do they.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Final

import pyarrow as pa

from drover.spark.resident.encryption import EncryptedFrameFile
from drover.spark.resident.wire import UNKNOWN_TURN, FrameDelivery

INBOX_BYTES: Final = 256 << 20  # frames that wait in memory at one node


class UnknownTurnError(Exception):
    """The node was started after the turn began, or another turn has begun since."""

    def __init__(self) -> None:
        super().__init__(UNKNOWN_TURN)


class FrameFile:
    """Frames in a file without a name."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file = file
        self._writer: Any = pa.ipc.new_file(pa.PythonFile(self._file, "w"), schema)  # Any: pyarrow has no types

    def append(self, batch: pa.RecordBatch) -> None:
        """Write frames at the end."""
        self._writer.write_batch(batch)

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield all frames. They stay in the file, which is mapped for as long as one of them is used."""
        self._writer.close()
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(pa.py_buffer(mapped))
        self.close()
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)

    def close(self) -> None:
        """Give the file up; frames that were read stay."""
        self._file.close()


def open_file(schema: pa.Schema, *, encrypts: bool) -> FrameFile | EncryptedFrameFile:
    """Return a new file for frames."""
    # Spark names its folders for such files to its workers, and deletes them at its own end.
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    file = tempfile.TemporaryFile(dir=folders[0] or None)  # noqa: SIM115 - whoever has the frames closes it
    return EncryptedFrameFile(file, schema) if encrypts else FrameFile(file, schema)


@dataclass(slots=True)
class WaitingFrames:
    """The frames of one delivery: those in memory came before those in the file."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    size: int = 0  # bytes in memory
    file: FrameFile | EncryptedFrameFile | None = None

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield all frames in their order."""
        yield from self.batches
        if self.file is not None:
            yield from self.file.read()

    def drop(self) -> None:
        """Give the frames up."""
        if self.file is not None:
            self.file.close()


@dataclass(slots=True)
class Inbox:
    """Frames of one turn. Routers and other nodes put them from any thread; the node takes them hop by hop."""

    limit: int = INBOX_BYTES
    encrypts: bool = False  # whether what waits in files is encrypted
    turn: str | None = None
    held: int = 0  # bytes in memory
    written: int = 0  # bytes that went to files since the node began
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _frames: dict[int, dict[FrameDelivery, WaitingFrames]] = field(default_factory=lambda: defaultdict(dict))

    def begin(self, turn: str) -> None:
        """Forget everything else and wait for frames of this turn."""
        with self._lock:
            self.turn = turn
            self.held = 0
            for waiting in (one for hop in self._frames.values() for one in hop.values()):
                waiting.drop()
            self._frames.clear()

    def put(self, delivery: FrameDelivery, batches: Iterable[pa.RecordBatch]) -> None:
        """Add the frames of one sender for one hop; a repeated delivery replaces the first."""
        arriving = WaitingFrames()
        try:
            for batch in batches:
                if not self._keep(delivery, arriving, batch):
                    arriving.file = arriving.file or open_file(batch.schema, encrypts=self.encrypts)
                    arriving.file.append(batch)
            with self._lock:
                self._check(delivery.turn)
                if (before := self._frames[delivery.hop].pop(delivery, None)) is not None:
                    self._release(before)
                    before.drop()
                self._frames[delivery.hop][delivery] = arriving
        except BaseException:
            with self._lock:
                if delivery.turn == self.turn:
                    self._release(arriving)
            arriving.drop()
            raise

    def take(self, turn: str, hop: int, routers: Collection[str], piece: int | None = None) -> list[pa.RecordBatch]:
        """Return the frames of a hop from nodes and from these attempts of routers; other attempts do not count.

        With a piece, the frames of other pieces stay.
        """
        with self._lock:
            self._check(turn)
            every = self._frames.pop(hop, {})
            found = {one: waiting for one, waiting in every.items() if piece is None or one.piece in (None, piece)}
            if len(found) < len(every):
                self._frames[hop] = {one: waiting for one, waiting in every.items() if one not in found}
            for waiting in found.values():
                self._release(waiting)
        taken: list[pa.RecordBatch] = []
        for delivery, waiting in found.items():
            if not delivery.router or delivery.router in routers:
                taken += waiting.read()
            else:
                waiting.drop()
        return taken

    def _keep(self, delivery: FrameDelivery, arriving: WaitingFrames, batch: pa.RecordBatch) -> bool:
        """Keep frames in memory if there is room; return False if they must go to the file."""
        with self._lock:
            self._check(delivery.turn)
            # Once a delivery has frames in a file, the others follow there: their order must stay.
            if arriving.file is not None or self.held + batch.nbytes > self.limit:
                self.written += batch.nbytes
                return False
            self.held += batch.nbytes
            arriving.size += batch.nbytes
            arriving.batches.append(batch)
            return True

    def _check(self, turn: str) -> None:
        if turn != self.turn:
            raise UnknownTurnError

    def _release(self, waiting: WaitingFrames) -> None:
        self.held -= waiting.size

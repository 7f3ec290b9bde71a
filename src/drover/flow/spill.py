"""Large frames for the driver, passed through files beside the state instead of through Spark.

Rule 1: a file is read once, by the driver of the batch that made it, and then deleted; what a crash leaves is swept
like any state that no version needs. So nothing here has to survive a power cut. Rule 2: bytes are checked when read.

Of 800,000 pairs (26 MB) per batch, writing, checking and reading take about 0.05 s; through Spark it is about 0.2 s.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

import pyarrow as pa

from drover.errors import StateError
from drover.flow.frames import DRIVER, Frame
from drover.flow.state.layout import STATE
from drover.flow.state.storage import delete, join, open_root, read_ranges, write_whole

SPILLED: Final = "file:"  # the port of a frame that says where the payload is begins with this; no stream has a colon
INLINE: Final = 256 << 10  # bytes of a task for the driver that are not worth a file
SPILL_BYTES: Final = 2 << 20  # of a frame for the driver: what is larger than INLINE never becomes a row of Spark's
AGAIN: Final = "Start again on the same checkpoint: the batch is computed anew."


class Spill(NamedTuple):
    """Where a payload lies."""

    file: str  # name within the folder of state
    offset: int  # bytes
    length: int  # bytes
    checksum: int  # CRC-32


def spill(frames: Iterable[Frame], root: str, name: str) -> list[Frame]:
    """Write what goes to the driver into the file `name`, if it is much; return the frames to send."""
    coming, first, size = iter(frames), list[Frame](), 0
    for frame in coming:
        first.append(frame)
        size += len(frame.payload) if _is_meant(frame) else 0
        if size > INLINE:
            break
    else:
        return first
    fs, path = open_root(root)
    sent: list[Frame] = []
    write_whole(fs, join(join(path, STATE), name), _written(chain(first, coming), name, sent), durable=False)
    return sent


def _is_meant(frame: Frame) -> bool:
    # A later hop passes on what an earlier one wrote.
    return frame.hop == DRIVER and not frame.port.startswith(SPILLED)


def _written(frames: Iterable[Frame], name: str, sent: list[Frame]) -> Iterator[bytes | pa.Buffer]:
    """Yield payloads as they come, so that none has to wait in memory; add to `sent` what is left of each frame."""
    offset = 0
    for frame in frames:
        if not _is_meant(frame):
            sent.append(frame)
            continue
        place = Spill(name, offset, len(frame.payload), zlib.crc32(frame.payload))
        offset += place.length
        sent.append(frame._replace(port=SPILLED + frame.port, payload=pickle.dumps(place)))
        yield frame.payload


def fetch(frames: Iterable[Frame], root: str) -> tuple[list[Frame], frozenset[str]]:
    """Return the frames with their payloads, and the names of the files they were in."""
    found = list(frames)
    places: dict[int, Spill] = {
        index: pickle.loads(frame.payload) for index, frame in enumerate(found) if frame.port.startswith(SPILLED)
    }
    fs, path = open_root(root)
    for file in sorted({place.file for place in places.values()}):
        mine = {index: place for index, place in places.items() if place.file == file}
        where = join(join(path, STATE), file)
        read = read_ranges(fs, where, [(place.offset, place.length) for place in mine.values()], mapped=True)
        for (index, place), data in zip(mine.items(), read, strict=True):
            _check(where, place, data)
            found[index] = found[index]._replace(port=found[index].port.removeprefix(SPILLED), payload=data)
    return found, frozenset(place.file for place in places.values())


def discard(files: Iterable[str], root: str) -> None:
    """Delete files whose frames were fetched."""
    fs, path = open_root(root)
    for file in sorted(files):
        delete(fs, join(join(path, STATE), file))


def _check(file: str, place: Spill, data: pa.Buffer) -> None:
    if data.size != place.length:
        raise StateError(file, f"{place.length} bytes at {place.offset}", f"{data.size}: it is cut off", AGAIN)
    if (checksum := zlib.crc32(data)) != place.checksum:
        raise StateError(file, f"checksum {place.checksum:08x}", f"{checksum:08x}: it is damaged", AGAIN)

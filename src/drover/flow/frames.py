"""Frames: pieces of a stream on their way to a place, as Arrow IPC bytes.

Rule 1: a frame is small enough to be one cell of a Spark row; what is larger is cut.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

import polars as pl
import pyarrow as pa

DRIVER: Final = 1_000_000  # the hop of what is meant for the driver; it passes every other hop untouched
FRAME_BYTES: Final = 256 << 10  # Spark puts 4,000 rows into one Arrow batch, which must stay below 2 GB
LARGE: Final = 512 << 10  # bytes above which pyarrow is faster than Polars at writing, up to five times


class Frame(NamedTuple):
    """A piece of stream `port` for node `node`, to be read in hop `hop`.

    `origin` (who sent it) and `serial` (its number there) put frames in the same order on every replay, whatever order
    a shuffle brings them in: without that, sums of floats would differ in their last digits.
    """

    node: int
    hop: int
    port: str
    origin: int
    serial: int
    payload: bytes | pa.Buffer


def encode(frame: pl.DataFrame) -> bytes | pa.Buffer:
    """Return the rows as an Arrow IPC stream."""
    if frame.estimated_size() > LARGE:
        # Strings as views would bring along the buffers of all rows that a piece was cut from: 15 MB for 0.3 MB.
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_stream(buffer, table.schema) as stream:
            stream.write_table(table)
        return buffer.getvalue()
    sink = io.BytesIO()
    frame.write_ipc_stream(sink, compression="uncompressed")
    return sink.getvalue()


def decode(payload: bytes | pa.Buffer) -> pl.DataFrame:
    """Return the rows of an Arrow IPC stream; those of a buffer are used where they lie, and keep all of it alive."""
    if isinstance(payload, pa.Buffer):
        return pl.DataFrame(pa.ipc.open_stream(payload).read_all())
    return pl.read_ipc_stream(payload)


def cut(frame: pl.DataFrame, most: int = FRAME_BYTES) -> Iterator[pl.DataFrame]:
    """Yield the rows in pieces of about `most` bytes at the most."""
    pieces = max(1, -(-int(frame.estimated_size()) // most))
    length = -(-frame.height // pieces)
    for start in range(0, frame.height, max(length, 1)):
        yield frame.slice(start, length)


def pack(
    frame: pl.DataFrame, port: str, places: Iterable[tuple[int, int]], origin: int, most: int = FRAME_BYTES
) -> Iterator[Frame]:
    """Yield the frames that carry `frame` to each (hop, node), of about `most` bytes; each piece is encoded once."""
    targets = tuple(places)
    if not targets:
        return
    for serial, piece in enumerate(cut(frame, most)):
        payload = encode(piece)
        for hop, node in targets:
            yield Frame(node, hop, port, origin, serial, payload)


class Edge(NamedTuple):
    """What was sent of a stream to a node within a batch: nothing, where its maker and its readers share a node."""

    stream: str
    node: int
    frames: int
    bytes: int


def edges(frames: Iterable[Frame]) -> tuple[Edge, ...]:
    """Return what the frames carry between nodes; what goes to the driver is no edge of the network."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for frame in frames:
        if frame.hop != DRIVER:
            stream = frame.port.partition(":")[0]  # what is dealt to instances has a port of its own
            count, size = found.get((stream, frame.node), (0, 0))
            found[stream, frame.node] = (count + 1, size + len(frame.payload))
    return tuple(Edge(*key, *sums) for key, sums in sorted(found.items()))


def unpack(frames: Iterable[Frame], *, rechunk: bool = True) -> dict[str, pl.DataFrame]:
    """Return the rows of each stream, in the order of origin and serial number; in one piece each if `rechunk`."""
    ordered = sorted(frames, key=lambda frame: (frame.port, frame.origin, frame.serial))
    return {
        port: pl.concat([decode(frame.payload) for frame in pieces], rechunk=rechunk)
        for port, pieces in groupby(ordered, key=lambda frame: frame.port)
    }

"""Frames: pieces of a stream, or reports, on their way to a node or to the driver.

Rule 1: a frame fits into one cell of a Spark row. `pack` cuts larger pieces.
Rule 2: the kind of a frame says what its payload is. A name is only ever compared, never parsed, so a network may call
its streams whatever it likes.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import groupby
from typing import Final, NamedTuple

import polars as pl
import pyarrow as pa

DRIVER: Final = 1_000_000  # the hop of frames for the driver: nodes pass them on untouched
FRAME_BYTES: Final = 256 << 10  # Spark puts 4,000 rows into one Arrow batch, which must stay below 2 GB
LARGE_FRAME_BYTES: Final = 4 << 20  # between nodes that send frames to each other, each in a message of its own
LARGE: Final = 512 << 10  # bytes above which pyarrow is faster than Polars at writing, up to five times


class FrameKind(IntEnum):
    """What the payload of a frame is; the numbers travel between the tasks of one batch and are stored nowhere."""

    ROWS = 0  # rows of a stream, for every operator that reads it at that place; at the driver, rows of an output
    JOIN_ROWS = 1  # rows of a stream with their draws, for the instances of one spread join
    QUERY_RESULTS = 2  # result rows of submitted queries; `stream` is the table of their shape
    DEAD_LETTERS = 3  # rows that the router refused, with the reason; `stream` names their sources
    EVENT_TIMES = 4  # pickled: the latest event time of each source
    NODE_REPORT = 5  # pickled: a `NodeReport`
    ROUTER_REPORT = 6  # pickled: a `RouterReport`
    LATE_ROWS = 7  # rows that operators dropped as late, as `late_rows` makes them
    ROUTER_ATTEMPT = 8  # empty; `stream` is the word of the attempt of a router task, for resident nodes


class FramePort(NamedTuple):
    """What a frame carries, and for whom. Rows with equal ports belong together."""

    kind: FrameKind
    stream: str = ""  # the stream, sources or result table that the rows belong to; empty for reports
    reader: str = ""  # of JOIN_ROWS: the side of the join that reads them; empty otherwise


def stream_port(stream: str) -> FramePort:
    """Return the port for rows of a stream that every reader at a place shares."""
    return FramePort(FrameKind.ROWS, stream)


class Frame(NamedTuple):
    """A piece of what goes to `port` on node `node` in hop `hop`.

    `origin` (the sender) and `serial` (its number there) put frames in the same order on every replay, whatever order
    a shuffle delivers them in. Otherwise, sums of floats would differ in their last digits.
    """

    node: int
    hop: int
    port: FramePort
    origin: int
    serial: int
    payload: bytes | pa.Buffer
    spilled: bool = False  # whether the payload is in a file, and these bytes say where: see `spill`


def encode(frame: pl.DataFrame) -> bytes | pa.Buffer:
    """Return the rows as an Arrow IPC stream."""
    if frame.estimated_size() > LARGE:
        # String views would carry the buffers of all rows that a piece was cut from: 15 MB for 0.3 MB.
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_stream(buffer, table.schema) as stream:
            stream.write_table(table)
        return buffer.getvalue()
    sink = io.BytesIO()
    frame.write_ipc_stream(sink, compression="uncompressed")
    return sink.getvalue()


def decode(payload: bytes | pa.Buffer) -> pl.DataFrame:
    """Return the rows of an Arrow IPC stream. Rows from a buffer are not copied, so they keep all of it alive."""
    if isinstance(payload, pa.Buffer):
        return pl.DataFrame(pa.ipc.open_stream(payload).read_all())
    return pl.read_ipc_stream(payload)


def cut(frame: pl.DataFrame, most: int = FRAME_BYTES) -> Iterator[pl.DataFrame]:
    """Yield the rows in pieces of at most about `most` bytes."""
    pieces = max(1, -(-int(frame.estimated_size()) // most))
    length = -(-frame.height // pieces)
    for start in range(0, frame.height, max(length, 1)):  # a frame without rows gives no piece
        yield frame.slice(start, length)


def pack(
    frame: pl.DataFrame, port: FramePort, places: Iterable[tuple[int, int]], origin: int, most: int = FRAME_BYTES
) -> Iterator[Frame]:
    """Yield the frames, of about `most` bytes, that carry the rows to each (hop, node); each piece is encoded once."""
    targets = tuple(places)
    if not targets:
        return
    for serial, piece in enumerate(cut(frame, most)):
        payload = encode(piece)
        for hop, node in targets:
            yield Frame(node, hop, port, origin, serial, payload)


class Edge(NamedTuple):
    """What a batch sent of a stream to a node. There is no edge where the maker and the readers share a node."""

    stream: str
    node: int
    frames: int
    bytes: int


def edges(frames: Iterable[Frame]) -> tuple[Edge, ...]:
    """Return what the frames carry between nodes; frames for the driver do not count."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for frame in frames:
        if frame.hop != DRIVER:
            stream = frame.port.stream
            count, size = found.get((stream, frame.node), (0, 0))
            found[stream, frame.node] = (count + 1, size + len(frame.payload))
    return tuple(Edge(*key, *sums) for key, sums in sorted(found.items()))


def summed_edges(parts: Iterable[Edge]) -> tuple[Edge, ...]:
    """Return one edge per stream and node, in this order."""
    found: dict[tuple[str, int], Edge] = {}
    for edge in parts:
        before = found.get((edge.stream, edge.node), Edge(edge.stream, edge.node, 0, 0))
        found[edge.stream, edge.node] = edge._replace(
            frames=before.frames + edge.frames, bytes=before.bytes + edge.bytes
        )
    return tuple(found[key] for key in sorted(found))


def unpack(frames: Iterable[Frame], *, rechunk: bool = True) -> dict[FramePort, pl.DataFrame]:
    """Return the rows of each port, in the order of origin and serial number; as one chunk each if `rechunk`."""
    ordered = sorted(frames, key=lambda frame: (frame.port, frame.origin, frame.serial))
    return {
        port: pl.concat([decode(frame.payload) for frame in pieces], rechunk=rechunk)
        for port, pieces in groupby(ordered, key=lambda frame: frame.port)
    }

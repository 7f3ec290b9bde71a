"""The files of the book: wishes, turns and snapshots, each complete or absent, and able to tell that it is whole.

Rule 1: a wish is written before it is promised, a turn before the batch that begins with it. A file is never changed.
Rule 2: a snapshot is made only of turns whose batches are committed; what is before it is deleted after it is written.
Rule 3: what is missing or damaged is a StateError, never a guess.

A file is a line of JSON with a checksum (BLAKE2b) of the rest, and tables as Arrow behind it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.book.book import ADDED, MEMBERS, PARKED, PLACED, Book, Turn, Wish, advance
from drover.flow.state.storage import RESTORE, delete, join, read_whole, sizes, write_whole

FOLDER: Final = "queries"
FORMAT: Final = 1
NAME: Final = re.compile(r"(wish|turn|full)-(\d{12})\.arrow")
LEAST_CHAIN: Final = 2**20  # bytes of wishes and turns that are never worth a snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Recovered:
    """What the files say: the book of the last committed batch, the turn of the one after it, and wishes that wait."""

    book: Book
    begun: Turn | None  # of the batch after the last one, if it was written
    wishes: tuple[Wish, ...]  # with serial numbers after the book's


def path_of(root: str, kind: str, number: int) -> str:
    """Return the path of a file of the book."""
    return join(join(root, FOLDER), f"{kind}-{number:012}.arrow")


def write_wish(fs: FileSystem, root: str, wish: Wish) -> None:
    """Make a wish durable."""
    data = sealed({"serial": wish.serial, "dropped": list(wish.dropped)}, [wish.added])
    write_whole(fs, path_of(root, "wish", wish.serial), [data])


def write_turn(fs: FileSystem, root: str, turn: Turn) -> None:
    """Make a turn durable."""
    data = sealed({"batch": turn.batch, "upto": turn.upto}, [turn.placed, turn.parked])
    write_whole(fs, path_of(root, "turn", turn.batch), [data])


def recover(fs: FileSystem, root: str, batch: int, turn: int = -1) -> Recovered:
    """Return the book after the last committed `batch`; `turn` is the batch of the last turn that its commit knows."""
    log = _listing(fs, root)
    full = max((number for kind, number in log if kind == "full" and number <= batch), default=None)
    book = Book() if full is None else _read_full(fs, root, full)
    waiting = [_read_wish(fs, root, n) for kind, n in sorted(log) if kind == "wish" and n > book.upto]
    for number in sorted(n for kind, n in log if kind == "turn" and book.batch < n <= batch):
        book = _turned(book, waiting, _read_turn(fs, root, number), path_of(root, "turn", number))
    if book.batch < turn:
        raise StateError(path_of(root, "turn", turn), "the queries of that batch", "none", RESTORE)
    begun = _read_turn(fs, root, batch + 1) if ("turn", batch + 1) in log else None
    left = tuple(wish for wish in waiting if wish.serial > book.upto)
    for serial, wish in enumerate(left, book.upto + 1):
        if wish.serial != serial:
            raise StateError(path_of(root, "wish", serial), "queries that were promised", "none", RESTORE)
    return Recovered(book, begun, left)


def tidy(fs: FileSystem, root: str, book: Book) -> None:
    """Write a snapshot if the files since the last one are larger than it, and delete what nobody needs.

    `book` must be that of a committed batch.
    """
    log = _listing(fs, root)
    fulls = {number: size for (kind, number), size in log.items() if kind == "full"}
    last = max(fulls, default=None)
    chain = sum(size for (kind, _), size in log.items() if kind != "full")
    if chain > max(fulls.get(last, 0) if last is not None else 0, LEAST_CHAIN) and last != book.batch:
        head = {"batch": book.batch, "upto": book.upto, "following": book.following}
        write_whole(fs, path_of(root, "full", book.batch), [sealed(head, [book.members])])
        for kind, number in log:
            if number <= (book.upto if kind == "wish" else book.batch):
                delete(fs, path_of(root, kind, number))


def _turned(book: Book, waiting: Sequence[Wish], turn: Turn, path: str) -> Book:
    taken = [wish for wish in waiting if book.upto < wish.serial <= turn.upto]
    try:
        return advance(book, taken, turn)
    except ValueError as error:
        raise StateError(path, f"wishes {book.upto + 1} to {turn.upto}", str(error), RESTORE) from error


def _read_wish(fs: FileSystem, root: str, serial: int) -> Wish:
    head, (added,) = _read(fs, path_of(root, "wish", serial), "serial", serial, [ADDED])
    return Wish(serial, added, tuple(head["dropped"]))


def _read_turn(fs: FileSystem, root: str, batch: int) -> Turn:
    head, (placed, parked) = _read(fs, path_of(root, "turn", batch), "batch", batch, [PLACED, PARKED])
    return Turn(batch, head["upto"], placed, parked)


def _read_full(fs: FileSystem, root: str, batch: int) -> Book:
    head, (members,) = _read(fs, path_of(root, "full", batch), "batch", batch, [MEMBERS])
    return Book(members, batch, head["upto"], head["following"])


def sealed(head: Mapping[str, Any], frames: Sequence[pl.DataFrame]) -> bytes:  # Any: JSON
    """Return head and tables as the content of a file that can tell that it is whole."""
    streams = []
    for frame in frames:
        buffer = io.BytesIO()
        frame.write_ipc(buffer, compression="zstd")
        streams.append(buffer.getvalue())
    said = json.dumps({"format": FORMAT, **head, "lengths": [len(one) for one in streams]}).encode("ascii")
    body = said + b"\n" + b"".join(streams)
    return hashlib.blake2b(body, digest_size=16).hexdigest().encode("ascii") + b" " + body


def _read(
    fs: FileSystem, path: str, field: str, number: int, schemas: Sequence[pl.Schema]
) -> tuple[dict[str, Any], list[pl.DataFrame]]:
    """Return head and tables of a file; `field` of the head must be the number in its name."""
    head, frames = unsealed(path, read_whole(fs, path))
    if head[field] != number or [frame.schema for frame in frames] != list(schemas):
        raise StateError(path, f"{field} {number}", f"{field} {head[field]}, or other columns", RESTORE)
    return head, frames


def unsealed(path: str, data: bytes) -> tuple[dict[str, Any], list[pl.DataFrame]]:  # Any: JSON
    """Return head and tables of the content of a file; StateError if it is not whole."""
    checksum, _, body = data.partition(b" ")
    if hashlib.blake2b(body, digest_size=16).hexdigest().encode("ascii") != checksum:
        raise StateError(path, "a whole file with its checksum", f"{len(data)} bytes that are none", RESTORE)
    line, _, rest = body.partition(b"\n")
    head = json.loads(line)
    if head["format"] != FORMAT:
        way_out = "Go on with the release of drover that wrote it."
        raise StateError(path, f"format {FORMAT}", f"format {head['format']}", way_out)
    return head, [pl.read_ipc(io.BytesIO(one)) for one in _cut(rest, head["lengths"])]


def _cut(data: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for length in lengths:
        yield data[start : start + length]
        start += length


def _listing(fs: FileSystem, root: str) -> dict[tuple[str, int], int]:
    """Return the files of the book with their sizes in bytes, by kind and number."""
    found = ((NAME.fullmatch(name), size) for name, size in sizes(fs, join(root, FOLDER)).items())
    return {(match[1], int(match[2])): size for match, size in found if match}

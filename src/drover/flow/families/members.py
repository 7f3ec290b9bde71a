"""The members of a family: which queries, on which nodes, with which constants; as an Arrow table in a file.

The table lies in the checkpoint, and an assignment says its fingerprint. Workers read it once and keep it: 100,000
members are 5 MB, which would else be pickled into every task of every batch, although they seldom change; and a worker
that has lost its memory, or a batch that is repeated after a crash, finds it there. It follows from the book of
queries, so it may be written again under the same name.

Rule 1: the number of a member is never given to another one, not even to the same query when it comes again.
Rule 2: a file is named by its content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.state.segments import PLAIN
from drover.flow.state.storage import RESTORE, delete, exists, join, read_whole, sizes, write_whole
from drover.network.expressions.tree import Value
from drover.network.queries.shape import Shape
from drover.network.types import arrow_type

FOLDER: Final = "families"
SUFFIX: Final = ".arrow"
MEMBER: Final = "member"  # int64, ascending
QUERY: Final = "query"  # string, the query's name
NODE: Final = "node"  # int32
CONSTANT: Final = "c"  # and the constants, as c0, c1, ... with the types of the shape


@dataclass(frozen=True, slots=True)
class Roll:
    """Which table has the members of a family, and which nodes have any."""

    family: str  # id of the shape
    fingerprint: str
    nodes: tuple[int, ...]
    members: int


def members_schema(shape: Shape) -> pa.Schema:
    """Return the columns of a family's table."""
    constants = [(f"{CONSTANT}{index}", arrow_type(kind)) for index, kind in enumerate(shape.types)]
    return pa.schema([(MEMBER, pa.int64()), (QUERY, pa.string()), (NODE, pa.int32()), *constants])


def make_members(
    shape: Shape,
    numbers: Sequence[int],
    names: Sequence[str],
    nodes: Sequence[int],
    constants: Sequence[Sequence[Value]],
) -> pa.Table:
    """Return the table of a family, given by member; in order of their numbers, whatever the order given."""
    schema = members_schema(shape)
    by_type = zip(*constants, strict=True) if constants else [() for _ in shape.types]
    columns = [numbers, names, nodes, *(list(column) for column in by_type)]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema).sort_by(MEMBER)


def write_members(fs: FileSystem, root: str, shape: Shape, members: pa.Table) -> Roll:
    """Write a table into the checkpoint unless it is there already, and return what to tell workers about it."""
    whole = members.combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, whole.schema, options=PLAIN) as stream:
        stream.write_table(whole)
    content = sink.getvalue()
    fingerprint = hashlib.sha256(content).hexdigest()[:32]
    path = _path(root, shape.id, fingerprint)
    if not exists(fs, path):
        write_whole(fs, path, [content])
    nodes = tuple(sorted(pc.unique(members.column(NODE)).to_pylist()))
    return Roll(shape.id, fingerprint, nodes, members.num_rows)


def read_members(fs: FileSystem, root: str, roll: Roll) -> pa.Table:
    """Return the table that a roll tells of; StateError if it is not that one."""
    path = _path(root, roll.family, roll.fingerprint)
    content = read_whole(fs, path)
    found = hashlib.sha256(content).hexdigest()[:32]
    if found != roll.fingerprint:
        raise StateError(path, f"content of digest {roll.fingerprint}", f"{found}: the file is damaged", RESTORE)
    return pa.ipc.open_stream(content).read_all()


def sweep_members(fs: FileSystem, root: str, rolls: Collection[Roll]) -> int:
    """Delete all tables but these; return how many are gone. Keep those of the batch that may be repeated, too."""
    kept = {_path("", roll.family, roll.fingerprint).rpartition("/")[2] for roll in rolls}
    gone = [name for name in sizes(fs, join(root, FOLDER)) if name.endswith(SUFFIX) and name not in kept]
    for name in gone:
        delete(fs, join(join(root, FOLDER), name))
    return len(gone)


def _path(root: str, family: str, fingerprint: str) -> str:
    return join(join(root, FOLDER), f"{family}-{fingerprint}{SUFFIX}")

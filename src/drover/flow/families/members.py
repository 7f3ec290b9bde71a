"""The members of a family as an Arrow table in a file: their queries, nodes and constants.

The table is a file in the checkpoint, and an assignment has its fingerprint. Workers read the file once and keep the
table. Otherwise every task of every batch would contain it: 5 MB for 100,000 members, although they seldom change. A
new worker, or a batch that is replayed after a crash, finds it in the checkpoint. The table is derived from the query
log, so the same file may be written again.

Rule 1: the number of a member is never used again, not even if the same query is submitted again.
Rule 2: the name of a file has the digest of its content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

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
class MemberTable:
    """A reference to the stored table of a family, and the nodes that have members."""

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
    """Return the table of a family, sorted by number; each argument has one item per member."""
    by_type = zip(*constants, strict=True) if constants else [() for _ in shape.types]
    return members_of_columns(shape, [numbers, names, nodes, *(list(column) for column in by_type)])


def members_of_columns(shape: Shape, columns: Sequence[Any]) -> pa.Table:  # Any: what Arrow makes an array of
    """Return the table of a family, sorted by number, given its columns in the order of its schema."""
    schema = members_schema(shape)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema).sort_by(MEMBER)


def write_members(fs: FileSystem, root: str, shape: Shape, members: pa.Table) -> MemberTable:
    """Write a table into the checkpoint unless it is there already, and return the reference for workers.

    This does not wait for the disk. A file that a crash or a bad disk has damaged is written again: the table follows
    from the query log.
    """
    whole = members.combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, whole.schema, options=PLAIN) as stream:
        stream.write_table(whole)
    content = sink.getvalue()
    fingerprint = hashlib.sha256(content).hexdigest()[:32]
    path = _path(root, shape.id, fingerprint)
    if not exists(fs, path) or read_whole(fs, path) != content:
        write_whole(fs, path, [content], durable=False)
    nodes = tuple(sorted(pc.unique(members.column(NODE)).to_pylist()))
    return MemberTable(shape.id, fingerprint, nodes, members.num_rows)


def read_members(fs: FileSystem, root: str, table: MemberTable) -> pa.Table:
    """Read a stored table; StateError if its content does not match the fingerprint."""
    path = _path(root, table.family, table.fingerprint)
    content = read_whole(fs, path)
    found = hashlib.sha256(content).hexdigest()[:32]
    if found != table.fingerprint:
        raise StateError(path, f"content of digest {table.fingerprint}", f"{found}: the file is damaged", RESTORE)
    return pa.ipc.open_stream(content).read_all()


def sweep_members(fs: FileSystem, root: str, needed: Collection[MemberTable]) -> int:
    """Delete all tables that are not `needed`, and return how many. A batch that may be replayed needs its own."""
    kept = {_path("", table.family, table.fingerprint).rpartition("/")[2] for table in needed}
    gone = [name for name in sizes(fs, join(root, FOLDER)) if name.endswith(SUFFIX) and name not in kept]
    for name in gone:
        delete(fs, join(join(root, FOLDER), name))
    return len(gone)


def _path(root: str, family: str, fingerprint: str) -> str:
    return join(join(root, FOLDER), f"{family}-{fingerprint}{SUFFIX}")

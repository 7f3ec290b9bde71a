"""The members of a family: which queries, on which nodes, with which constants; as an Arrow table in a file.

The table lies in the checkpoint, and an assignment says its fingerprint. Workers read it once and keep it: 100,000
members are 5 MB, which would else be pickled into every task of every batch, although they seldom change; and a worker
that has lost its memory, or a batch that is repeated after a crash, finds it there. It follows from the book of
queries, so it may be written again under the same name.

Rule 1: the number of a member is never given to another one, not even to the same query when it comes again.
Rule 2: a file is named by its content.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyarrow.fs import FileSystem

from drover.network.expressions.tree import Value
from drover.network.queries.shape import Shape

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


def make_members(
    shape: Shape,
    numbers: Sequence[int],
    names: Sequence[str],
    nodes: Sequence[int],
    constants: Sequence[Sequence[Value]],
) -> pa.Table:
    """Return the table of a family, given by member; in order of their numbers, whatever the order given."""
    raise NotImplementedError


def write_members(fs: FileSystem, root: str, shape: Shape, members: pa.Table) -> Roll:
    """Write a table into the checkpoint unless it is there already, and return what to tell workers about it."""
    raise NotImplementedError


def sweep_members(fs: FileSystem, root: str, rolls: Collection[Roll]) -> int:
    """Delete all tables but these; return how many are gone. Keep those of the batch that may be repeated, too."""
    raise NotImplementedError

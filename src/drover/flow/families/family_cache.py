"""What a worker process keeps of families between batches: compiled shapes, local members and interests.

Rule 1: everything here can be made again from an assignment and the checkpoint, so it may be forgotten at any time.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import pyarrow as pa

from drover.flow.families.assignment import FamilyAssignment
from drover.flow.families.interest import Interest, make_interest
from drover.flow.families.local_members import LocalMembers, make_local_members
from drover.flow.families.members import read_members
from drover.flow.families.run import RunFamily
from drover.flow.operators.base import Spend
from drover.flow.state.storage import open_root

T = TypeVar("T")


class FamilyCache:
    """Returns what families need, and makes what it does not have."""

    def __init__(self, spend: Spend) -> None:
        self._spend = spend
        self._count = 0  # batches so far
        self._compiled = 0
        self._entries: dict[Hashable, tuple[int, Any]] = {}  # Any: as the key says; with the batch of its last use

    @property
    def compiled(self) -> int:
        """How many families have been compiled so far."""
        return self._compiled

    def begin(self, count: int, idle: int) -> None:
        """Start the batch that is number `count` for this worker, and forget what `idle` batches have not used."""
        self._count = count
        for key in [key for key, (used, _) in self._entries.items() if used < count - idle]:
            del self._entries[key]

    def family(self, assignment: FamilyAssignment, family: str) -> RunFamily:
        """Return the compiled form of a family's shape."""
        return self._get(("family", family), lambda: self._compile(assignment.shapes[family]))

    def _compile(self, shape: bytes) -> RunFamily:
        self._compiled += 1
        return RunFamily(pickle.loads(shape), self._spend)

    def local_members(self, root: str, assignment: FamilyAssignment, family: str, node: int) -> LocalMembers:
        """Return the members of a family on a node."""
        shape = self.family(assignment, family).shape
        fingerprint = assignment.member_tables[family].fingerprint
        return self._get(
            ("local members", family, fingerprint, node),
            lambda: make_local_members(shape, self._members(root, assignment, family), node),
        )

    def interest(self, root: str, assignment: FamilyAssignment) -> Interest:
        """Return which rows the families of a batch need."""

        def make() -> Interest:
            places = [(family, node) for family, table in assignment.member_tables.items() for node in table.nodes]
            return make_interest((node, self.local_members(root, assignment, family, node)) for family, node in places)

        return self._get(("interest", assignment.fingerprint), make)

    def _members(self, root: str, assignment: FamilyAssignment, family: str) -> pa.Table:
        table = assignment.member_tables[family]

        def read() -> pa.Table:
            fs, path = open_root(root)
            return read_members(fs, path, table)

        return self._get(("members", family, table.fingerprint), read)

    def _get(self, key: Hashable, make: Callable[[], T]) -> T:
        found: T = self._entries[key][1] if key in self._entries else make()
        self._entries[key] = (self._count, found)
        return found

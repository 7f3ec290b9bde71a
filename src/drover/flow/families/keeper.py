"""What a worker process keeps of families between batches: compiled shapes, crews, interests.

Rule 1: everything here follows from an assignment and the tables in the checkpoint; it may be forgotten at any time.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import pyarrow as pa

from drover.flow.families.crew import Crew, make_crew
from drover.flow.families.herded import Herded
from drover.flow.families.interest import Interest, make_interest
from drover.flow.families.members import read_members
from drover.flow.families.run import RunFamily
from drover.flow.operators.stateless import Spend
from drover.flow.state.storage import open_root

T = TypeVar("T")


class Keeper:
    """Finds, and else makes, what families need."""

    def __init__(self, spend: Spend) -> None:
        self.spend = spend
        self.turn = 0
        self._compiled = 0
        self._kept: dict[Hashable, tuple[int, Any]] = {}  # Any: what the key says; when it was last asked for

    @property
    def compiled(self) -> int:
        """How many families have been compiled so far."""
        return self._compiled

    def forget(self, before: int) -> None:
        """Forget what nobody has asked for since that turn."""
        for key in [key for key, (turn, _) in self._kept.items() if turn < before]:
            del self._kept[key]

    def family(self, herded: Herded, family: str) -> RunFamily:
        """Return the compiled form of a family's shape."""
        return self._keep(("family", family), lambda: self._compile(herded.shapes[family]))

    def _compile(self, shape: bytes) -> RunFamily:
        self._compiled += 1
        return RunFamily(pickle.loads(shape), self.spend)

    def crew(self, root: str, herded: Herded, family: str, node: int) -> Crew:
        """Return the members of a family on a node."""
        shape = self.family(herded, family).shape
        fingerprint = herded.rolls[family].fingerprint
        return self._keep(
            ("crew", family, fingerprint, node), lambda: make_crew(shape, self._members(root, herded, family), node)
        )

    def interest(self, root: str, herded: Herded) -> Interest:
        """Return which rows are of use to the families of a batch."""

        def make() -> Interest:
            places = [(family, node) for family, roll in herded.rolls.items() for node in roll.nodes]
            return make_interest((node, self.crew(root, herded, family, node)) for family, node in places)

        return self._keep(("interest", herded.fingerprint), make)

    def _members(self, root: str, herded: Herded, family: str) -> pa.Table:
        roll = herded.rolls[family]

        def read() -> pa.Table:
            fs, path = open_root(root)
            return read_members(fs, path, roll)

        return self._keep(("members", family, roll.fingerprint), read)

    def _keep(self, key: Hashable, make: Callable[[], T]) -> T:
        found: T = self._kept[key][1] if key in self._kept else make()
        self._kept[key] = (self.turn, found)
        return found

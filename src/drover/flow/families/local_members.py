"""The members of a family on one node, as a worker holds them.

Rule 1: outside, members have numbers; here they have positions from 0, in the order of the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from drover.flow.families.members import CONSTANT, MEMBER, NODE, QUERY
from drover.network.queries.shape import LookupKey, Shape

Ints = NDArray[np.int64]

GROUP: Final = "drover.group"
SPARSE: Final = 16  # numbers per member; up to this, an array of positions is small and faster than a search


@dataclass(frozen=True, slots=True)
class Lookup:
    """Members grouped by their constants for some keys; `values` has each combination once, with its GROUP."""

    values: pl.DataFrame  # columns k0, k1, ..., GROUP
    group: Ints  # (n,) of each member
    groups: int


@dataclass(slots=True, eq=False)
class LocalMembers:
    """Members with their names and constants, in order of their numbers."""

    shape: Shape
    numbers: Ints  # (n,) ascending
    names: pl.Series  # (n,)
    constants: pl.DataFrame  # (n, constants), columns named as the shape's operators name them
    _lookups: dict[tuple[int, ...], Lookup] = field(default_factory=dict)
    _positions: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, positions: Ints) -> LocalMembers:
        """Return only the members at these positions, which ascend."""
        chosen = pl.Series(positions)
        return LocalMembers(self.shape, self.numbers[positions], self.names.gather(chosen), self.constants[positions])

    def positions(self, numbers: Ints) -> Ints:
        """Return the position of each member, or -1 if it is not here."""
        if not len(self.numbers):
            return np.full(len(numbers), -1)
        first = int(self.numbers[0])
        last = int(self.numbers[-1])
        if last - first > SPARSE * len(self.numbers) + 1024:
            # An array over numbers so far apart would be mostly empty.
            found = np.searchsorted(self.numbers, numbers)
            found[found == len(self.numbers)] = 0
            return np.where(self.numbers[found] == numbers, found, -1)
        if self._positions is None:
            self._positions = np.full(last - first + 1, -1, dtype=np.int32)
            self._positions[self.numbers - first] = np.arange(len(self.numbers))
        inside = (numbers >= first) & (numbers <= last)
        if inside.all():
            return self._positions[numbers - first].astype(np.int64)
        return np.where(inside, self._positions[np.where(inside, numbers - first, 0)], -1)

    def lookup(self, keys: tuple[LookupKey, ...]) -> Lookup:
        """Return the members grouped by their constants for these keys."""
        wanted = tuple(key.constant for key in keys)
        if wanted not in self._lookups:
            prefix = self.shape.query.constant
            own = self.constants.select(pl.col(f"{prefix}{number}").alias(f"k{i}") for i, number in enumerate(wanted))
            names = own.columns
            values = own.unique(maintain_order=True).with_row_index(GROUP).with_columns(pl.col(GROUP).cast(pl.Int64))
            group = own.join(values, on=names, how="left", maintain_order="left")[GROUP].to_numpy()
            self._lookups[wanted] = Lookup(values, group, values.height)
        return self._lookups[wanted]


def make_local_members(shape: Shape, members: pa.Table, node: int) -> LocalMembers:
    """Return the members of a family on a node."""
    here = pl.DataFrame(members).filter(pl.col(NODE) == node)
    constants = here.select(
        pl.col(f"{CONSTANT}{index}").alias(f"{shape.query.constant}{index}") for index in range(len(shape.types))
    )
    return LocalMembers(shape, here[MEMBER].to_numpy(), here[QUERY], constants)

"""A crew: the members of a family that are on one node, as a worker holds them.

Rule 1: members are known by their number outside and by their position, from 0, inside; positions follow the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from drover.flow.families.members import CONSTANT, MEMBER, NODE, QUERY
from drover.network.queries.shape import Key, Shape

Ints = NDArray[np.int64]

GROUP: Final = "drover.group"
SPARSE: Final = 16  # numbers per member up to which positions are looked up in an array


@dataclass(frozen=True, slots=True)
class Lookup:
    """Members by what they look for: `values` has each combination of the keys once, with its GROUP."""

    values: pl.DataFrame  # columns k0, k1, ..., GROUP
    group: Ints  # (n,) of each member
    groups: int


@dataclass(slots=True, eq=False)
class Crew:
    """Members with their names and constants, in order of their numbers."""

    shape: Shape
    numbers: Ints  # (n,) ascending
    names: pl.Series  # (n,)
    constants: pl.DataFrame  # (n, constants), columns named as the shape's operators name them
    _lookups: dict[tuple[int, ...], Lookup] = field(default_factory=dict)
    _positions: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, positions: Ints) -> Crew:
        """Return a crew of these members only; positions ascend."""
        chosen = pl.Series(positions)
        return Crew(self.shape, self.numbers[positions], self.names.gather(chosen), self.constants[positions])

    def positions(self, numbers: Ints) -> Ints:
        """Return the position of each of these members, -1 for those who are not of the crew."""
        if not len(self.numbers):
            return np.full(len(numbers), -1)
        first, last = int(self.numbers[0]), int(self.numbers[-1])
        if last - first > SPARSE * len(self.numbers) + 1024:
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

    def lookup(self, keys: tuple[Key, ...]) -> Lookup:
        """Return the members by their constants of these keys."""
        wanted = tuple(key.constant for key in keys)
        if wanted not in self._lookups:
            prefix = self.shape.outline.constant
            own = self.constants.select(pl.col(f"{prefix}{number}").alias(f"k{i}") for i, number in enumerate(wanted))
            names = own.columns
            values = own.unique(maintain_order=True).with_row_index(GROUP).with_columns(pl.col(GROUP).cast(pl.Int64))
            group = own.join(values, on=names, how="left", maintain_order="left")[GROUP].to_numpy()
            self._lookups[wanted] = Lookup(values, group, values.height)
        return self._lookups[wanted]


def make_crew(shape: Shape, members: pa.Table, node: int) -> Crew:
    """Return the members on a node."""
    here = pl.DataFrame(members).filter(pl.col(NODE) == node)
    constants = here.select(
        pl.col(f"{CONSTANT}{index}").alias(f"{shape.outline.constant}{index}") for index in range(len(shape.types))
    )
    return Crew(shape, here[MEMBER].to_numpy(), here[QUERY], constants)

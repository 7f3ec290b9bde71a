"""The members of a family on one node, as a worker holds them.

Rule 1: outside, members have numbers; here they have positions from 0, in the order of the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from drover.flow.families.bounds import Bound, Flags, order_keys
from drover.flow.families.members import CONSTANT, MEMBER, NODE, QUERY
from drover.network.expressions import to_polars
from drover.network.queries.shape import LookupKey, Shape

Ints = NDArray[np.int64]

GROUP: Final = "drover.group"
LIMIT: Final = "drover.limit"
FEW: Final = 256  # keys; up to this, a dict finds them faster than a join
MOST_VARIANTS: Final = 16
LISTED: Final = frozenset({pl.String(), pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64()})
SPARSE: Final = 16  # numbers per member; up to this, an array of positions is small and faster than a search


@dataclass(frozen=True, slots=True)
class Lookup:
    """Members grouped by their constants for some keys; `values` has each combination once, with its GROUP."""

    values: pl.DataFrame  # columns k0, k1, ..., GROUP
    group: Ints  # (n,) of each member
    groups: int
    listed: list[Any] | None = None  # Any: the values, if they are few, of one key, and Python finds equal ones


@dataclass(frozen=True, slots=True, eq=False)
class MemberVariant:
    """Members that have some constants in common."""

    members: Ints  # positions, ascending
    constants: pl.DataFrame  # (1, constants)

    @property
    def key(self) -> str:
        """A text that is the same for the same constants."""
        return f"{self.constants.schema} {self.constants.rows()!r}"


@dataclass(slots=True, eq=False)
class LocalMembers:
    """Members with their names and constants, in order of their numbers."""

    shape: Shape
    numbers: Ints  # (n,) ascending
    names: pl.Series  # (n,)
    constants: pl.DataFrame  # (n, constants), columns named as the shape's operators name them
    _lookups: dict[tuple[int, ...], Lookup] = field(default_factory=dict)
    _limits: dict[tuple[Bound, ...], tuple[Ints, Flags | None]] = field(default_factory=dict)
    _variants: dict[tuple[int, ...], tuple[MemberVariant, ...] | None] = field(default_factory=dict)
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
            self._lookups[wanted] = _grouped([self._constant(number) for number in wanted])
        return self._lookups[wanted]

    def _constant(self, number: int) -> pl.Series:
        return self.constants[f"{self.shape.query.constant}{number}"]

    def variants(self, constants: tuple[int, ...]) -> tuple[MemberVariant, ...] | None:
        """Return the members grouped by some of their constants; None if they are more than MOST_VARIANTS groups."""
        if not constants:
            return (MemberVariant(np.arange(len(self)), pl.DataFrame()),)
        if constants not in self._variants:
            columns = [self._constant(number) for number in constants]
            # By their bits, because an expression may tell 0.0 from -0.0.
            found = _grouped([_bits(one) if one.dtype.is_float() else one for one in columns])
            some = range(found.groups) if found.groups <= MOST_VARIANTS else ()
            members = [np.flatnonzero(found.group == group) for group in some]
            own = pl.DataFrame(columns)
            self._variants[constants] = tuple(MemberVariant(one, own[one[:1]]) for one in members) or None
        return self._variants[constants]

    def limits(self, bounds: tuple[Bound, ...]) -> tuple[Ints, Flags | None]:
        """Return the limits of each member as order keys, (bounds, n), and which members have all; None if all have."""
        if bounds not in self._limits:
            limits = np.empty((len(bounds), len(self)), np.int64)
            complete = np.ones(len(self), bool)
            for number, bound in enumerate(bounds):
                column = self.constants.select(to_polars(bound.limit).alias(LIMIT))[LIMIT]
                limits[number], known = order_keys(column, descends=bound.descends)
                complete &= known
            self._limits[bounds] = limits, None if complete.all() else complete
        return self._limits[bounds]


def _grouped(columns: Sequence[pl.Series]) -> Lookup:
    """Group members by the values of columns."""
    own = pl.DataFrame([column.alias(f"k{i}") for i, column in enumerate(columns)])
    names = own.columns
    values = own.unique(maintain_order=True).with_row_index(GROUP).with_columns(pl.col(GROUP).cast(pl.Int64))
    group = own.join(values, on=names, how="left", nulls_equal=True, maintain_order="left")[GROUP].to_numpy()
    listed = None
    # NaN is not equal to itself in Python, so no floats. NULL is equal to itself there, so none of these.
    if len(names) == 1 and values.height <= FEW and own["k0"].dtype in LISTED and not own["k0"].null_count():
        listed = values["k0"].to_list()
    return Lookup(values, group, values.height, listed)


def _bits(column: pl.Series) -> pl.Series:
    return pl.Series(column.cast(pl.Float64).to_numpy().view(np.int64))


def make_local_members(shape: Shape, members: pa.Table, node: int) -> LocalMembers:
    """Return the members of a family on a node."""
    here = pl.DataFrame(members).filter(pl.col(NODE) == node)
    constants = here.select(
        pl.col(f"{CONSTANT}{index}").alias(f"{shape.query.constant}{index}") for index in range(len(shape.types))
    )
    return LocalMembers(shape, here[MEMBER].to_numpy(), here[QUERY], constants)

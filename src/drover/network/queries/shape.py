"""Shapes: what queries that differ in their constants alone have in common.

Rule 1: a shape says everything about its queries but their constants, the names of their operators, and who asked.
Rule 2: a shape is made of ordinary operators, each a network of its own, so that they are checked and run as all others
are. They read rows that carry besides their own columns that of the member (which query) and the constants they need.
"""

from __future__ import annotations

from dataclasses import dataclass

from drover.network.expressions import Expression
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.schema import Schema
from drover.network.types import DataType


@dataclass(frozen=True, slots=True)
class Key:
    """A condition `expression = constant` of a filter, where equal means identical: rows can be looked up by it."""

    column: str  # the expression over the rows of the stream, as SQL; mostly a column
    expression: Expression
    constant: int  # its number among the constants of the shape


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a shape.

    `network` has the operator alone, with its inputs as sources. `inputs` are, for each of these, the stream it stands
    for: one of the shape's `reads`, or what an earlier step makes. `constants` are the numbers of those it uses.
    A `plain` step is the same for all members and done once, on rows without member; where a step that is not plain
    reads plain rows, they are widened: once for each member. A filter has its condition in three: what is the same for
    all members (`common`), what rows can be looked up by (`keys`), and what remains (its own text).
    """

    operator: Operator
    network: Network
    inputs: tuple[str, ...]
    constants: tuple[int, ...]
    plain: bool
    common: Expression | None = None
    keys: tuple[Key, ...] = ()
    rest: bool = True  # whether anything of the condition remains


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A query without its constants; two shapes are the same if and only if their `id` is."""

    id: str  # digest of all that is said below
    reads: tuple[str, ...]  # streams of the running network
    late: frozenset[str]  # those of them whose rows may be late
    steps: tuple[Step, ...]  # in topological order
    types: tuple[DataType, ...]  # of the constants
    output: str  # the stream that is given out
    schema: Schema  # of it, without the member
    member: str  # name of the column of members, which no column of the query has

    @property
    def table(self) -> str:
        """A word for the columns and types of the results: queries that agree in it give rows of one table."""
        raise NotImplementedError

    def key_of(self, stream: str) -> Key | None:
        """Return by what the rows of a read stream can be told to be of no use to a member; None if by nothing."""
        raise NotImplementedError

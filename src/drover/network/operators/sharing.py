"""How the queries of a family share one operator: the part of a kind's record that only submitted queries need.

Rule 1: submitted queries cannot use a kind without a `QuerySharing`. A new kind gets one when thousands of queries can
share its work.
Rule 2: whatever differs between kinds here is a field of `QuerySharing`. `drover.network.queries` names no kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from drover.network.expressions import AggregateCall, Expression, parse, parse_aggregate, parse_pair
from drover.network.expressions.tree import LEFT, ONLY, RIGHT
from drover.network.operators.base import Operator
from drover.network.schema import Schema
from drover.network.types import DataType

M = TypeVar("M", bound=Operator)  # the class of the operators

Types = Mapping[str, DataType]  # of the columns of one input


@dataclass(frozen=True, slots=True)
class ExpressionForm:
    """What the SQL of a kind is written over: a row, a pair of rows, or a group of rows."""

    parse: Callable[[str, tuple[Types, ...]], Expression | AggregateCall]  # text and the columns of each input
    sides: tuple[str, ...]  # by which expressions name the columns of an input; the first also has the constants

    def sides_of(self, inputs: int) -> tuple[str, ...]:
        """Return the side of each input, for this many inputs."""
        return (self.sides * inputs)[:inputs]


ROW: Final = ExpressionForm(lambda text, types: parse(text, types[0]), (ONLY,))
PAIR: Final = ExpressionForm(lambda text, types: parse_pair(text, types[0], types[1]), (LEFT, RIGHT))
GROUP: Final = ExpressionForm(lambda text, types: parse_aggregate(text, types[0]), (ONLY,))


@dataclass(frozen=True, slots=True)
class OutputNeeds:
    """The columns of an operator's outputs that some reader needs, and the schemas of its inputs."""

    columns: frozenset[str]
    inputs: tuple[Schema, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySharing(Generic[M]):
    """How the members of a family share an operator.

    `columns` returns the columns that each input must have, besides those that the operator's expressions name.
    `with_member` keeps the rows of different members apart, and puts the member column into every output row. Both are
    None for a kind that passes its rows on as they are.
    """

    form: ExpressionForm = ROW
    columns: Callable[[M, OutputNeeds], tuple[frozenset[str], ...]] | None = None
    with_member: Callable[[M, str], M] | None = None
    with_defaults: Callable[[M, tuple[Schema, ...]], M] | None = None  # writes out what follows from input columns
    with_numbered_branches: Callable[[M], M] | None = None  # renames branches, because names do not make a shape
    condition: str | None = None  # the attribute with a predicate that rows must meet to pass
    refused: Mapping[str, str] = field(default_factory=dict)  # attributes that a query must leave None, with the rule

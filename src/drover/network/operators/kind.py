"""The record of a kind of operator: everything that the network layer has to know about it.

Rule 1: whatever differs between kinds is a field here or a method of the model. No other module lists kinds.
Rule 2: nothing here runs. How a kind runs is a row of `drover.flow.operators.RUNNERS`; what it means in plain Spark is
a row of `drover.spark.oracle.ORACLES`. tests/test_kinds.py names what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from drover.network.files.field import Field
from drover.network.operators.base import Operator
from drover.network.operators.sharing import QuerySharing

M = TypeVar("M", bound=Operator)  # the class of the operators


@dataclass(frozen=True, slots=True)
class DeclaredLoad:
    """The load that an operator itself declares; None where it says nothing."""

    cost: float | None = None  # busy seconds per row in
    selectivity: float | None = None  # rows out per row in


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorKind(Generic[M]):
    """A kind of operator.

    `samples` are operators for tests. They read the streams `events` and `more_events` and the tables of
    `drover.network.samples`; together they use every field.
    """

    model: type[M]
    fields: tuple[Field, ...]  # in a network file, in the order in which it shows them
    summary: Callable[[M], str]  # what an operator does, in a few words
    samples: tuple[M, ...]
    expressions: tuple[str, ...] = ()  # attributes with SQL: a text, None, or a tuple of Named
    lines: Callable[[M], tuple[str, ...]] | None = None  # in its box in a drawing; None: the summary
    declared: Callable[[M], DeclaredLoad] | None = None  # None: it declares nothing
    row_wise: bool = False  # whether what it makes of a row depends on this row alone, unless it holds state
    sharing: QuerySharing[M] | None = None  # how many queries share its work; None: submitted queries cannot use it

    @property
    def name(self) -> str:
        """The word for it in files."""
        return self.model.kind

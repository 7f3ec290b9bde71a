"""The rows of the function table.

Rule 1: a row is data plus two pure builders, one per engine; both must mean the same on every row of every frame.
Rule 2: the row alone decides what is accepted, so the tests also generate their expressions from the rows.
Rule 3: an unsafe argument (a pattern, a count) is a Constant, checked when the text is read and never per row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from drover.network.expressions.text_size import SizeRule, as_long_as_the_longest
from drover.network.expressions.tree import Call, Value
from drover.network.types import (
    BINARY,
    BOOLEAN,
    DATE,
    FLOATS,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)

DECIMAL: Final = DataType("decimal")  # in a parameter: a decimal of any size
NUMBERS: Final = (*INTEGERS, *FLOATS)
INSTANTS: Final = (TIMESTAMP, TIMESTAMP_NTZ)
ORDERED: Final = (*NUMBERS, STRING, BOOLEAN, DATE, *INSTANTS, DECIMAL)
ANY: Final = (*ORDERED, BINARY)

PolarsBuilder = Callable[[Call, Sequence[pl.Expr]], pl.Expr]
SparkBuilder = Callable[[Call, Sequence[str]], str]
Sharing = Literal["none", "all", "branches"]  # branches: the values of a CASE, but not its conditions


@dataclass(frozen=True, slots=True)
class Parameter:
    """What one argument may be."""

    words: str  # in an error: "argument 1 of abs must be {words}"
    types: tuple[DataType, ...]

    def accepts(self, found: DataType) -> bool:
        """Whether an argument of type `found` fits."""
        return found in self.types or (found.name == "decimal" and DECIMAL in self.types)


@dataclass(frozen=True, slots=True)
class Constant(Parameter):
    """An argument that must be a literal, because its value decides what is built."""

    allows: Callable[[Value], bool]
    samples: tuple[str, ...]  # texts that a test may write here


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """One row: names, types and the two meanings, which must be the same."""

    name: str
    takes: tuple[Parameter, ...]
    gives: DataType | Callable[[Sequence[DataType]], DataType]
    polars: PolarsBuilder
    spark: SparkBuilder
    aliases: tuple[str, ...] = ()
    form: str = ""  # how to write it, with {0} {1} for arguments; "" for name({0}, {1})
    shared: Sharing = "none"  # which arguments are brought to one common type
    through: DataType | None = None  # the type to which every argument is cast first
    repeats: bool = False  # the last parameter may be given any number of times
    optional: int = 0  # number of parameters at the end that may be left out
    count_hint: str = "Correct the number of arguments."  # what to do about a wrong number of arguments
    copies: int = 1  # how often the builders mention an argument, at most
    length: SizeRule = as_long_as_the_longest  # how long its result can be, if that is a text

    def result(self, types: Sequence[DataType]) -> DataType:
        """Return the type of a call whose arguments have `types`."""
        return self.gives if isinstance(self.gives, DataType) else self.gives(types)


def first_type(types: Sequence[DataType]) -> DataType:
    """Return the type of the first argument: the result type of most functions with a shared type."""
    return types[0]


def last_type(types: Sequence[DataType]) -> DataType:
    """Return the type of the last argument."""
    return types[-1]


A_NUMBER: Final = Parameter("a number", NUMBERS)
AN_INTEGER: Final = Parameter("a whole number", INTEGERS)
A_COUNT: Final = Parameter("an int", (*INTEGERS[:-1],))
A_FLOAT: Final = Parameter("a float or a double", FLOATS)
A_STRING: Final = Parameter("a string", (STRING,))
A_BOOLEAN: Final = Parameter("a boolean", (BOOLEAN,))
A_DATE: Final = Parameter("a date", (DATE,))
AN_INSTANT: Final = Parameter("a timestamp", INSTANTS)
A_DAY: Final = Parameter("a date or a timestamp", (DATE, *INSTANTS))
ORDERABLE: Final = Parameter("a number, string, boolean, date or timestamp", ORDERED)
ANYTHING: Final = Parameter("a value", ANY)

"""Random expression texts, generated from the function table itself.

Rule 1: a new row of the table or a new cast is written by these generators without a change here.
Rule 2: a text has the type that was asked for. Rule 3: equal seeds give equal texts.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from drover.network.expressions.casts import CASTS
from drover.network.expressions.functions import ROWS
from drover.network.expressions.table import DECIMAL, Constant, Parameter, SqlFunction
from drover.network.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
)
from tests.network.expressions.frames import COLUMNS, LARGE_DECIMAL, SMALL_DECIMAL

SUFFIX: Final = {TINYINT: "Y", SMALLINT: "S", BIGINT: "L", INT: ""}
LITERALS: Final[Mapping[DataType, tuple[str, ...]]] = {
    BOOLEAN: ("TRUE", "FALSE"),
    DOUBLE: ("0.0", "1.5", "-2.5", "1e3", "0.1", "CAST('NaN' AS DOUBLE)", "1e-320"),
    STRING: ("'a'", "''", "'é'", "'it\\'s'", "'Σ'", "'${a}'", "' '", "'😀'", "'\\\\'", '"b"', "'2024-02-29'", "'7'"),
    DATE: ("DATE '2024-02-29'", "DATE '0001-01-01'", "DATE '9999-12-31'"),
    TIMESTAMP: ("TIMESTAMP '2024-02-29 12:30:45.5'", "TIMESTAMP '1969-12-31T23:59:59Z'"),
    TIMESTAMP_NTZ: ("TIMESTAMP_NTZ '2024-02-29 12:30:45'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"),
}
WHOLE: Final = {
    TINYINT: ("0", "1", "2", "7", "127"),
    SMALLINT: ("0", "1", "300"),
    INT: ("0", "1", "2", "3", "10", "100000"),
    BIGINT: ("0", "1", "9", "86400", "9223372036854775807"),
}


@dataclass(frozen=True)
class Shape:
    """One way to call a row: the types of its arguments."""

    row: SqlFunction
    types: tuple[DataType, ...]


def expand(parameter: Parameter) -> list[DataType]:
    types = [t for t in parameter.types if t != DECIMAL]
    return types + ([SMALL_DECIMAL, LARGE_DECIMAL] if DECIMAL in parameter.types else [])


def shapes() -> dict[DataType, list[Shape]]:
    """Return, for each type, all calls that give it."""
    found: dict[DataType, list[Shape]] = defaultdict(list)
    for row in ROWS:
        if row.shared == "all":
            choices = [tuple([t] * len(row.takes)) for t in expand(row.takes[0])]
        elif row.shared == "branches":
            choices = [(BOOLEAN, t, t) for t in expand(row.takes[1])]
        else:
            choices = list(itertools.product(*map(expand, row.takes)))
        for types in choices:
            through = types if row.through is None else tuple([row.through] * len(types))
            found[row.result(through)].append(Shape(row, types))
    return found


SHAPES: Final = shapes()
SOURCES: Final = {target: [a for a, b in CASTS if b == target] for _, target in CASTS}


@dataclass(frozen=True)
class Writer:
    """Writes random texts; `used` collects the names of the rows that occur in them."""

    chance: random.Random
    used: set[str]

    def text(self, data_type: DataType, depth: int) -> str:
        """Return the text of an expression of `data_type`, at most `depth` calls deep."""
        roll = self.chance.random()
        if depth <= 0 or roll < 0.1:
            return self.leaf(data_type)
        if roll < 0.25 and self.sources(data_type):
            source = self.chance.choice(self.sources(data_type))
            self.used.add(f"cast {source.name} {data_type.name}")
            return f"CAST({self.text(source, depth - 1)} AS {data_type})"
        options = SHAPES.get(data_type)
        if not options:
            return self.leaf(data_type)
        rows = sorted({shape.row.name for shape in options})
        name = self.chance.choice(rows)  # first the row, or rows with many types would crowd out the others
        return self.call(self.chance.choice([shape for shape in options if shape.row.name == name]), depth)

    def sources(self, data_type: DataType) -> list[DataType]:
        decimals = [SMALL_DECIMAL, LARGE_DECIMAL] if data_type == DOUBLE or data_type.is_integer else []
        return [*SOURCES.get(data_type, []), *decimals]

    def leaf(self, data_type: DataType) -> str:
        if self.chance.random() < 0.7:
            return self.chance.choice([name for name, t in COLUMNS.items() if t == data_type])
        return self.literal(data_type)

    def literal(self, data_type: DataType) -> str:
        if data_type.is_integer:
            return self.chance.choice(["", "-"]) + self.chance.choice(WHOLE[data_type]) + SUFFIX[data_type]
        if data_type in LITERALS:
            return self.chance.choice(LITERALS[data_type])
        return f"CAST(NULL AS {data_type})"

    def call(self, shape: Shape, depth: int) -> str:
        row = shape.row
        self.used.add(row.name)
        types = list(shape.types)
        if row.optional and self.chance.random() < 0.5:
            types = types[: -row.optional]
        if row.repeats and row.name != "case":
            types += [types[-1]] * self.chance.randrange(3)
        parameters = [row.takes[min(i, len(row.takes) - 1)] for i in range(len(types))]
        texts = [self.argument(row, p, t, depth) for p, t in zip(parameters, types, strict=True)]
        if row.form and len(texts) == len(row.takes) and "{rest}" not in row.form:
            return row.form.format(*texts)
        if row.form:
            return (
                row.form.format(*texts, rest=", ".join(texts[1:])) if "{rest}" in row.form else self.chain(row, texts)
            )
        name = self.chance.choice([row.name, *(alias for alias in row.aliases if alias.isidentifier())])
        return f"{name}({', '.join(texts)})"

    def chain(self, row: SqlFunction, texts: list[str]) -> str:
        return "(" + f" {row.name.upper()} ".join(texts) + ")"

    def argument(self, row: SqlFunction, parameter: Parameter, data_type: DataType, depth: int) -> str:
        if isinstance(parameter, Constant):
            item = row.name == "in" and self.chance.random() < 0.9
            if item and (data_type.is_integer or data_type in LITERALS):
                text = self.literal(data_type)
                return "0.5" if text.startswith("CAST") else text
            return self.chance.choice(parameter.samples)
        return self.text(data_type, self.chance.randrange(depth))

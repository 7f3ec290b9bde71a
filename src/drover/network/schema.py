"""Schemas: the columns of a stream or table, and the column that carries event time.

Rule 1: names are checked here and nowhere else. Rule 2: columns may hold NULL, the event time may not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from drover.errors import Fault
from drover.network.types import TIMESTAMP, DataType

# Safe in SQL, in file names and in Spark's configuration keys. Operators may use a dash, columns may not.
COLUMN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}")
MOST_COLUMNS: Final = 5_000  # of a stream or table; with more, Spark's planner takes minutes
COLUMN_RULE: Final = "a column name has letters, digits and _, up to 128 of them, and does not start with a digit"
NAME_RULE: Final = "a name has letters, digits, _ and -, up to 128 of them, and starts with a letter or _"


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed column."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a stream, in order; `time` names the column with each row's event time, if it has one."""

    columns: tuple[Column, ...]
    time: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> Mapping[str, DataType]:
        """Type of each column by name, in order."""
        return {column.name: column.type for column in self.columns}

    def only(self, names: Iterable[str]) -> Schema:
        """Return these columns and the event time, in the order of this schema."""
        kept = {*names, self.time}
        return Schema(tuple(column for column in self.columns if column.name in kept), self.time)

    def __str__(self) -> str:
        marks = (f"{c.name} {c.type}{' (time)' if c.name == self.time else ''}" for c in self.columns)
        return ", ".join(marks)


def schema_faults(schema: Schema) -> Iterator[Fault]:
    """Yield what is wrong with `schema`: no columns, bad or repeated names, an event time that is not a timestamp."""
    if not schema.columns:
        yield Fault(("columns",), "empty", "there must be at least one column", "List columns with their types.")
    if len(schema.columns) > MOST_COLUMNS:
        rule = f"there are at most {MOST_COLUMNS} columns"
        yield Fault(("columns",), f"{len(schema.columns)} columns", rule, "Leave out columns that no operator reads.")
        return
    # Spark does not distinguish upper and lower case in names, so names that differ only in case clash.
    seen: dict[str, str] = {}
    counts = Counter(schema.names)
    for column in schema.columns:
        if not COLUMN_NAME.fullmatch(column.name):
            yield Fault(("columns", column.name), repr(column.name), COLUMN_RULE, "Rename the column.")
        if not column.type.is_known:
            rule = "there is no such column type"
            yield Fault(("columns", column.name), str(column.type), rule, "Use a type that parse_type returns.")
        if (other := seen.setdefault(column.name.lower(), column.name)) != column.name or (counts[column.name] > 1):
            yield Fault(
                ("columns", column.name),
                repr(column.name),
                f"for Spark it is the same as column {other!r}",
                "Rename one of the two; upper and lower case do not count.",
            )
    if schema.time is not None and schema.types.get(schema.time) != TIMESTAMP:
        yield Fault(
            ("time",),
            repr(schema.time),
            "event time is a column of type timestamp",
            f"Choose one of {known(name for name, kind in schema.types.items() if kind == TIMESTAMP)}, or cast one.",
        )


def known(names: Iterable[str]) -> str:
    """Return names as an error lists them: the first twenty, or `(none)`."""
    listed = list(names)
    shown = ", ".join(listed[:20]) + (f", ... ({len(listed)} in all)" if len(listed) > 20 else "")
    return shown or "(none)"

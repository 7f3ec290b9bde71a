"""Reads CSV and JSON files so that Spark keeps evidence of malformed rows: see `drover.flow.malformed_rows`.

Rule 1: Spark itself takes the text of such a row apart again, with the same options. So the evidence agrees with what
it read.
Rule 2: the plan of a batch grows by a few expressions, not by some per column: Spark optimises it in every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.flow.malformed_rows import EVIDENCE, UNSURE
from drover.network.schema import Column
from drover.network.types import spark_type

CORRUPT: Final = "drover corrupt record"  # column in which Spark keeps the text; no column of a source has a space
NAME_OPTION: Final = "columnNameOfCorruptRecord"
LONGEST: Final = 10_000  # characters of a text that are kept
LONGEST_OF_ARRAY: Final = 100  # an array is the text of each of its rows
# The options that say how a text is taken apart. Others, such as `header`, are about files.
CELL_OPTIONS: Final = frozenset(
    {
        "sep",
        "delimiter",
        "quote",
        "escape",
        "chartoescapequoteescaping",
        "ignoreleadingwhitespace",
        "ignoretrailingwhitespace",
        "nullvalue",
        "emptyvalue",
        "maxcolumns",
        "maxcharspercolumn",
        "unescapedquotehandling",
    }
)
FIELD_OPTIONS: Final = frozenset(
    {
        "allowcomments",
        "allowunquotedfieldnames",
        "allowsinglequotes",
        "allownumericleadingzeros",
        "allownonnumericnumbers",
        "allowbackslashescapinganycharacter",
        "allowunquotedcontrolchars",
    }
)

Options = Mapping[str, str]


def keeps_evidence(spark: SparkSession, kind: str, columns: Sequence[Column], options: Options) -> bool:
    """Return whether a file is read with evidence: not if the user has said what happens to malformed rows."""
    given = {name.lower() for name in options}
    own = spark.conf.get("spark.sql.columnNameOfCorruptRecord") or ""
    names = {column.name.lower() for column in columns}
    return kind in TAKE_APART and not given & {"mode", NAME_OPTION.lower()} and own.lower() not in names


# Any: a reader of streams or of batches; both have the methods used here
def with_corrupt_records(reader: Any, ddl: str) -> Any:
    """Return the reader of a file with these columns, which also keeps the texts of rows that it cannot read."""
    return reader.schema(f"{ddl}, `{CORRUPT}` string").option(NAME_OPTION, CORRUPT)


def with_evidence(frame: DataFrame, kind: str, columns: Sequence[Column], options: Options) -> DataFrame:
    """Return the declared columns and EVIDENCE of what `with_corrupt_records` has read."""
    text = F.col(f"`{CORRUPT}`")
    declared = [F.col(f"`{column.name}`") for column in columns]
    values = F.struct(*(one.alias(_label(column)) for one, column in zip(declared, columns, strict=True)))
    of_array = F.ltrim(text).startswith("[") if kind == "json" else F.lit(False)
    evidence = F.to_json(
        F.struct(
            F.lit(kind).alias("format"),
            F.substring(text, F.lit(1), F.when(of_array, LONGEST_OF_ARRAY).otherwise(LONGEST)).alias("text"),
            values.alias("values"),
            *TAKE_APART[kind](text, columns, options),
        )
    )
    # Spark also marks lines that only have more cells than columns. If no field is NULL, all were read.
    suspect = text.isNotNull() & _any_null(declared)
    return frame.select(*declared, F.when(suspect, evidence).alias(EVIDENCE))


def where_or_suspect(predicate: str, frame: DataFrame) -> DataFrame:
    """Return the rows for which a predicate is true, and those of which that is unknown for want of a field."""
    kept = F.expr(predicate)
    if EVIDENCE not in frame.columns:
        return frame.where(kept)
    evidence = F.col(f"`{EVIDENCE}`")
    unsure = F.when(kept.isNull(), F.concat(F.lit(UNSURE), evidence)).otherwise(evidence)
    others = [F.col(f"`{name}`") for name in frame.columns if name != EVIDENCE]
    return frame.where(F.coalesce(kept, evidence.isNotNull())).select(*others, unsure.alias(EVIDENCE))


def _cells(text: SparkColumn, columns: Sequence[Column], options: Options) -> list[SparkColumn]:
    mine = {name: value for name, value in options.items() if name.lower() in CELL_OPTIONS}
    schema = F.lit(", ".join(f"`{_label(column)}` string" for column in columns))
    longer = F.concat(text, F.lit(f"{_separator(options)}x"))
    return [F.from_csv(text, schema, mine).alias("cells"), F.from_csv(longer, schema, mine).alias("longer")]


def _fields(text: SparkColumn, columns: Sequence[Column], options: Options) -> list[SparkColumn]:
    mine = {name: value for name, value in options.items() if name.lower() in FIELD_OPTIONS}
    # Reading a whole array for each of its rows would take the square of its length.
    alone = F.when(~F.ltrim(text).startswith("["), text)
    found = F.from_json(alone, ", ".join(f"`{column.name}` string" for column in columns), mine)
    labels = ", ".join(f"`{_label(column)}`: string" for column in columns)
    return [found.cast(f"struct<{labels}>").alias("cells")]


TAKE_APART: Final[Mapping[str, Callable[[SparkColumn, Sequence[Column], Options], list[SparkColumn]]]] = {
    "csv": _cells,
    "json": _fields,
}


def _label(column: Column) -> str:
    return f"{column.name} {spark_type(column.type)}"


def _any_null(columns: Sequence[SparkColumn]) -> SparkColumn:
    """Return whether one of the columns is NULL; halved again and again, because Spark's planner is recursive."""
    if len(columns) == 1:
        return columns[0].isNull()
    half = len(columns) // 2
    return _any_null(columns[:half]) | _any_null(columns[half:])


def _separator(options: Options) -> str:
    """Return the characters between cells; Spark also takes a tab as a backslash and a letter."""
    given = {name.lower(): value for name, value in options.items()}
    return given.get("sep", given.get("delimiter", ",")).replace(r"\t", "\t")

"""Sources: streaming DataFrames of any kind, read once per micro-batch by one streaming query.

Rule 1: drover does not wrap connectors; whatever `spark.readStream` returns is a source. Rule 2: one DataFrame may have
rows of several streams, distinguished by a column. A row of none of them becomes a dead letter. Rule 3: evidence of
malformed rows stays beside them. Rule 4: a column that nobody can ask for is not read: see `source_columns`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.errors import DroverError
from drover.flow.malformed_rows import EVIDENCE
from drover.network.model import Network
from drover.network.parts import Source
from drover.network.types import spark_type
from drover.spark.given import check_columns
from drover.spark.tasks import SOURCE, STRAY, Shape, SourceLayout, Strays


@dataclass(frozen=True, slots=True, eq=False)
class SharedSource:
    """A DataFrame with rows of several streams: the value of `by` says to which stream a row belongs."""

    frame: DataFrame
    by: str  # in Spark's SQL
    values: Mapping[str, str]  # by stream


Given = DataFrame | SharedSource


@dataclass(frozen=True, slots=True)
class UnifiedSources:
    """All sources as one DataFrame, and its layout."""

    frame: DataFrame
    layout: SourceLayout


def streams(
    frame: DataFrame, by: str, values: Mapping[str, object] | None = None, **more: object
) -> dict[str, SharedSource]:
    """Return several sources that one DataFrame holds, so that it is read once for all of them.

    `by` distinguishes them: a column, or any SQL over the DataFrame. `values` has the value of each source; write
    numbers and dates as Spark prints them. Rows with another value, or none, go to the dead letters.

        run(network, {**drover.streams(frame, "site", east="E", west="W"), "prices": other}, ...)
    """
    named = {name: str(value) for name, value in {**(values or {}), **more}.items()}
    if not named:
        raise DroverError("streams has no values, but needs one for each source. Give for example east='E'.")
    if len(set(named.values())) < len(named):
        twice = next(value for value in named.values() if list(named.values()).count(value) > 1)
        raise DroverError(f"value {twice!r} is given for two sources, but a row belongs to one. Give each its own.")
    return dict.fromkeys(named, SharedSource(frame, by, named))


def read_sources(
    network: Network, given: Mapping[str, Given], chosen: Mapping[str, Sequence[str]] | None = None
) -> UnifiedSources:
    """Return the union of the sources' rows. Sources with equal columns share them, so that few columns are empty.

    `chosen` names the columns of each source to read; None means all.
    """
    names = {source.name for source in network.sources}
    if set(given) != names:
        raise DroverError(
            f"sources are {sorted(given)}, but the network {network.name!r} has {sorted(names)}. "
            "Give one streaming DataFrame for each, or `streams` of one for several."
        )
    columns: dict[str, str] = {}  # of the union, with their types
    shapes: dict[str, Shape] = {}
    for source in network.sources:
        _check_streaming(source, _frame(given[source.name]))
        check_columns(f"source {source.name!r}", source.schema.types, _frame(given[source.name]))
        # Column names of the union begin with a number, so that sources with other types may use the same name.
        number = _number(source.schema.columns, network)
        wanted = source.schema.names if chosen is None else chosen[source.name]
        shapes[source.name] = {name: f"{number} {name}" for name in wanted}
        columns |= {f"{number} {name}": spark_type(source.schema.types[name]) for name in wanted}
    parts: list[DataFrame] = []
    strays: list[Strays] = []
    for one, members in _groups(network, given):
        own = {column: name for source in members for name, column in shapes[source.name].items()}
        number_of = F.lit(network.sources.index(members[0]))
        stray = F.lit(None).cast("string")
        if isinstance(one, SharedSource):
            number_of, stray = _source_number(one, network, -1 - len(strays))
            strays.append(Strays(tuple(source.name for source in members), one.by, {n: c for c, n in own.items()}))
        selected = [
            (F.col(f"`{own[column]}`") if column in own else F.lit(None).cast(kind)).alias(column)
            for column, kind in columns.items()
        ]
        # Without shared sources there are no strays, and the column can be left out.
        carries = [stray.alias(STRAY)] if any(isinstance(found, SharedSource) for found in given.values()) else []
        carries += [F.col(f"`{EVIDENCE}`")] if EVIDENCE in _frame(one).columns else []
        parts.append(_frame(one).select(number_of.alias(SOURCE), *carries, *selected))
    # Evidence is missing in sources that are not read from CSV or JSON.
    whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    return UnifiedSources(whole, SourceLayout(shapes, tuple(strays)))


def _check_streaming(source: Source, frame: DataFrame) -> None:
    """Refuse a batch DataFrame; Spark would only say that `writeStream` cannot be called on it."""
    if not frame.isStreaming:
        raise DroverError(
            f"source {source.name!r} is a batch DataFrame, but a run reads streams. Write "
            f"drover.replay(spark, frame, time={source.time!r}) to replay its rows, or read it with spark.readStream."
        )


def _groups(network: Network, given: Mapping[str, Given]) -> list[tuple[Given, list[Source]]]:
    """Return each DataFrame with the sources it holds, in order."""
    found: dict[int, tuple[Given, list[Source]]] = {}
    for index, source in enumerate(network.sources):
        one = given[source.name]
        key = id(one) if isinstance(one, SharedSource) else -1 - index  # a DataFrame given twice is read twice
        found.setdefault(key, (one, []))[1].append(source)
    return list(found.values())


def _source_number(shared: SharedSource, network: Network, none: int) -> tuple[Column, Column]:
    """Return the number of a row's source (`none` if it has none), and for a row without a source its value of `by`."""
    numbers = {source.name: number for number, source in enumerate(network.sources)}
    pairs = [F.lit(part) for name, value in shared.values.items() if name in numbers for part in (value, numbers[name])]
    # A column may be named like a keyword, which would not be an expression.
    quoted = f"`{shared.by.replace('`', '``')}`"
    by = F.col(quoted) if shared.by in shared.frame.columns else F.expr(shared.by)
    value = by.cast("string")
    number = F.coalesce(F.element_at(F.create_map(*pairs), value), F.lit(none))
    return number, F.when(number < 0, value)


def _frame(given: Given) -> DataFrame:
    return given.frame if isinstance(given, SharedSource) else given


def _number(columns: object, network: Network) -> int:
    """Return the number of the first source with these columns."""
    return next(i for i, source in enumerate(network.sources) if source.schema.columns == columns)

"""Sources: any streaming DataFrames, read once per micro-batch by one streaming query.

Rule 1: drover never wraps connectors; whatever `spark.readStream` gives is a source.
Rule 2: what is read once carries one stream or several, told apart by a column; rows of none become dead letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.errors import DroverError
from drover.network.model import Network
from drover.network.parts import Source
from drover.network.types import spark_type
from drover.spark.given import check_columns
from drover.spark.tasks import SOURCE, STRAY, Layout, Shape, Strays


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """A DataFrame that carries several streams: rows belong to the one that has the value of `by`."""

    frame: DataFrame
    by: str  # in Spark's SQL
    values: Mapping[str, str]  # by stream


Given = DataFrame | Shared


@dataclass(frozen=True, slots=True)
class Reading:
    """All sources as one DataFrame, and what is where in it."""

    frame: DataFrame
    layout: Layout


def streams(frame: DataFrame, by: str, values: Mapping[str, object] | None = None, **more: object) -> dict[str, Shared]:
    """Return sources that one DataFrame carries together, so that it is read once for all of them.

    `by` tells them apart: a column, or any SQL over the DataFrame. `values` has what each source has there; numbers and
    dates as Spark prints them. Rows with another value, or none, go to the dead letters.

        run(network, {**drover.streams(frame, "site", east="E", west="W"), "prices": other}, ...)
    """
    named = {name: str(value) for name, value in {**(values or {}), **more}.items()}
    if not named:
        raise DroverError("streams has no values, but needs one for each source. Give for example east='E'.")
    if len(set(named.values())) < len(named):
        twice = next(value for value in named.values() if list(named.values()).count(value) > 1)
        raise DroverError(f"value {twice!r} is given for two sources, but a row belongs to one. Give each its own.")
    return dict.fromkeys(named, Shared(frame, by, named))


def read_sources(network: Network, given: Mapping[str, Given]) -> Reading:
    """Return the union of the sources' rows. Sources with the same columns share them, so that few are empty."""
    names = {source.name for source in network.sources}
    if set(given) != names:
        raise DroverError(
            f"sources are {sorted(given)}, but the network {network.name!r} has {sorted(names)}. "
            "Give one streaming DataFrame for each, or `streams` of one for several."
        )
    columns: dict[str, str] = {}  # of the union, with their types
    shapes: dict[str, Shape] = {}
    for source in network.sources:
        check_columns(f"source {source.name!r}", source.schema.types, _frame(given[source.name]))
        number = _number(source.schema.columns, network)
        shapes[source.name] = {name: f"{number} {name}" for name in source.schema.names}
        columns |= {f"{number} {name}": spark_type(kind) for name, kind in source.schema.types.items()}
    parts: list[DataFrame] = []
    strays: list[Strays] = []
    for one, members in _groups(network, given):
        own = {column: name for source in members for name, column in shapes[source.name].items()}
        number_of = F.lit(network.sources.index(members[0]))
        stray = F.lit(None).cast("string")
        if isinstance(one, Shared):
            number_of, stray = _told_apart(one, network, -1 - len(strays))
            strays.append(Strays(tuple(source.name for source in members), one.by, {n: c for c, n in own.items()}))
        chosen = [
            (F.col(f"`{own[column]}`") if column in own else F.lit(None).cast(kind)).alias(column)
            for column, kind in columns.items()
        ]
        carries = [stray.alias(STRAY)] if any(isinstance(found, Shared) for found in given.values()) else []
        parts.append(_frame(one).select(number_of.alias(SOURCE), *carries, *chosen))
    return Reading(reduce(DataFrame.unionByName, parts), Layout(shapes, tuple(strays)))


def _groups(network: Network, given: Mapping[str, Given]) -> list[tuple[Given, list[Source]]]:
    """Return what is read, each with the sources it carries, in their order."""
    found: dict[int, tuple[Given, list[Source]]] = {}
    for index, source in enumerate(network.sources):
        one = given[source.name]
        key = id(one) if isinstance(one, Shared) else -1 - index  # a DataFrame given twice is read twice
        found.setdefault(key, (one, []))[1].append(source)
    return list(found.values())


def _told_apart(shared: Shared, network: Network, none: int) -> tuple[Column, Column]:
    """Return the number of a row's source, `none` if it has none, and then what it has in place of its value."""
    numbers = {source.name: number for number, source in enumerate(network.sources)}
    pairs = [F.lit(part) for name, value in shared.values.items() if name in numbers for part in (value, numbers[name])]
    value = F.expr(shared.by).cast("string")
    number = F.coalesce(F.element_at(F.create_map(*pairs), value), F.lit(none))
    return number, F.when(number < 0, value)


def _frame(given: Given) -> DataFrame:
    return given.frame if isinstance(given, Shared) else given


def _number(columns: object, network: Network) -> int:
    """Return the number of the first source with these columns."""
    return next(i for i, source in enumerate(network.sources) if source.schema.columns == columns)

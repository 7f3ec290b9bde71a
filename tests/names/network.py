"""A network in which every name that a user gives can be another one.

Rule 1: a part of the network is known by its plain name; `names` has the names that it gets instead.
Rule 2: with other names, the network means the same. So its rows are compared with those under plain names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl
from numpy.random import default_rng

import drover
from drover.network.build import Builder, Stream
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Join, KeyPair, Map, Named
from drover.network.queries import Query
from drover_lab.generate import rows
from tests import user_functions
from tests.flow.harness import Batch

SECOND: Final = 1_000_000
STREAMS: Final = ("first", "second", "few", "parts", "every", "made", "sums", "pairs", "seen")
TABLE_PARTS: Final = ("kept", "asked", "found")
CASES: Final = ("low", "high", "others")
# By the schema that they are in: names of one schema differ in more than their case.
COLUMNS: Final = (
    ("c_time", "c_key", "c_tag", "c_amount"),
    ("d_time", "d_key", "d_amount"),
    ("m_time", "m_key", "m_sum"),
    ("m_key", "a_count", "a_kinds", "a_last"),
    ("c_time", "j_tag", "j_amount"),
)
TABLES: Final = ("newest",)
TABLE_COLUMNS: Final = ("c_time", "c_key", "c_amount")
QUERY_NAMES: Final = ("counting", "joining")
QUERY_PARTS: Final = ("q_kept", "q_counted", "q_made", "q_joined")
QUERY_COLUMNS: Final = (("q_count", "q_kinds"), ("q_time", "q_key"), ("q_time", "q_left", "q_right"))


@dataclass(frozen=True, slots=True)
class Naming:
    """The names that parts get instead of their plain ones."""

    names: Mapping[str, str]

    def __call__(self, plain: str) -> str:
        return self.names.get(plain, plain)

    def sql(self, plain: str) -> str:
        """Return the name of a column as an expression has it."""
        return f"`{self(plain)}`"

    def stream(self, plain: str) -> str:
        """Return the name of a stream, which may be that of a case of a switch."""
        return ".".join(map(self, plain.split(".")))


PLAIN: Final = Naming({})


def named_network(name: Naming, *, tables: bool = False) -> Network:
    """Return a network with every kind of operator; only with `tables`, those that need one."""
    sql = name.sql
    net = drover.Builder(name("network"))
    columns = dict(zip(map(name, COLUMNS[0]), ("timestamp", "int", "string", "bigint"), strict=True))
    first = net.source(name("first"), columns, time=name("c_time"), lateness="1 s")
    columns = dict(zip(map(name, COLUMNS[1]), ("timestamp", "int", "bigint"), strict=True))
    second = net.source(name("second"), columns, time=name("d_time"))
    first.output()
    few = first.filter(name("few"), f"{sql('c_key')} <> 3")
    cases = {name("low"): f"{sql('c_amount')} < 0", name("high"): f"{sql('c_amount')} > 5"}
    parts = first.switch(name("parts"), cases, rest=name("others"))
    every = few.union(name("every"), parts[name("high")])
    computed = {"m_time": sql("c_time"), "m_key": sql("c_key"), "m_sum": f"{sql('c_amount')} + 1"}
    made = every.map(name("made"), {name(plain): text for plain, text in computed.items()})
    counts = {"a_count": "count(*)", "a_kinds": f"count(DISTINCT {sql('m_sum')})", "a_last": f"last({sql('m_sum')})"}
    sums = made.aggregate(
        name("sums"),
        {name(plain): text for plain, text in counts.items()},
        size="6 s",
        advance="2 s",
        group_by=name("m_key"),
    )
    pairs = few.join(
        name("pairs"),
        second,
        within=("3 s", "2 s"),
        on=f"{name('c_key')} = {name('d_key')}",
        where=f"left.{sql('c_amount')} >= right.{sql('d_amount')}",
        select={name("j_tag"): f"left.{sql('c_tag')}", name("j_amount"): f"right.{sql('d_amount')}"},
        spread=2,
    )
    seen = every.apply(name("seen"), user_functions.rows_so_far)
    for stream in (few, parts[name("low")], parts[name("others")], sums, pairs, seen):
        stream.output()
    if tables:
        _add_table(net, first, name)
    return net.build()


OUTPUTS: Final = ("first", "few", "parts.low", "parts.others", "sums", "pairs", "seen")


def named_tables(name: Naming) -> Network:
    """Return a network that writes a table and reads it."""
    net = drover.Builder(name("network"))
    columns = dict(zip(map(name, COLUMNS[0]), ("timestamp", "int", "string", "bigint"), strict=True))
    _add_table(net, net.source(name("first"), columns, time=name("c_time"), lateness="1 s"), name)
    return net.build()


def _add_table(net: Builder, first: Stream, name: Naming) -> None:
    kept = dict(zip(map(name, TABLE_COLUMNS), ("timestamp", "int", "bigint"), strict=True))
    table = net.table(name("newest"), kept, key=name("c_key"))
    first.write_table(name("kept"), table)
    asked = first.map(name("asked"), {name("m_time"): name.sql("c_time"), name("m_key"): name.sql("c_key")})
    on = f"{name('m_key')} = {name('c_key')}"
    asked.read_table(name("found"), table, on=on, columns=name("c_amount")).output()


def named_queries(name: Naming) -> tuple[Query, ...]:
    """Return queries on the network: windows over rows that they choose, and a join."""
    sql = name.sql
    kept = Filter(name=name("q_kept"), input=name("few"), where=f"{sql('c_tag')} <> 'x' AND {sql('c_amount')} > 1")
    counted = Aggregate(
        name=name("q_counted"),
        input=name("q_kept"),
        size=6 * SECOND,
        advance=6 * SECOND,
        group_by=(name("c_key"),),
        compute=(
            Named(name("q_count"), "count(*)"),
            Named(name("q_kinds"), f"count(DISTINCT {sql('c_tag')})"),
        ),
    )
    made = Map(
        name=name("q_made"),
        input=name("second"),
        select=(Named(name("q_time"), sql("d_time")), Named(name("q_key"), f"{sql('d_key')} + 0")),
    )
    joined = Join(
        name=name("q_joined"),
        left=name("q_made"),
        right=name("few"),
        left_window=2 * SECOND,
        right_window=2 * SECOND,
        on=(KeyPair(name("q_key"), name("c_key")),),
        select=(
            Named(name("q_left"), f"left.{sql('q_key')}"),
            Named(name("q_right"), f"right.{sql('c_amount')}"),
        ),
    )
    return (
        Query(name("counting"), name("tenant"), (kept, counted), name("q_counted")),
        Query(name("joining"), name("tenant"), (made, joined), name("q_joined")),
    )


def plain_batches(count: int = 4, length: int = 25, seed: int = 0) -> list[Batch]:
    """Return rows of the sources under their plain names, none of them late."""
    drawn = rows(named_network(PLAIN), count * length, default_rng(seed))
    return [{name: frame.slice(i * length, length) for name, frame in drawn.items()} for i in range(count)]


def renamed_batch(batch: Batch, network: Network, name: Naming) -> Batch:
    """Return the rows of a batch for a network with other names."""
    sources = {source.name: source for source in network.sources}
    return {name(plain): _renamed(frame, sources[name(plain)].schema.names) for plain, frame in batch.items()}


def _renamed(frame: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def with_plain_columns(found: pl.DataFrame, expected: pl.DataFrame) -> pl.DataFrame:
    """Return rows under the names of the same rows in the plain network."""
    return _renamed(found, tuple(expected.columns))

"""Queries with any expression there is, on columns of every type, and the same with constants that break things."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

import polars as pl

from drover.network.durations import UNITS
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Join, KeyPair, Map, Named, Operator, Switch, Union
from drover.network.parts import Source
from drover.network.queries import Query
from drover.network.rewrite import with_expressions
from drover.network.schema import Column
from drover.network.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from tests.flow.harness import Batch
from tests.network.expressions.frames import COLUMNS, random_frame
from tests.network.expressions.texts import LITERALS, Writer
from tests.strategies.values import START

SOURCES: Final = ("here", "there")
STREAMS: Final = (*SOURCES, "both", "split.some", "split.others")
KINDS: Final = (INT, BIGINT, DOUBLE, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ, BOOLEAN)
NAMES: Final = tuple(name for name, kind in COLUMNS.items() if kind in KINDS)
SECOND: Final = UNITS["s"]
CONSTANT: Final = re.compile(
    r"""(?P<typed>(?:DATE|TIMESTAMP|TIMESTAMP_NTZ)\s)?(?P<text>'(?:[^'\\]|\\.)*'|"[^"]*")"""
    r"""|(?<![\w.'"`])(?P<number>[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)(?P<suffix>[YSLD]?)\b"""
)
WHOLE: Final = ("0", "1", "2", "3", "7", "10", "127", "2147483647", "2147483648", "9223372036854775807", f"{10**20}")
DOUBLES: Final = ("0.0", "0.5", "2.5", "1.0", "0.1", "1e300", "5e-324", "9223372036854775808.0", "2147483647.5")
TEXTS: Final = (*LITERALS[STRING], "'ab'", "'A_b%'", "'\\''", "'12'", "'NaN'", "'a\\nb'", "'  '")
DAYS: Final = ("'0001-01-01'", "'9999-12-31'", "'2024-01-01'", "'2024-02-29'", "'1970-01-01'")


def network_of_every_type() -> Network:
    """Two sources with a column or two of every type, and streams made of them."""
    columns = (Column("at", TIMESTAMP), *(Column(name, kind) for name, kind in COLUMNS.items()))
    sources = tuple(Source(name, columns, "at", 2 * SECOND) for name in SOURCES)
    both = Union(name="both", streams=SOURCES)
    split = Switch(name="split", input="both", cases=(Named("some", "p_int > 1"),), rest="others")
    return Network("every-type", sources, (both, split), ("both", "split.some", "split.others"))


def batches_of_every_type(chance: random.Random, count: int) -> list[Batch]:
    """Rows of a few seconds each, now and then late or none; the last batches without rows close windows."""
    batches: list[Batch] = []
    for number in range(count):
        batch = {}
        for source in SOURCES:
            rows = chance.choice((0, 1, 12, 30))
            offsets = [4 * number + chance.choice((0, 1, 1.5, 2, 3, 4, -6)) for _ in range(rows)]
            times = [START + timedelta(seconds=offset) for offset in offsets]
            at = pl.Series("at", times, pl.Datetime("us", "UTC"))
            batch[source] = random_frame(chance, rows).insert_column(0, at)
        batches.append(batch)
    return [*batches, {}, {}]


@dataclass(slots=True)
class Inventor:
    """Makes up queries, of which some are faulty."""

    chance: random.Random
    operators: list[Operator] = field(default_factory=list)

    def query(self, name: str) -> Query:
        """Return a query of some pattern, with random expressions in it."""
        self.operators = []
        patterns = (self._filter, self._map, self._switch, self._union, self._window, self._window, self._join)
        self.operators.append(self.chance.choice(patterns)())
        return Query(name, "tenant", tuple(self.operators), self.operators[-1].outputs[0])

    def _expression(self, kind: DataType = BOOLEAN) -> str:
        return Writer(self.chance, set()).text(kind, self.chance.choice((1, 1, 2, 3)))

    def _kind(self) -> DataType:
        return self.chance.choice(KINDS)

    def _condition(self) -> str:
        """Return any condition, or one by which rows can be looked up, or that is a bound."""
        if self.chance.random() < 0.3:
            return self._expression()
        column = self.chance.choice(NAMES)
        sign = self.chance.choice(("=", "=", ">", "<=", "<>", "<=>"))
        simple = f"{column} {sign} {Writer(self.chance, set()).literal(COLUMNS[column])}"
        return simple if self.chance.random() < 0.6 else f"{simple} AND {self._expression()}"

    def _stream(self) -> str:
        read = self.chance.choice(STREAMS)
        if self.chance.random() < 0.7:
            self.operators.append(Filter(name=f"f{len(self.operators)}", input=read, where=self._condition()))
            read = self.operators[-1].name
        return read

    def _filter(self) -> Operator:
        return Filter(name="last", input=self._stream(), where=self._expression())

    def _map(self) -> Operator:
        named = tuple(Named(f"c{i}", self._expression(self._kind())) for i in range(self.chance.choice((1, 2, 3))))
        return Map(name="last", input=self._stream(), select=named, extend=self.chance.random() < 0.3)

    def _switch(self) -> Operator:
        cases = tuple(Named(f"b{i}", self._expression()) for i in range(2))
        return Switch(name="last", input=self._stream(), cases=cases, rest=self.chance.choice((None, "rest")))

    def _union(self) -> Operator:
        first = self._stream()
        again = Filter(name="again", input=first, where=self._expression())
        if self.chance.random() < 0.5:
            self.operators.append(again)
        return Union(name="last", streams=(first, "again" if again in self.operators else self._stream()))

    def _window(self) -> Operator:
        calls = [
            "count(*)",
            "avg(q_bigint)",
            f"count(DISTINCT {self._expression(INT)})",
            f"sum({self._expression(BIGINT)})",
        ]
        calls += [f"{word}({self._expression(self._kind())})" for word in ("min", "max", "count")]
        compute = tuple(
            Named(f"a{i}", call) for i, call in enumerate(self.chance.sample(calls, self.chance.choice((1, 2))))
        )
        groups = tuple(self.chance.sample(NAMES, self.chance.choice((0, 0, 1, 2))))
        size, advance = self.chance.choice(((4, 4), (6, 2), (5, 3)))
        return Aggregate(
            name="last",
            input=self._stream(),
            size=size * SECOND,
            advance=advance * SECOND,
            group_by=groups,
            compute=compute,
        )

    def _join(self) -> Operator:
        left = self._stream()
        right = left if self.chance.random() < 0.4 else self._stream()
        column = self.chance.choice(NAMES)
        whole = "left.p_int + 3 > right.q_int - 7"
        where = self.chance.choice((None, whole, f"left.`{column}` <=> right.`{column}` OR {whole}"))
        on = (KeyPair(column, column),) if self.chance.random() < 0.7 else ()
        select = (Named("a", "left.p_int * 2"), Named("b", "right.q_string"), Named("c", "5"))
        return Join(
            name="last",
            left=left,
            right=right,
            left_window=SECOND,
            right_window=2 * SECOND,
            on=on,
            where=where,
            select=select,
        )


def varied(chance: random.Random, query: Query, name: str, share: float = 0.6) -> Query:
    """Return the query with some of its constants exchanged for awkward ones, mostly of the same type."""

    def draw(found: re.Match[str]) -> str:
        if chance.random() > share:
            return found[0]
        if found["typed"]:
            return found["typed"] + chance.choice(DAYS)
        if found["text"]:
            return chance.choice(TEXTS)
        words: Sequence[str] = WHOLE if found["number"].isdecimal() else DOUBLES
        return ("-" if chance.random() < 0.2 else "") + chance.choice(words) + found["suffix"]

    return replace(
        query,
        name=name,
        operators=tuple(
            with_expressions(operator, lambda text: CONSTANT.sub(draw, text)) for operator in query.operators
        ),
    )

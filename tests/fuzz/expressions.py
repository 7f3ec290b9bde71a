"""Target: SQL expressions, generated from the function table, damaged, or put together from words.

Rule 1: an accepted expression must also run on rows of every type, because an expression never fails on a row.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from drover.network.expressions import (
    aggregate_to_polars,
    aggregate_to_spark,
    parse,
    parse_aggregate,
    parse_pair_predicate,
    to_polars,
    to_spark,
)
from drover.network.expressions.aggregates import AGGREGATES
from drover.network.expressions.functions import BY_NAME, REFUSED
from tests.fuzz.mutate import LARGE_ONE_IN, large, mutate_text
from tests.fuzz.target import Feed, Target
from tests.network.expressions.frames import COLUMNS, TYPES, random_frame
from tests.network.expressions.texts import Writer

SIGNS: Final = ("(", ")", ",", "'", '"', "`", ".", ";", "*", "--", "/*", "*/", "@", ":", "?", "$", "[", "]", "->", "::")
CLAUSES: Final = (
    *("NULL", "TRUE", "SELECT", "FROM", "WHERE", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST(", "AS", "INT"),
    *("decimal(", "DATE", "TIMESTAMP", "INTERVAL", "DAY", "IS", "NOT", "DISTINCT", "BETWEEN", "AND", "OR", "LIKE"),
    *("ESCAPE", "OVER", "EXISTS", "ANY", "ALL", "ROW", "IN", "EXTRACT(", "POSITION(", "left.", "right.", "VALUES"),
    *("x'00'", "r'a'", "array<", "struct<", "1", "1.5", "1e", "0x1", "'x'", "''", "1e400", "DATE '2024-02-30'"),
)
WORDS: Final = (*COLUMNS, *BY_NAME, *REFUSED, *AGGREGATES, *SIGNS, *CLAUSES)
COLUMN_LIST: Final = tuple(COLUMNS)
CALLS: Final = ("count(distinct ", *(f"{name}(" for name in AGGREGATES if " " not in name))
TIME: Final = "p_timestamp"
TALL: Final = (
    "p_int + q_int",
    "p_string || 'x'",
    "case when p_boolean then 1 else 2 end",
    "abs(p_int)",
    "not p_boolean",
)


def draw(chance: random.Random) -> str:
    """Return the text of an expression."""
    if chance.randrange(LARGE_ONE_IN) == 0:
        return large(chance, TALL)[:40_000]
    roll = chance.random()
    if roll < 0.12:
        return " ".join(chance.choices(WORDS, k=chance.randrange(1, 12)))
    text = Writer(chance, set()).text(chance.choice(TYPES), chance.randrange(3))
    if roll < 0.25:
        text = f"{chance.choice(CALLS)}{text})"
    return text if roll < 0.45 else mutate_text(text, chance, WORDS)


@contextmanager
def expressions(_folder: Path) -> Iterator[Feed]:
    """Feed a text as an expression, as an aggregate, or as the condition of a join; which one follows from the text."""
    rows = random_frame(random.Random(0), 5)
    groups = rows.group_by("p_boolean")
    few = {name: COLUMNS[name] for name in COLUMN_LIST[:8]}

    def feed(text: str) -> bool:
        kind = zlib.crc32(text.encode(errors="surrogatepass")) % 8
        if kind == 0:
            to_spark(parse_pair_predicate(text, few, COLUMNS))
        elif kind < 3 or text.startswith(CALLS):
            aggregate = parse_aggregate(text, COLUMNS)
            aggregate_to_spark(aggregate, TIME)
            groups.agg(aggregate_to_polars(aggregate, TIME).alias("result"))
        else:
            tree = parse(text, COLUMNS)
            to_spark(tree)
            rows.select(to_polars(tree))
        return True

    yield feed


EXPRESSIONS: Final = Target("expressions", 36, draw, expressions)

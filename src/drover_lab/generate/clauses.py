"""The SQL of random networks: predicates, maps and aggregates over one small schema.

Rule 1: numbers stay small whatever the depth (a remainder bounds them), so that no engine overflows.
Rule 2: floats stay multiples of 1/8: there is no division and no mean, hence sums do not depend on the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from numpy.random import Generator

Grouping: TypeAlias = tuple[str, ...]  # columns of a GROUP BY; none: the rows are events, not results of a window

EVENTS: Final[Grouping] = ()
EVENT_COLUMNS: Final = {"ts": "timestamp", "key": "int", "tag": "string", "amount": "bigint", "price": "double"}
GROUPINGS: Final[tuple[Grouping, ...]] = (("key",), ("tag",), ("key", "tag"))
KEYS: Final = 8  # values of `key`, as `rows` draws them

WINDOWS: Final = (("2 s", "2 s"), ("10 s", "10 s"), ("5 s", "1 s"), ("10 s", "2500 ms"), ("1 min", "20 s"))
TIMEOUTS: Final = ("500 ms", "3 s")

COMPUTE: Final = {"n": "count(*)", "total": "sum(amount)", "high": "max(price)"}
MORE: Final = {  # further columns an aggregate may compute; nothing reads them
    "low": "min(tag)",
    "known": "count(amount)",
    "sum_price": "sum(price)",
    "least": "min(amount)",
}

# Predicates with `{c}` for a constant, and the share of rows expected to pass.
EVENT_PREDICATES: Final = (
    ("amount > {c}", 0.5),
    ("price <= {c}", 0.6),
    ("key % 2 = 0", 0.5),
    ("key IN (0, 1, 2, 5)", 0.5),
    ("key BETWEEN 1 AND 6", 0.7),
    ("tag IS NOT NULL", 0.95),
    ("tag LIKE '%a%'", 0.4),
    ("amount % 3 <> 1 OR price < {c}", 0.8),
    ("NOT (amount < {c} AND key > 3)", 0.7),
)
RESULT_PREDICATES: Final = (("n > 1", 0.5), ("total >= {c}", 0.5), ("high IS NOT NULL AND high > {c}", 0.5))

AMOUNTS: Final = ("(amount * 3 + {c}) % 1000", "coalesce(amount, {c})", "abs(amount)", "amount + key")
PRICES: Final = ("-price", "price + 0.5D", "abs(price)", "coalesce(price, 0.125D)")
TAGS: Final = ("upper(tag)", "coalesce(tag, 'none')", "CASE WHEN amount > {c} THEN tag ELSE 'low' END")
EVENT_MAPS: Final = {"amount": AMOUNTS, "price": PRICES, "tag": TAGS, "key": ("(key + 1) % 8",)}

PAIR_PREDICATES: Final = ("left.amount <= right.amount", "left.price < right.price OR left.tag = right.tag")
PAIR_SELECT: Final = {  # every event column but the time, which a join makes by itself
    "key": "left.key",
    "tag": "coalesce(left.tag, right.tag)",
    "amount": "(left.amount - right.amount) % 1000",
    "price": "right.price",
}


def choose(rng: Generator, texts: tuple[str, ...]) -> str:
    """Return one of `texts` with a constant in place of `{c}`."""
    return texts[rng.integers(len(texts))].replace("{c}", str(rng.integers(-20, 21)))


def predicate(rng: Generator, grouping: Grouping) -> tuple[str, float]:
    """Return a predicate over rows of that kind, and the share of them it is expected to pass."""
    known = EVENT_PREDICATES if grouping == EVENTS else RESULT_PREDICATES
    text, share = known[rng.integers(len(known))]
    return choose(rng, (text,)), share


def projection(rng: Generator) -> dict[str, str]:
    """Return one or two event columns with new expressions, for a map that keeps the others."""
    names = rng.permutation(list(EVENT_MAPS))[: rng.integers(1, 3)]
    return {str(name): choose(rng, EVENT_MAPS[str(name)]) for name in names}


def reordering(rng: Generator) -> dict[str, str]:
    """Return all event columns, in any order and one of them changed, for a map that keeps nothing by itself."""
    changed = projection(rng)
    return {str(name): changed.get(str(name), str(name)) for name in rng.permutation(list(EVENT_COLUMNS))}


def back_to_events(grouping: Grouping) -> Mapping[str, str]:
    """Return the map from results of a window to events."""
    return {
        "ts": "window_time",
        "key": "key" if "key" in grouping else f"CAST(n % {KEYS} AS INT)",
        "tag": "tag" if "tag" in grouping else "'window'",
        "amount": "total % 1000",
        "price": "high",
    }


def computation(rng: Generator) -> dict[str, str]:
    """Return what an aggregate computes: three columns that others read, and perhaps one more."""
    more = sorted(MORE)[: rng.integers(len(MORE) + 1)]
    return COMPUTE | {name: MORE[name] for name in more[-1:]}

"""Streams, windows and predicates that nobody hopes for: what a spread join has to bear, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl
from numpy.random import Generator

import drover
from drover.network.model import Network
from tests.flow.harness import Batch
from tests.flow.pairs import COLUMNS, SCHEMA, SELECT, START
from tests.flow.spreading import spread_all

PREDICATES: Final[dict[str, tuple[tuple[str, ...], str | None]]] = {
    "float keys": (("y",), None),
    "two keys": (("k", "y"), None),
    "keys of two names": (("k = x",), "left.y <= right.y"),
    "a band": ((), "abs(left.x - right.x) <= 1"),
    "a band of nothing": ((), "abs(left.y - right.y) <= 0"),
    "a band below nothing": ((), "abs(left.y - right.y) < -1"),
    "a band without end": ((), "abs(left.y - right.y) <= CAST('Infinity' AS DOUBLE)"),
    "a band up to NaN": ((), "CAST('NaN' AS DOUBLE) >= abs(left.y - right.y)"),
    "between equals": ((), "left.y BETWEEN right.y AND right.y"),
    "between, one end open": ((), "left.y >= right.y AND left.y <= right.y + CAST('Infinity' AS DOUBLE)"),
    "between narrowed": ((), "CAST(left.y AS FLOAT) BETWEEN right.y AND right.y + 1"),
    "never": ((), "left.x < right.x AND left.x > right.x"),
    "not known": (("k",), "left.y = NULL"),
    "none": ((), None),
}
WINDOWS: Final = ("0 s", "1 us", "1 ms", "700 ms", "3 s", "1 d", "36525 d")
LATENESS: Final = ("0 s", "1 us", "2 s", "1 h")
FLOATS: Final = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, 1e300, 5e-324, 1e-50, 0.1, 0.1 + 1e-10)
FAR: Final = (0, 253_402_300_799_999_999, -62_135_596_800_000_000)  # 1970, and the ends of what is no dead letter


@dataclass(frozen=True, slots=True)
class Mood:
    """What the rows of a run have in common."""

    still: bool  # all rows have one event time
    close: bool  # rows are whole milliseconds apart, or a microsecond more: as watermarks and windows are
    alike: bool  # all rows have one key
    twins: bool  # rows come twice
    far: float  # share of rows that are centuries away
    holes: float  # share of values that are NULL
    idle: float  # share of batches in which a stream has no row


def mood(rng: Generator) -> Mood:
    chance = rng.random(6)
    still = bool(chance[0] < 0.2)
    close = bool(chance[0] > 0.75)
    far = 0.02 if chance[3] < 0.2 else 0.0
    return Mood(still, close, bool(chance[1] < 0.3), bool(chance[2] < 0.3), far, 0.3 * chance[4], chance[5])


def rows_of(kind: Mood, count: int, first: int, begin: float, rng: Generator) -> pl.DataFrame:
    """Return rows of two seconds from `begin` on, a few of them up to ten seconds behind."""
    times = begin + 2 * rng.random(count) - 10 * rng.random(count) * (rng.random(count) < 0.1)
    micros = START + (0 * times if kind.still else times * 1e6).astype(int)
    if kind.close:
        micros = START + 1000 * (begin + rng.integers(0, 4, count)).astype(int) + rng.integers(0, 2, count)
    ts = [FAR[int(rng.integers(3))] if rng.random() < kind.far else int(each) for each in micros]

    def some(values: list[float]) -> list[float | None]:
        return [None if rng.random() < kind.holes else value for value in values]

    rows = pl.DataFrame(
        {
            "ts": ts,
            "k": some([0 if kind.alike else int(rng.integers(3)) for _ in ts]),
            "x": some(rng.integers(-3, 4, count).tolist()),
            "y": some([FLOATS[int(rng.integers(len(FLOATS)))] for _ in ts]),
            "n": list(range(first, first + count)),
        },
        schema={**SCHEMA, "ts": pl.Int64()},
    ).with_columns(pl.col("ts").cast(SCHEMA["ts"]))
    return pl.concat([rows, rows]) if kind.twins else rows


def batches_of(network: Network, rng: Generator, most: int = 25) -> list[Batch]:
    """Return batches; some are empty, and some streams have no row for long, or never."""
    kind = mood(rng)
    mute = {source.name for source in network.sources if rng.random() < 0.05}

    def size(name: str) -> int:
        return 0 if name in mute or rng.random() < kind.idle else int(rng.integers(0, most))

    return [
        {source.name: rows_of(kind, size(source.name), 1000 * number, 1.5 * number, rng) for source in network.sources}
        for number in range(int(rng.integers(2, 9)))
    ]


def two_streams(rng: Generator, kind: str) -> Network:
    """A join of two sources, or of one with itself, with any windows and any lateness on either side."""
    on, where = PREDICATES[kind]
    net = drover.Builder("n")
    names = "ab"[: 1 + int(rng.random() < 0.75)]
    sources = [net.source(name, COLUMNS, time="ts", lateness=pick(LATENESS, rng)) for name in names]
    within = (pick(WINDOWS, rng), pick(WINDOWS, rng))
    sources[0].join("j", sources[-1], within=within, on=on, where=where, select=SELECT).output()
    return spread_all(net.build(), rng)


def four_streams(rng: Generator) -> Network:
    """Spread joins in a tree of four streams, two of them over the same streams, with aggregates that read them."""
    net = drover.Builder("n")
    a, b, c, d = (net.source(name, COLUMNS, time="ts", lateness=pick(LATENESS[:3], rng)) for name in "abcd")
    kept = {"k": "left.k", "x": "right.x", "y": "left.y", "n": "left.n", "m": "right.n"}

    def within() -> tuple[str, str]:
        return pick(WINDOWS[:5], rng), pick(WINDOWS[:5], rng)

    ab = a.join("ab", b, within=within(), on="k", select=kept)
    near = a.join("near", b, within=within(), where="abs(left.x - right.x) <= 1", select=kept).output()
    cd = c.join("cd", d, within=within(), where="left.x = right.x OR left.k = 0", select=kept)
    all_four = ab.join("all", cd, within=within(), on="k", select={"k": "left.k", "n": "left.n", "o": "right.m"})
    itself = ab.join("itself", ab, within=within(), on="n", select={"n": "left.n", "m": "left.m", "o": "right.m"})
    all_four.output()
    itself.output()
    near.aggregate("counts", {"c": "count(*)", "s": "sum(m)"}, size="2 s", group_by="k").output()
    all_four.filter("some", "n % 2 = 0").aggregate("sums", {"c": "count(*)"}, size="1 s").output()
    return spread_all(net.build(), rng)


def pick(choices: tuple[str, ...], rng: Generator) -> str:
    return choices[int(rng.integers(len(choices)))]

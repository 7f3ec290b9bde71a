"""More rows in a batch than Polars takes in one piece: what is shared out to threads must come together again."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import drover
from drover.placement.plan import round_robin
from tests.flow.harness import Harness
from tests.flow.pairs import COLUMNS, SCHEMA, SELECT, START

MANY = 300_000


def many(count: int) -> pl.DataFrame:
    numbers = np.arange(count)
    rows = pl.DataFrame({"ts": START + numbers, "k": numbers, "x": numbers % 5, "y": numbers, "n": numbers})
    return rows.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())


@pytest.mark.parametrize("spread", ["auto", "1 x 3", "3 x 1", "2 x 2"])
def test_a_spread_join_takes_them(spread: str) -> None:
    net = drover.Builder("n")
    left, right = (net.source(name, COLUMNS, time="ts") for name in "ab")
    left.join("j", right, within="10 s", on="k", select=SELECT, spread=spread).output()
    network = net.build()
    harness = Harness(network)
    harness.run({"a": many(MANY), "b": many(MANY)}, round_robin(network, 2))
    assert harness.failures == []
    assert harness.output("j").height == MANY


@pytest.mark.parametrize(
    ("where", "passes"),
    [
        ("true", MANY),
        ("1 = 2", 0),
        ("CAST(NULL AS BOOLEAN)", 0),
        ("1 = 1 AND x = 0", MANY // 5),
        ("n >= 0 OR true", MANY),
    ],
)
def test_a_filter_takes_them_also_by_a_constant(where: str, passes: int) -> None:
    net = drover.Builder("n")
    net.source("a", COLUMNS, time="ts").filter("f", where).output()
    network = net.build()
    harness = Harness(network)
    harness.run({"a": many(MANY)}, round_robin(network, 1))
    assert harness.failures == []
    assert harness.output("f").height == passes


@pytest.mark.parametrize("where", ["true", "1 = 1 OR left.x = right.x"])
def test_a_join_takes_them_also_by_a_constant(where: str) -> None:
    net = drover.Builder("n")
    left, right = (net.source(name, COLUMNS, time="ts") for name in "ab")
    left.join("j", right, within="10 s", on="k", where=where, select=SELECT, spread="auto").output()
    left.join("i", right, within="0 s", where=where, select=SELECT, spread=2).output()
    network = net.build()
    harness = Harness(network)
    harness.run({"a": many(MANY), "b": many(MANY)}, round_robin(network, 2))
    assert harness.failures == []
    assert (harness.output("j").height, harness.output("i").height) == (MANY, MANY)

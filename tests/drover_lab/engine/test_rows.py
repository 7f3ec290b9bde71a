from __future__ import annotations

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover_lab.engine.bursts import day_network
from drover_lab.engine.rows import arrivals, bursts, busy_day, day
from drover_lab.generate import two_chains


def test_arrivals_follow_their_rate() -> None:
    found = arrivals(np.array([100.0, 300.0]), 10.0, default_rng(0))
    assert 900 < (found < 10).sum() < 1100
    assert 2800 < (found >= 10).sum() < 3200
    assert (np.diff(found) >= 0).all()


def test_bursts_are_out_of_phase() -> None:
    rows = bursts(two_chains(default_rng(0)), 300.0, 20.0, 0)
    second = ((pl.col("ts").dt.epoch("us") / 1e6) % 10 < 5).alias("first")
    counts = {(name, first): count for name, first, count in rows.group_by("stream", second).len().iter_rows()}
    assert counts["s0", True] > 1.5 * counts["s0", False]
    assert counts["s1", False] > 1.5 * counts["s1", True]


def test_a_day_has_the_rate_that_is_asked_for() -> None:
    rows = busy_day(day_network(), 200.0, 20.0, 0)
    assert 0.95 < len(rows) / 4000 < 1.05
    assert day().shape == (1440, 24)

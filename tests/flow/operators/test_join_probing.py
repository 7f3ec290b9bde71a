"""Joins by any predicate, however candidates are found, against all pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from numpy.random import default_rng
from polars.testing import assert_frame_equal

import drover
from drover.flow.operators import join as join_module
from drover.flow.operators.bands import find_band
from drover.flow.operators.ranges import Ints, Stretches, by_band, by_time, pieces
from drover.network.expressions import parse_pair
from drover.network.operators import Join
from drover.network.types import parse_type
from drover.placement.plan import Plan
from tests.flow.harness import Harness
from tests.flow.pairs import COLUMNS, SELECT, all_pairs, random_rows

PREDICATES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "equality": (("k",), None),
    "equality and band": (("k",), "abs(left.x - right.x) <= 2"),
    "band": ((), "abs(left.x - right.x) <= 2"),
    "band of floats": ((), "1.25 > abs(left.y - right.y)"),
    "band of both types": ((), "abs(left.x - right.y) <= 3 AND left.k = 1"),
    "between": ((), "left.y BETWEEN right.y - 0.5 AND right.y + 1"),
    "between, on the right": ((), "right.x >= left.x * 2 AND left.x + 3 >= right.x"),
    "any predicate": ((), "left.x * right.x < 0 OR left.k = right.k"),
    "none": ((), None),
}
TYPES = {name: parse_type(kind) for name, kind in COLUMNS.items()}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", PREDICATES)
def test_every_pair_is_found_once(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = default_rng([seed, *kind.encode()])
    monkeypatch.setattr(join_module, "PIECE", int(rng.integers(5, 400)))  # also less than one row has candidates
    on, where = PREDICATES[kind]
    net = drover.Builder("n")
    left, right = (net.source(name, COLUMNS, time="ts", lateness="2 s") for name in "ab")
    within = (f"{rng.integers(0, 5000)} ms", f"{rng.integers(0, 3000)} ms")
    left.join("j", right, within=within, on=on, where=where, select=SELECT).output()
    network = net.build()
    (join,) = (operator for operator in network.operators if isinstance(operator, Join))
    batches = [
        {name: random_rows(int(rng.integers(0, 60)), 1000 * number, 4.0 * number, 5.0, rng) for name in "ab"}
        for number in range(5)
    ]
    harness = Harness(network)
    for batch in batches:
        harness.run(batch, Plan(1, 1, {"j": 0}))
    assert harness.failures == []
    assert_frame_equal(harness.output("j").select("a", "b").sort("a", "b"), all_pairs(network, join, batches))


@pytest.mark.parametrize(
    ("where", "side"),
    [
        pytest.param("abs(left.x - right.x) <= 2", "right", id="a distance"),
        pytest.param("abs(right.y - left.y) < 2 AND left.k > 0", "right", id="among other conditions"),
        pytest.param("5 >= abs(left.x - right.y)", "right", id="the other way round"),
        pytest.param("left.y BETWEEN right.y AND right.x", "left", id="between"),
        pytest.param("abs(left.x - right.x) > 2", None, id="far apart is no band"),
        pytest.param("abs(left.x - left.k) < 2", None, id="of one side only"),
        pytest.param("abs(left.x - right.x) < right.k", None, id="no constant distance"),
        pytest.param("abs(left.x - right.x) < 2 OR left.k = 1", None, id="not necessarily"),
        pytest.param("left.x < right.x", None, id="one bound"),
        pytest.param("abs(CAST(left.y - right.y AS INT)) <= 2", None, id="a cast that cuts digits off"),
    ],
)
def test_bands_are_found_in_predicates(where: str, side: str | None) -> None:
    band = find_band(parse_pair(where, TYPES, TYPES), "right")
    assert (None if band is None else band.side) == side


def test_few_candidates_where_a_band_is_narrow() -> None:
    rng = default_rng(0)
    times, keys = rng.integers(0, 1000, 2000), rng.random(2000) * 1000
    low, high = times - 500, times + 500
    assert by_band(times, low, high, 1000, keys, keys - 1, keys + 1).count < by_time(times, low, high).count / 50


def test_pieces_are_bounded_and_leave_nothing_out() -> None:
    times = np.zeros(50, dtype=np.int64)
    stretches = by_time(times, times[:30], times[:30])
    found = list(pieces(stretches, 7))
    assert max(len(probe) for probe, _ in found) == 7
    pairs = [(int(a), int(b)) for probe, rows in found for a, b in zip(probe, rows, strict=True)]
    assert sorted(pairs) == [(a, b) for a in range(30) for b in range(50)]
    assert list(pieces(by_time(times[:0], times, times), 7)) == []


def test_a_window_that_explodes_is_paired_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_module, "PIECE", 1000)
    seen: list[int] = []

    def watched(stretches: Stretches, most: int) -> Iterator[tuple[Ints, Ints]]:
        for probe, rows in pieces(stretches, most):
            seen.append(len(probe))
            yield probe, rows

    monkeypatch.setattr(join_module, "pieces", watched)
    net = drover.Builder("n")
    left, right = (net.source(name, COLUMNS, time="ts") for name in "ab")
    left.join("j", right, within="10 s", where="left.n = right.n", select=SELECT).output()
    network = net.build()
    rows = {name: random_rows(300, 0, 0.0, 1.0, default_rng(1)) for name in "ab"}
    harness = Harness(network)
    harness.run(rows, Plan(1, 1, {"j": 0}))
    assert (sum(seen) > 80_000, max(seen)) == (True, 1000)
    assert harness.output("j").height == 300
    assert harness.output("j").filter(pl.col("a") != pl.col("b")).height == 0

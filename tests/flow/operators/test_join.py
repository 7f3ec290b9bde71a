"""Joins: every pair once, by hand on small batches, and against all pairs on random ones."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest
from numpy.random import default_rng
from polars.testing import assert_frame_equal

import drover
from drover.flow.operators import join as join_module
from drover.flow.operators.join import LEFT, RIGHT, cut_by_candidates
from drover.flow.operators.ranges import CandidateRanges, Ints, pieces
from drover.network.operators import Join
from drover.placement.plan import Plan
from tests.flow.harness import Harness
from tests.flow.operators.batches import Row, SmallBatches, two_sources
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


def test_a_window_that_explodes_is_paired_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_module, "PIECE", 1000)
    seen: list[int] = []

    def watched(stretches: CandidateRanges, most: int) -> Iterator[tuple[Ints, Ints]]:
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


def batches(within: tuple[str, str] = ("10 s", "5 s"), on: str = "k", where: str | None = None) -> SmallBatches:
    """Return a join whose rows are the time of a pair and the values of its sides."""
    select = {"x": "left.v", "y": "right.v"}
    return SmallBatches(two_sources(lambda a, b: a.join("out", b, within=within, on=on, where=where, select=select)))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param([(0, "a", 1)], [(10, "a", 2)], [(10, 1, 2)], id="a left row waits 10 s"),
        pytest.param([(0, "a", 1)], [(10.000001, "a", 2)], [], id="and no longer"),
        pytest.param([(5, "a", 1)], [(0, "a", 2)], [(5, 1, 2)], id="a right row waits 5 s"),
        pytest.param([(5.000001, "a", 1)], [(0, "a", 2)], [], id="and no longer, too"),
        pytest.param([(0, "a", 1)], [(0, "b", 2)], [], id="other keys"),
        pytest.param([(0, None, 1)], [(0, None, 2)], [], id="NULL equals no key"),
        pytest.param([(0, "a", None)], [(0, "a", 2)] * 2, [(0, None, 2)] * 2, id="equal rows pair one by one"),
        pytest.param([(0, "a", 1)], [], [], id="one side alone"),
    ],
)
def test_pairs(left: list[Row], right: list[Row], expected: list[Row]) -> None:
    assert batches().only(left, right) == expected
    left_first = batches()
    assert left_first.only(left, []) + left_first.only([], right) == expected
    right_first = batches()
    assert right_first.only([], right) + right_first.only(left, []) == expected


def test_a_predicate_that_is_null_pairs_nothing() -> None:
    given = [(0, "a", 1), (0, "b", None)]
    assert batches(where="left.v <= right.v").only(given, given) == [(0, 1, 1)]


def test_late_rows_are_dropped_and_windows_are_cut() -> None:
    worker = batches()
    worker.only([(1, "a", 1), (4, "a", 2)], [(6, "a", 3), (9, "a", 4)], now=None)
    worker.only([], [], now=12)
    # Later rows are above 12 s: a left row from 2 s on, and a right row above 7 s, may still meet one.
    assert {side: worker.state.parts[side].height for side in (LEFT, RIGHT)} == {LEFT: 1, RIGHT: 1}
    assert worker.only([(12, "a", 5)], [], late=12, now=12) == []
    found = worker.only([(12.000001, "a", 5)], [(12.5, "a", 6)], late=12, now=12)
    assert sorted(found) == [(12.000001, 5, 4), (12.5, 2, 6), (12.5, 5, 6)]


def test_a_window_keeps_only_the_columns_in_use() -> None:
    worker = batches(on="k")
    worker.only([(0, "a", 1)], [])
    assert worker.state.parts[LEFT].columns == ["left.drover.time", "left.k", "left.v"]
    plain = SmallBatches(two_sources(lambda a, b: a.join("out", b, within="1 s", on="k", select={"x": "left.v"})))
    plain.only([], [(0, "a", 1)])
    assert plain.state.parts[RIGHT].columns == ["right.drover.time", "right.k"]


@pytest.mark.parametrize(
    ("keys", "most", "sizes"),
    [
        pytest.param([1] * 6, 60, [6], id="few candidates, one piece"),
        pytest.param([1] * 6, 20, [1, 2, 3], id="ten candidates a row, about twenty a piece"),
        pytest.param([2, 2, 2, 1, 2, 1, 1], 15, [5, 2], id="rows without candidates cost nothing"),
        pytest.param([], 1, [0], id="no rows"),
    ],
)
def test_rows_are_cut_by_their_candidates(
    keys: list[int], most: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join_module, "HOT", 0)  # count, instead of taking a sample
    rows = pl.DataFrame({"x": keys}, schema={"x": pl.Int64()})
    others = pl.DataFrame({"y": [1] * 10})
    cut = list(cut_by_candidates(rows, others, ["x"], ["y"], most))
    assert pl.concat(cut)["x"].to_list() == keys
    assert max(10 * (piece["x"] == 1).sum() for piece in cut) <= most + 10  # one row's candidates too many
    assert [piece.height for piece in cut] == sizes

"""Where nothing is dropped, servers look at exactly the pairs that there are, whatever shapes joins take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.diffusion.cost import Demand
from drover.errors import DroverError
from drover.load.arrays import Floats
from drover.network.grid import Grid
from drover_lab.diffused.run import Full, JoinOutcome, Setup, Split, arrivals, run
from drover_lab.diffused.world import JoinCluster

WINDOW = 2.0
SPLITS: tuple[Split, ...] = ("least-loaded", "round-robin", "weighted")


def idle_cluster(n: int) -> JoinCluster:
    """Servers that are fast enough for anything, and keep all of it."""
    return JoinCluster(np.linspace(1e9, 3e9, n), np.full(n, 100_000))


def pairs(left: Floats, right: Floats, until: float) -> int:
    one = left[left < until]
    other = right[right < until]
    return int((np.abs(one[:, None] - other[None, :]) <= WINDOW).sum())


GRIDS = st.sampled_from([Grid(1, 1), Grid(4, 1), Grid(1, 4), Grid(2, 2), Grid(2, 1), Grid(1, 3)])


@given(GRIDS, st.lists(GRIDS, min_size=12, max_size=12), st.sampled_from(SPLITS), st.integers(0, 1000))
@settings(max_examples=60)
def test_every_pair_is_looked_at_once(first: Grid, later: list[Grid], split: Split, seed: int) -> None:
    rng = default_rng(seed)
    streams = arrivals(rng.uniform(2, 8, (2, 2)), 6.0, rng)
    shapes = iter(later)
    server = rng.permutation(6)[:4].reshape(1, 4)
    setup = Setup(idle_cluster(6), server, (first,), WINDOW, split, "tidy", lambda _grid, _demand: next(shapes))
    found = run(setup, streams, 12.0, 1.0)
    assert found.dropped.sum() == 0
    assert found.operations.sum() == pairs(streams[0], streams[1], 12.0)


def busy(full: Full, room: int = 200) -> JoinOutcome:
    grid = Grid(3, 1)
    n = 3
    rng = default_rng(1)
    cluster = JoinCluster(np.linspace(1000.0, 3000.0, n), np.full(n, room))
    server = np.arange(grid.cells).reshape(1, -1)
    return run(
        Setup(cluster, server, (grid,), 10.0, "round-robin", full), arrivals(np.full((1, 2), 15.0), 300.0, rng), 300.0
    )


@pytest.mark.parametrize("full", ["tidy", "drop", "replace"])
def test_servers_that_are_asked_for_too_much_drop_and_are_never_used_more_than_whole(full: Full) -> None:
    found = busy(full)
    assert found.dropped.min() > 0
    assert (found.utilisation <= 1.02).all()  # what was begun is counted whole
    assert (found.dropped <= found.received).all()


def test_a_full_server_that_only_drops_can_be_full_for_good() -> None:
    assert busy("drop", room=20).operations[-1].sum() < busy("tidy", room=20).operations[-1].sum()


def test_servers_receive_what_the_formula_says() -> None:
    found = busy("tidy")
    assert found.received.sum() == pytest.approx(300 * 0.8 * 15 * (1 + 3), rel=0.05)


def test_arrivals_have_the_rates_of_the_text() -> None:
    (one, other) = arrivals(np.array([[10.0, 5.0], [20.0, 5.0]]), 500.0, default_rng(0))
    assert (np.diff(one) >= 0).all()
    assert len(one[one < 500]) == pytest.approx(0.8 * 10 * 500, rel=0.02)
    assert len(one[one >= 500]) == pytest.approx(0.8 * 20 * 500, rel=0.02)
    assert len(other) == pytest.approx(0.8 * 5 * 1000, rel=0.02)


def test_shapes_are_asked_with_measured_rates() -> None:
    asked: list[Demand] = []

    def keep(grid: Grid, demand: Demand) -> Grid:
        asked.append(demand)
        return grid

    streams = arrivals(np.array([[10.0, 5.0]]), 100.0, default_rng(0))
    found = run(
        Setup(idle_cluster(1), np.zeros((1, 1), dtype=np.int64), (Grid(1, 1),), reshape=keep), streams, 100.0, 50.0
    )
    assert (len(asked), found.changes) == (2, 0)
    assert asked[0].left_rate == pytest.approx(8.0, rel=0.1)


def test_servers_that_cannot_be_are_refused() -> None:
    with pytest.raises(DroverError, match="each server needs a speed above 0"):
        JoinCluster(np.array([0.0]), np.array([1]))

"""Rows on their way to instances: Polars and numpy agree, replays repeat, and each row travels once to a place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from numpy.random import default_rng

import drover
from drover.diffusion.epochs import Epochs, destinations, instances, owners
from drover.flow.distribute import DRAW, made_by, ship, taken_by
from drover.flow.frames import FrameKind, unpack
from drover.flow.schedule import HopNode, Schedule, make_schedule
from drover.network.grid import Epoch, Grid
from drover.network.model import Network
from drover.placement.plan import Plan

START = datetime(2026, 1, 1, tzinfo=UTC)
EPOCHS: list[Epochs] = [
    (Epoch(0, Grid(1, 1)),),
    (Epoch(3, Grid(2, 3)),),
    (Epoch(0, Grid(4, 1)), Epoch(1, Grid(1, 4))),
    (Epoch(1, Grid(1, 2)), Epoch(2, Grid(3, 2)), Epoch(3, Grid(2, 1))),
    (Epoch(0, Grid(3, 3), by_row=True),),
    (Epoch(0, Grid(2, 2)), Epoch(1, Grid(2, 3), by_row=True), Epoch(2, Grid(20, 40), by_row=True)),
]


def network(grid: Grid) -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, {"ts": "timestamp", "k": "bigint"}, time="ts") for name in "ab")
    a.filter("f", "k > 0").output()
    a.join("j", b, within="2 s", on="k", select={"k": "left.k"}, spread=grid).output()
    return net.build()


def scheduled(grid: Grid, nodes: int) -> Schedule:
    return make_schedule(network(grid), Plan(1, nodes, {"f": 0, "j": 0}))


def rows(count: int, begin: int = 0) -> pl.DataFrame:
    times = [START + timedelta(seconds=begin + k) for k in range(count)]
    return pl.DataFrame({"ts": times, "k": range(count)}).cast({"ts": pl.Datetime("us", "UTC")})


@pytest.mark.parametrize("epochs", EPOCHS, ids=str)
@pytest.mark.parametrize("side", [0, 1])
def test_an_instance_takes_what_the_numpy_twin_sends_it(epochs: Epochs, side: int) -> None:
    draws = default_rng(0).integers(0, 2**32, 500, dtype=np.uint32)
    frame = pl.DataFrame({"x": range(500), DRAW: draws})
    sent = destinations(draws, side, epochs)
    for number in range(instances(epochs)):
        assert taken_by(frame, number, side, epochs)["x"].to_list() == np.flatnonzero(sent[:, number]).tolist()


@pytest.mark.parametrize("epochs", EPOCHS, ids=str)
def test_a_pair_has_the_owner_that_the_numpy_twin_says(epochs: Epochs) -> None:
    rng = default_rng(1)
    numbers = [rng.integers(epochs[0].number, epochs[-1].number + 1, 300) for _ in range(2)]
    draws = [rng.integers(0, 2**32, 300, dtype=np.uint32) for _ in range(2)]
    frame = pl.DataFrame({"le": numbers[0], "ld": draws[0], "re": numbers[1], "rd": draws[1]})
    found = frame.select(made_by(("le", "ld"), ("re", "rd"), epochs).alias("owner"))["owner"].to_list()
    assert found == owners((numbers[0], draws[0]), (numbers[1], draws[1]), epochs).tolist()


def test_whole_readers_and_instances_get_frames_of_their_own() -> None:
    frames, local = ship(scheduled(Grid(2, 1), nodes=2), "a", rows(100), origin=0)
    assert local == {}
    assert {frame.port.kind for frame in frames} == {FrameKind.ROWS, FrameKind.JOIN_ROWS}
    taken = [
        found["k"].to_list()
        for node in (0, 1)
        for port, found in unpack(frame for frame in frames if frame.node == node).items()
        if port.kind is FrameKind.JOIN_ROWS
    ]
    assert sorted(taken[0] + taken[1]) == list(range(100))  # two rows of a grid: no row of `a` goes to both
    assert min(len(part) for part in taken) > 40


def test_rows_for_instances_at_the_same_place_do_not_travel() -> None:
    frames, local = ship(scheduled(Grid(2, 1), nodes=2), "b", rows(10), origin=0, here=HopNode(0, 0))
    assert {frame.node for frame in frames} == {1}
    ((port, found),) = local.items()
    assert (port.kind, port.stream, found["k"].to_list()) == (FrameKind.JOIN_ROWS, "b", list(range(10)))


def test_draws_repeat_on_a_replay_and_differ_between_senders_and_times() -> None:
    schedule = scheduled(Grid(4, 1), nodes=4)

    def draws(origin: int, begin: int = 0) -> list[int]:
        frames, _ = ship(schedule, "a", rows(1, begin), origin)
        (found,) = (found for port, found in unpack(frames).items() if port.kind is FrameKind.JOIN_ROWS)
        return found[DRAW].to_list()

    assert draws(1) == draws(1)
    assert len({*draws(1), *draws(2), *draws(1, begin=1)}) == 3


def test_draws_are_those_of_every_release() -> None:
    # This release may repeat a batch that an older one began, and must distribute it as that one did.
    frames, _ = ship(scheduled(Grid(2, 1), nodes=1), "a", rows(3), origin=7)
    (found,) = (found for port, found in unpack(frames).items() if port.kind is FrameKind.JOIN_ROWS)
    assert found[DRAW].to_list() == [864514983, 3518950752, 1878419225]

"""The pieces of a batch at one place: in whatever order they run, the whole is what it would have been at once."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from polars.testing import assert_frame_equal

import drover
from drover.flow.frames import Edge, Frame, FramePort, pack, stream_port, unpack
from drover.flow.node import OperatorFacts
from drover.flow.parking import Parking
from drover.flow.pieces import PieceFailedError, cut_piece, merged_facts, needed_whole, pieces_at
from drover.flow.pipelining import Pipeline, make_pipeline, streamed_operators
from drover.flow.schedule import HopNode, make_schedule
from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.flow.worker import Assignment, WorkerCache, pack_network, run_worker
from drover.load.sample import Sample
from drover.network.model import Network
from drover.placement.plan import Plan
from drover_lab.generate import rows
from tests import user_functions

COLUMNS = {"ts": "timestamp", "key": "int", "tag": "string", "amount": "bigint"}
HERE = HopNode(0, 0)


def network_of_two_nodes() -> Network:
    net = drover.Builder("n")
    source = net.source("s", COLUMNS, time="ts")
    some = source.filter("some", "amount > 0").output()
    more = some.map("more", {"ts": "ts", "key": "key", "twice": "amount * 2"})
    more.aggregate("windows", {"n": "count(*)"}, size="5 s", group_by="key").output()
    source.apply("strict", user_functions.refuses_nulls).output()
    more.filter("far", "twice > 10").output()
    return net.build()


NETWORK = network_of_two_nodes()
PLAN = Plan(1, 2, {"some": 0, "more": 0, "windows": 0, "strict": 0, "far": 1})


def assigned(root: Path) -> tuple[Assignment, Pipeline]:
    schedule = make_schedule(NETWORK, PLAN)
    watermarks = operator_watermarks(NETWORK, SourceProgress())
    assignment = Assignment(0, pack_network(NETWORK, {}), schedule, watermarks, {}, str(root))
    return assignment, make_pipeline(schedule, streamed_operators(schedule, assignment.parking), 3)


def new_cache() -> WorkerCache:
    return WorkerCache(lambda: 0.0, lambda _: None)


def given_rows(height: int = 40) -> pl.DataFrame:
    return rows(NETWORK, height, default_rng(3))["s"].with_columns(pl.col("tag").fill_null("none"))


def frames_of(given: pl.DataFrame) -> list[Frame]:
    return list(pack(given, stream_port("s"), [HERE], -1))


def sent(frames: list[Frame]) -> dict[tuple[HopNode, FramePort], pl.DataFrame]:
    """The rows for each place, or for the driver."""
    places = {HopNode(frame.hop, frame.node) for frame in frames}
    return {
        (place, port): found
        for place in places
        for port, found in unpack(one for one in frames if (one.hop, one.node) == place).items()
    }


@pytest.mark.parametrize("height", [0, 1, 2, 40])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_pieces_in_any_order_are_the_whole(tmp_path: Path, order: tuple[int, ...], height: int) -> None:
    assignment, pipeline = assigned(tmp_path)
    frames = frames_of(given_rows(height))
    made, report = run_worker(assignment, HERE, frames, "whole", new_cache())
    expected = sent(list(made))

    mine = pieces_at(HERE, pipeline, assignment, NETWORK)
    cache = new_cache()
    shipped: list[Frame] = []
    for at, piece in enumerate(order):
        shipped += mine.run(piece, () if at else frames, assignment, f"piece-{piece}", cache)
        mine.spend(1.0, 2.0)
    streamed = mine.end()
    rest, rest_report = run_worker(assignment, HERE, [], "rest", cache, streamed)
    random.Random(0).shuffle(shipped)
    found = sent([*shipped, *rest])
    assert found.keys() == expected.keys()
    for key, each in expected.items():
        assert_frame_equal(found[key], each)
    assert (streamed.busy, streamed.seconds) == (3.0, 6.0)
    assert [one.sample for one in rest_report.operators] == [one.sample for one in report.operators]


def test_an_operator_that_fails_in_a_piece_fails_the_piece(tmp_path: Path) -> None:
    assignment, pipeline = assigned(tmp_path)
    spoiled = given_rows().with_columns(tag=pl.when(pl.int_range(pl.len()) == 20).then(None).otherwise("tag"))
    mine = pieces_at(HERE, pipeline, assignment, NETWORK)
    cache = new_cache()
    mine.run(0, frames_of(spoiled), assignment, "a", cache)
    with pytest.raises(PieceFailedError, match=r"operator strict failed in piece 2: .*a tag is missing"):
        mine.run(1, (), assignment, "b", cache)


@given(st.integers(0, 50), st.integers(1, 9))
def test_pieces_are_even_and_keep_the_order(height: int, pieces: int) -> None:
    given_ = pl.DataFrame({"x": range(height)})
    parts = [cut_piece(given_, piece, pieces) for piece in range(pieces)]
    assert_frame_equal(pl.concat(parts), given_)
    heights = [part.height for part in parts]
    assert max(heights) - min(heights) <= 1


def test_only_what_something_needs_is_kept_whole() -> None:
    schedule = make_schedule(NETWORK, PLAN)
    streamed = streamed_operators(schedule, Parking())
    outputs = NETWORK.outputs
    assert streamed == {"some", "more", "strict", "far"}
    assert needed_whole(HERE, streamed, schedule, ()) == {"more"}, "windows read it"
    assert needed_whole(HERE, streamed, schedule, outputs) == {"more", *outputs}
    assert needed_whole(HopNode(1, 1), streamed, schedule, ()) == set()


def test_facts_of_pieces_add_up() -> None:
    one = OperatorFacts(Sample("o", {"s": 3}, {"o": 2}, 0.5), HERE, (Edge("o", 1, 1, 100),))
    other = OperatorFacts(Sample("o", {"s": 4}, {"o": 0}, 0.25), HERE, (Edge("o", 1, 2, 50), Edge("o", 2, 1, 7)))
    edges = (Edge("o", 1, 3, 150), Edge("o", 2, 1, 7))
    both = OperatorFacts(Sample("o", {"s": 7}, {"o": 2}, 0.75), HERE, edges, pieces=2)
    assert merged_facts([one, other]) == both

"""Pipelining: what runs piece by piece, in how many pieces, and in which order the steps of a batch may run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

import drover
from drover.flow.instances import explicit
from drover.flow.parking import ParkedOperator, Parking
from drover.flow.pipelining import (
    MOST_PIECES,
    PIECE_SECONDS,
    UNPIPELINED,
    Pipeline,
    Step,
    Wave,
    best_pieces,
    feeds_of,
    is_row_wise,
    make_pipeline,
    may_be_streamed,
    pipeline_of,
    streamed_operators,
    waiting_seconds,
    working,
)
from drover.flow.schedule import HopNode, Schedule, make_schedule
from drover.network.model import Network
from drover.network.operators import OPERATORS, Operator, UserDefined
from drover.placement.plan import Plan, units_of
from drover_lab.generate import DagParameters, dags
from tests import user_functions

COLUMNS = {"ts": "timestamp", "key": "int", "amount": "bigint"}
NOTHING = Parking()


def chain(*names: str) -> Network:
    net = drover.Builder("n")
    stream = net.source("s", COLUMNS, time="ts")
    for name in names:
        stream = stream.filter(name, "key > 0")
    stream.output()
    return net.build()


def scheduled(network: Network, *nodes: int) -> Schedule:
    """The schedule by which the units of a network, in their order, are on these nodes."""
    plan = Plan(1, 1 + max(nodes), dict(zip(units_of(network), nodes, strict=True)))
    return make_schedule(network, explicit(plan, network))


def random_schedule(seed: int) -> Schedule:
    rng = default_rng(seed)
    network = dags(rng, DagParameters(operators=int(rng.integers(1, 15)), sources=2))
    nodes = int(rng.integers(1, 5))
    return scheduled(network, *(int(rng.integers(nodes)) for _ in units_of(network)))


def mixed() -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, COLUMNS, time="ts") for name in ("a", "b"))
    kept = a.filter("kept", "key > 0")
    more = kept.map("more", {"ts": "ts", "key": "key + 1"})
    more.aggregate("windows", {"n": "count(*)"}, size="5 s").filter("high", "n > 3").output()
    kept.union("both", b).filter("after", "key > 1").output()
    left = a.filter("left", "amount > 0")
    left.join("pairs", b, within="1 s", on="key", select={"x": "left.amount"}, spread=2).output()
    more.apply("seen", user_functions.rows_so_far).output()
    b.filter("dealt", "key > 0").join("more_pairs", a, within="1 s", on="key", select={"x": "left.key"}).output()
    return net.build()


@pytest.mark.parametrize(
    ("parking", "streamed"),
    [
        # The rows of `left` go to a spread join with draws, which depend on the rows that are sent together.
        pytest.param(NOTHING, {"kept", "more", "dealt"}, id="what works row by row on such rows"),
        pytest.param(Parking(parked={"dealt": ParkedOperator("x")}), {"kept", "more"}, id="not what does not run"),
        pytest.param(
            Parking(resumed={"dealt": ParkedOperator("x", holds=True)}), {"kept", "more"}, id="not what works off"
        ),
        pytest.param(
            Parking(resumed={"dealt": ParkedOperator("x")}), {"kept", "more", "dealt"}, id="what has held nothing"
        ),
        pytest.param(Parking(parked={"kept": ParkedOperator("x")}), {"dealt"}, id="nothing behind what does not run"),
    ],
)
def test_what_is_streamed(parking: Parking, streamed: set[str]) -> None:
    network = mixed()
    assert streamed_operators(scheduled(network, *(0 for _ in units_of(network))), parking) == streamed


def test_what_may_be_streamed_follows_from_the_network_alone() -> None:
    network = mixed()
    assert may_be_streamed(network) == {"kept", "more", "dealt", "left"}
    schedule = scheduled(network, *(0 for _ in units_of(network)))
    assert streamed_operators(schedule, NOTHING) == may_be_streamed(network) - {"left"}


def test_a_kind_is_row_wise_unless_an_operator_keeps_state() -> None:
    assert {kind.name for kind in OPERATORS.values() if kind.row_wise} == {
        "filter",
        "map",
        "switch",
        "synthetic",
        "user",
    }
    (user,) = OPERATORS["user"].samples
    assert is_row_wise(user)
    stateful: Operator = UserDefined(name="u", input="events", function="m:f", columns=user.columns, keeps_state=True)
    assert not is_row_wise(stateful)


@pytest.mark.parametrize(
    ("nodes", "busy", "waiting"),
    [
        pytest.param((0, 0), {"a": 0.3, "b": 0.2}, 0.0, id="one hop"),
        pytest.param((0, 1), {"a": 0.3, "b": 0.2}, 0.2, id="the faster half waits"),
        pytest.param((0, 1), {"a": 0.3}, 0.0, id="an operator that does nothing waits for nothing"),
        pytest.param((0, 1), {}, 0.0, id="nothing is known of the first batch"),
        pytest.param((0, 1, 0), {"a": 0.1, "b": 0.3, "c": 0.1}, 0.2, id="there and back"),
        pytest.param((0, 1, 2), {"a": 0.1, "b": 0.3, "c": 0.1}, 0.2, id="a slow one in the middle"),
    ],
)
def test_how_long_nodes_wait_at_the_ends_of_hops(
    nodes: tuple[int, ...], busy: Mapping[str, float], waiting: float
) -> None:
    schedule = scheduled(chain(*"abc"[: len(nodes)]), *nodes)
    assert waiting_seconds(schedule, streamed_operators(schedule, NOTHING), busy) == pytest.approx(waiting)


@given(st.integers(0, 300), st.floats(0, 1))
def test_as_many_pieces_as_take_least(seed: int, second: float) -> None:
    schedule = random_schedule(seed)
    streamed = streamed_operators(schedule, NOTHING)
    busy = {name: second * (index % 3) for index, name in enumerate(sorted(streamed))}
    save = waiting_seconds(schedule, streamed, busy)
    pieces = best_pieces(schedule, streamed, busy)

    cost = PIECE_SECONDS * len(feeds_of(schedule, streamed))

    def expected(count: int) -> float:
        return save / count + (count * cost if count > 1 else 0.0)

    assert 1 <= pieces <= MOST_PIECES
    assert expected(pieces) <= expected(1) + 1e-9
    # The best number is the root of a ratio. It is rounded down: fewer pieces are less work.
    assert all(expected(pieces) <= expected(count) + 2 * cost for count in range(1, MOST_PIECES + 1))


def test_a_batch_without_hops_has_no_pipeline() -> None:
    schedule = scheduled(chain("a", "b"), 0, 0)
    assert pipeline_of(schedule, NOTHING, {"a": 1.0, "b": 1.0}) == UNPIPELINED
    assert not UNPIPELINED.is_on


def test_a_long_chain_that_is_cut_has_one() -> None:
    schedule = scheduled(chain("a", "b"), 0, 1)
    made = pipeline_of(schedule, NOTHING, {"a": 1.0, "b": 1.0})
    feeds = {HopNode(0, 0): (), HopNode(1, 1): (HopNode(0, 0),)}
    assert made == Pipeline(MOST_PIECES, frozenset("ab"), feeds)
    assert made.is_on


def played(schedule: Schedule, pipeline: Pipeline, choose: Any) -> list[Step]:  # Any: one of several steps
    """The steps of a batch in some order that the wave allows."""
    wave = Wave(schedule, pipeline)
    running: list[Step] = []
    ended: list[Step] = []
    while running := [*running, *wave.ready()]:
        step = choose(running)
        running.remove(step)
        wave.end(step)
        ended.append(step)
    return ended


@given(st.integers(0, 300), st.integers(1, 5), st.data())
def test_whatever_ends_first_every_step_finds_its_rows(seed: int, pieces: int, data: st.DataObject) -> None:
    schedule = random_schedule(seed)
    pipeline = make_pipeline(schedule, streamed_operators(schedule, NOTHING), pieces)
    steps = played(schedule, pipeline, lambda running: data.draw(st.sampled_from(running)))
    at = {step: index for index, step in enumerate(steps)}
    assert len(at) == len(steps)
    feeds = pipeline.feeds if pipeline.is_on else {}
    in_pieces = {Step(place, piece) for place in feeds for piece in range(pipeline.pieces)}
    assert set(at) == in_pieces | {Step(place) for place in working(schedule)}
    for step in in_pieces:
        assert at[step] < at[Step(step.place)]
        assert all(at[Step(maker, step.piece)] < at[step] for maker in feeds[step.place])
    for place in working(schedule):
        earlier = [step for step in steps if step.place.hop < place.hop]
        assert all(at[step] < at[Step(place)] for step in earlier)


@given(st.integers(0, 300))
def test_streamed_rows_come_from_the_hop_before_or_from_sources(seed: int) -> None:
    schedule = random_schedule(seed)
    pipeline = make_pipeline(schedule, streamed_operators(schedule, NOTHING), 2)
    for place, makers in pipeline.feeds.items():
        assert {maker.hop for maker in makers} <= {place.hop - 1}
        assert all(maker in pipeline.feeds for maker in makers)


def test_older_pieces_begin_first() -> None:
    schedule = scheduled(chain("a", "b"), 0, 1)
    wave = Wave(schedule, make_pipeline(schedule, streamed_operators(schedule, NOTHING), 3))
    first, second = HopNode(0, 0), HopNode(1, 1)
    assert wave.ready() == [Step(first, 0), Step(first, 1), Step(first, 2)]
    wave.end(Step(first, 0))
    assert wave.ready() == [Step(second, 0)]
    wave.end(Step(first, 2))
    assert wave.ready() == [Step(second, 2)]
    wave.end(Step(first, 1))
    assert wave.ready() == [Step(second, 1), Step(first)]

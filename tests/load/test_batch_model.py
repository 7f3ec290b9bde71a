"""The model of a batch finds the costs of made-up batches, and predicts batches that it has not seen."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.batch_model import (
    BatchMeasure,
    BatchModel,
    NodeTime,
    comparable,
    fit_batches,
    hop_seconds,
    measure_of,
    measure_to_json,
    thinned,
    work_seconds,
)
from tests.load.batches import USUAL, batches, true_seconds


@pytest.mark.parametrize(
    ("busy", "cores", "seconds"),
    [
        pytest.param([[0.2, 0.5]], 2, 0.5, id="the slowest node"),
        pytest.param([[0.2, 0.5]], 1, 0.7, id="one core for both"),
        pytest.param([[0.4, 0.4, 0.4, 0.4]], 2, 0.8, id="four nodes on two cores"),
        pytest.param([[0.2, 0.5], [0.3, 0.0]], 2, 0.8, id="hops add up"),
        pytest.param([], 2, 0.0, id="nothing"),
    ],
)
def test_a_hop_takes_as_long_as_its_slowest_node_and_its_cores_allow(
    busy: list[list[float]], cores: int, seconds: float
) -> None:
    assert hop_seconds(NodeTime(np.array(busy)), cores) == pytest.approx(seconds)


def test_waiting_needs_no_core() -> None:
    busy = np.array([[0.4, 0.4, 0.4, 0.4], [0.1, 0.6, 0.0, 0.0]])
    waited = np.array([[0.4, 0.4, 0.4, 0.0], [0.0, 0.6, 0.0, 0.0]])
    assert hop_seconds(NodeTime(busy), 1) == pytest.approx(1.6 + 0.7)
    assert hop_seconds(NodeTime(busy, waited), 1) == pytest.approx(0.4 + 0.6)


@pytest.mark.parametrize(
    ("streamed", "cores", "pieces", "seconds"),
    [
        pytest.param([[0.4, 0.0], [0.0, 0.4]], 2, 1, 0.8, id="in one piece, hops add up"),
        pytest.param([[0.4, 0.0], [0.0, 0.4]], 2, 4, 0.5, id="a quarter of the waiting is left"),
        pytest.param([[0.4, 0.0], [0.0, 0.4]], 1, 4, 0.8, id="one core for both"),
        pytest.param([[0.4, 0.0], [0.0, 0.1]], 2, 4, 0.425, id="the node with most work never waits"),
        pytest.param([[0.3, 0.3], [0.3, 0.3]], 2, 4, 0.6, id="nobody has waited"),
        pytest.param([[0.0, 0.0], [0.0, 0.0]], 2, 4, 0.8, id="nothing is streamed"),
    ],
)
def test_in_pieces_nodes_wait_less(streamed: list[list[float]], cores: int, pieces: int, seconds: float) -> None:
    busy = streamed if np.any(streamed) else [[0.4, 0.0], [0.0, 0.4]]
    assert work_seconds(NodeTime(np.array(busy)), NodeTime(np.array(streamed)), cores, pieces) == pytest.approx(seconds)


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 6), min_size=1, max_size=4), st.integers(1, 4), st.integers(1, 8))
def test_pieces_never_beat_the_cores_or_the_slowest_node(
    drawn: list[tuple[float, ...]], cores: int, pieces: int
) -> None:
    both = np.array(drawn).reshape(len(drawn), 2, 3)
    whole, streamed = NodeTime(both.sum(axis=1)), NodeTime(both[:, 0])
    found = work_seconds(whole, streamed, cores, pieces)
    assert found <= hop_seconds(whole, cores) + 1e-9
    assert found >= max(whole.busy.sum(axis=0).max(), whole.busy.sum() / cores) - 1e-9
    assert found >= work_seconds(whole, streamed, cores, pieces + 1) - 1e-9


def wild(made: tuple[BatchMeasure, ...], share: float, seed: int) -> tuple[BatchMeasure, ...]:
    """The same batches, of which some took far too long."""
    found = list(made)
    for at in default_rng(seed).choice(len(made), int(len(made) * share), replace=False):
        found[at] = replace(made[at], compute=10 * made[at].compute, sinks=made[at].sinks + 3.0)
    return tuple(found)


def model_of(measures: tuple[BatchMeasure, ...]) -> BatchModel:
    found = fit_batches(measures)
    assert found is not None
    return found


@given(st.integers(0, 1000), st.sampled_from([0.0, 0.1, 0.2]))
@settings(max_examples=25, deadline=None)
def test_three_times_the_rows_are_predicted_despite_wild_batches(seed: int, share: float) -> None:
    compute, _, sinks, commit = true_seconds(USUAL.times(3.0))
    found = model_of(wild(batches(seed), share, seed)).seconds(USUAL.times(3.0))
    assert found.mean == pytest.approx(compute + sinks + commit, rel=0.08)
    assert found.low <= found.mean <= found.high


@given(st.integers(0, 1000), st.lists(st.floats(0.0, 5.0), min_size=2, max_size=6))
@settings(max_examples=25, deadline=None)
def test_more_rows_never_take_less_time(seed: int, factors: list[float]) -> None:
    model = model_of(batches(seed, spread=0.05))
    times = [model.seconds(USUAL.times(factor)).mean for factor in sorted(factors)]
    assert times == sorted(times)


def test_a_steady_run_keeps_its_fixed_cost_apart_from_its_nodes() -> None:
    phases = model_of(batches(1, spread=0.02)).phases(USUAL)
    assert phases.fixed == pytest.approx(0.2 + 2 * 0.09 + 0.05 + 0.02, rel=0.15)
    assert phases.nodes == pytest.approx(0.33, rel=0.15)
    assert phases.reading == pytest.approx(0.02, rel=0.3)
    assert phases.longest == "fixed"
    assert phases.whole == pytest.approx(phases.fixed + phases.nodes + phases.others)


def test_far_from_what_was_seen_it_is_less_sure() -> None:
    model = model_of(batches(2, spread=0.1))
    near, far = (model.seconds(USUAL.times(factor)) for factor in (1.0, 4.0))
    assert (far.high - far.low) > 2 * (near.high - near.low)
    assert model.error < 0.05
    assert str(near).endswith(")")


def test_one_batch_makes_a_model_that_is_mostly_assumed() -> None:
    made = batches(3)
    assert fit_batches(()) is None
    few, many = model_of(made[:1]).seconds(USUAL.times(3.0)), model_of(made).seconds(USUAL.times(3.0))
    assert few.high - few.low > 2 * (many.high - many.low)
    assert model_of(made[:1]).seconds(made[0].work).mean == pytest.approx(made[0].whole, rel=0.1)


def test_batches_of_another_engine_or_machine_do_not_count() -> None:
    made = batches(4)
    other = [replace(one, engine="resident") for one in made[:30]]
    fewer = [replace(one, cores=1) for one in made[:30]]
    assert comparable((*other, *fewer, *made[30:])) == made[30:]


def test_a_batch_survives_json_and_thinning_keeps_the_newest() -> None:
    made = batches(5)
    back = measure_of(json.loads(json.dumps(measure_to_json(made[0]))))
    assert back.whole == pytest.approx(made[0].whole)
    assert (back.nodes, back.slots, back.cores, back.trigger, back.engine) == (4, 2, 2, 1.0, "shuffle")
    waits = replace(made[0], busy=0.5, waited=0.25)
    body = measure_to_json(waits)
    assert (measure_of(body).busy, measure_of(body).waited) == (0.5, 0.25)
    assert measure_of(body[:-2]).waited == 0.0, "an older run has not written it"
    assert thinned(made, 3) == (made[19], made[39], made[59])
    assert thinned(made[:2], 3) == made[:2]

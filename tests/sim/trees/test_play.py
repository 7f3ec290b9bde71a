from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.hierarchy.queries import faults
from drover.hierarchy.thresholds import Thresholds
from drover.sim.trees.course import Course
from drover.sim.trees.run import Settings, play, stand_still
from drover.sim.trees.scene import Scene, SceneParameters, scene
from drover.sim.trees.wire import Cut, Outage, Wire

SHORT = SceneParameters(nodes=7, operators=60, size=5.0, seconds=120.0, growing=2)


def drawn(seed: int = 0, parameters: SceneParameters = SHORT) -> Scene:
    return scene(default_rng(seed), parameters)


def same(one: Course, other: Course) -> bool:
    return bool((one.levels == other.levels).all() and one.sent == other.sent and (one.node_of == other.node_of).all())


def test_equal_seeds_give_equal_courses() -> None:
    bad = Settings(wire=Wire(loss=0.1, doubled=0.1))
    assert same(play(drawn(), default_rng(1), bad), play(drawn(), default_rng(1), bad))
    assert not same(play(drawn(), default_rng(1), bad), play(drawn(), default_rng(2), bad))


def test_nobody_moves_where_nobody_has_reason_to() -> None:
    wide, ample = Settings(thresholds=Thresholds(0.0, 1.0)), replace(SHORT, capacity=10_000.0)
    course = play(drawn(parameters=ample), default_rng(1), wide)
    assert (course.levels == stand_still(drawn(parameters=ample)).levels).all()
    assert (course.moved, course.rounds, dict(course.sent)) == (0, 0, {})


@given(st.integers(0, 10**6), st.floats(0, 0.5), st.floats(0, 0.3))
@settings(max_examples=15)
def test_whatever_the_network_does_operators_stay_where_their_inputs_pass(
    seed: int, loss: float, doubled: float
) -> None:
    before = drawn(seed)
    rng = default_rng(seed)
    cuts = tuple(Cut(node, before.tree.parent[node], 20.0, 60.0) for node in rng.integers(1, 7, size=2).tolist())
    outages = tuple(Outage(node, 30.0 + node, 70.0) for node in rng.permutation(7)[:2].tolist())
    chosen = Settings(wire=Wire((0.0, 1.0), loss, doubled, cuts), outages=outages)
    course = play(before, rng, chosen)
    assert list(faults(before.tree, before.queries, course.node_of.tolist())) == []
    still = stand_still(before)
    assert np.allclose(course.levels.sum(axis=1), still.levels.sum(axis=1)), "what is there is somewhere"


def test_a_thousand_nodes_on_a_bad_day_keep_everything_where_it_can_run() -> None:
    before = drawn(8, SceneParameters(nodes=1000, operators=10_000, size=4.0, seconds=60.0, growing=67))
    outages = tuple(Outage(node, 10.0 + node % 20, 40.0) for node in range(0, 1000, 20))
    course = play(before, default_rng(8), Settings(wire=Wire(loss=0.1, doubled=0.1), outages=outages))
    assert list(faults(before.tree, before.queries, course.node_of.tolist())) == []
    still = stand_still(before)
    assert np.allclose(course.levels.sum(axis=1), still.levels.sum(axis=1))
    assert course.moved > 300
    late = course.times > 30
    assert course.overloaded(0.6)[late].sum() < 0.7 * still.overloaded(0.6)[late].sum()


def test_a_cut_link_carries_nothing_and_heals() -> None:
    before = drawn(3)
    split = tuple(Cut(node, before.tree.parent[node], 0.0, 60.0) for node in range(1, 7))
    course = play(before, default_rng(3), Settings(wire=Wire(cuts=split)))
    still = stand_still(before)
    early = course.times < 60
    assert (course.levels[early] == still.levels[early]).all()
    assert course.moved > 0


def test_a_node_that_is_down_gives_and_takes_nothing() -> None:
    before = drawn(4)
    course = play(before, default_rng(4), Settings(outages=tuple(Outage(node, 0.0, 119.0) for node in range(7))))
    assert course.sent.get("Handover", 0) == 0
    assert (course.node_of == before.node_of).all()


def test_the_text_scene() -> None:
    found = drawn(5, SceneParameters())
    assert (len(found.tree), len(found.queries)) == (15, 360)
    assert list(faults(found.tree, found.queries, found.node_of.tolist())) == []
    growing = found.when < 480
    assert len(set(found.which[growing].tolist())) <= 30
    sizes = found.sizes[:, 0].copy()
    for at, which, new in zip(found.when, found.which, found.new[:, 0], strict=True):
        assert (new >= sizes[which]) if at < 480 else (1 <= new <= sizes[which])
        sizes[which] = new


def test_queries_that_merge_read_from_every_child() -> None:
    found = drawn(6, SceneParameters(merging=1.0, chain=1))
    for entries, node in zip(found.queries.entries, found.node_of.tolist(), strict=True):
        assert len(entries) == max(len(found.tree.children[node]), 1)
    assert list(faults(found.tree, found.queries, found.node_of.tolist())) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"latency": (0.2, 0.1)}, "latency is", id="latency"),
        pytest.param({"loss": 1.5}, "loss is 1.5", id="loss"),
        pytest.param({"doubled": -0.1}, "doubled is -0.1", id="doubled"),
    ],
)
def test_networks_that_cannot_be_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        Wire(**fields)  # type: ignore[arg-type]  # wrong on purpose


def test_scenes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ProblemError, match="chain is 0"):
        SceneParameters(chain=0)

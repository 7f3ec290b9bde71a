"""Complete negotiations in one process: valid for any tree, loads and thresholds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.hierarchy.machine import Machine
from drover.hierarchy.negotiate import Agreement, TreeMove, negotiate
from drover.hierarchy.node_state import ROUNDING, NodeConfig, Phase
from drover.hierarchy.queries import Queries, placement_faults
from drover.hierarchy.thresholds import Size, TreeThresholds, add, level
from drover.hierarchy.tree import Tree
from tests.hierarchy.worlds import placed, trees

MARKS = TreeThresholds(least=0.01)
Scene = tuple[list[NodeConfig], list[int], list[Size]]


def places_of(tree: Tree, queries: Queries, capacity: Sequence[Size]) -> list[NodeConfig]:
    return [NodeConfig(i, tree, queries, capacity[i], MARKS) for i in range(len(tree))]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """A tree with operators of one or two resources; nodes range from empty to far too full."""
    tree = draw(trees())
    queries, node_of = draw(placed(tree, most=12))
    resources = draw(st.integers(1, 2))
    capacity = [tuple(draw(st.floats(5, 60)) for _ in range(resources)) for _ in range(len(tree))]
    sizes = [tuple(draw(st.integers(0, 20)) / 1.0 for _ in range(resources)) for _ in node_of]
    return places_of(tree, queries, capacity), node_of, sizes


def levels(places: Sequence[NodeConfig], node_of: Sequence[int], sizes: Sequence[Size]) -> list[float]:
    own = [[size for at, size in zip(node_of, sizes, strict=True) if at == i] for i in range(len(places))]
    return [level(add(mine, (0.0,) * len(sizes[0])), place.capacity) for mine, place in zip(own, places, strict=True)]


@given(scenes())
def test_every_step_is_between_neighbours_feasible_and_lifts_nobody_to_its_upper_mark(scene: Scene) -> None:
    places, node_of, sizes = scene
    tree = places[0].tree
    queries = places[0].queries
    agreed = negotiate(places, node_of, sizes)
    now = list(node_of)
    for step in agreed.steps:
        assert step.receiver in tree.neighbours(step.giver)
        assert step.giver_level > MARKS.upper if step.offered else step.receiver_level < MARKS.lower
        for j in step.operators:
            assert now[j] == step.giver
            now[j] = step.receiver
        after = levels(places, now, sizes)
        assert after[step.receiver] <= MARKS.upper - MARKS.margin + ROUNDING
        assert after[step.giver] >= MARKS.target - ROUNDING
    # Hand-overs of one round come one after the other, so only what they lead to together has to be sound.
    assert list(placement_faults(tree, queries, now)) == []
    assert tuple(now) == agreed.node_of


@given(scenes())
def test_every_round_has_ended(scene: Scene) -> None:
    made: list[Machine] = []

    class ObservedMachine(Machine):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)  # type: ignore[arg-type]  # handed on as they are
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drover.hierarchy.negotiate.Machine", ObservedMachine)
        negotiate(*scene)
    assert {machine.phase for machine in made} == {Phase.IDLE}
    assert not any(machine.state.durable.pending for machine in made)


@given(scenes())
def test_the_same_sizes_lead_to_the_same_places(scene: Scene) -> None:
    assert negotiate(*scene) == negotiate(*scene)


LINE = Tree((-1, 0))  # a root and a leaf


def line(sizes: list[float], node_of: list[int], *, memory: tuple[float, float] = (100, 100)) -> Agreement:
    queries = Queries(tuple(() for _ in sizes), tuple((1,) for _ in sizes))
    places = places_of(LINE, queries, [(memory[0],), (memory[1],)])
    return negotiate(places, node_of, [(size,) for size in sizes])


@pytest.mark.parametrize(
    ("sizes", "start", "root", "node_of", "offered"),
    [
        pytest.param([20, 20, 19], [1, 1, 1], 100, (1, 1, 1), [], id="what is below the mark stays"),
        pytest.param([20, 20, 25], [1, 1, 1], 100, (1, 1, 1), [], id="nobody gives below the target"),
        pytest.param([30, 30, 10], [1, 1, 1], 100, (1, 1, 0), [True], id="too much goes to the parent"),
        pytest.param([30, 30, 10], [1, 1, 1], 15, (1, 1, 1), [], id="a full parent takes nothing"),
        pytest.param([30, 30, 10], [0, 0, 0], 100, (0, 0, 1), [True], id="the fullest node is the first to check"),
        pytest.param([30, 20, 5], [0, 0, 0], 100, (0, 0, 1), [False], id="who has too little asks"),
        pytest.param([55, 0], [1, 1], 100, (1, 1), [], id="what weighs nothing stays"),
    ],
)
def test_what_two_nodes_agree_on(
    sizes: list[float], start: list[int], root: float, node_of: tuple[int, ...], offered: list[bool]
) -> None:
    agreed = line(sizes, start, memory=(root, 100))
    assert agreed.node_of == node_of
    assert [step.offered for step in agreed.steps] == offered


def test_a_move_tells_its_operators_and_the_levels_before_it() -> None:
    # Four messages move the operators: offer, reply, hand-over, reply. Then the root asks in vain, with two more.
    moves = (TreeMove((2, 3), giver=1, receiver=0, offered=True, giver_level=0.75, receiver_level=0.0),)
    assert line([30, 30, 10, 5], [1, 1, 1, 1]) == Agreement((1, 1, 0, 0), moves, 6)


def test_the_level_of_who_began_the_round_is_that_of_its_check() -> None:
    """The middle node of three gets an operator from both neighbours; with the first one, its level has risen."""
    queries = Queries(((),) * 5, ((0,), (1,), (1,), (2,), (2,)))
    places = places_of(Tree((-1, 0, 1)), queries, [(100.0,)] * 3)
    agreed = negotiate(places, [0, 0, 1, 2, 2], [(50.0,), (8.0,), (20.0,), (50.0,), (9.0,)])
    assert agreed.node_of == (0, 1, 1, 2, 1)
    assert agreed.steps == (
        TreeMove((1,), giver=0, receiver=1, offered=False, giver_level=0.58, receiver_level=0.2),
        TreeMove((4,), giver=2, receiver=1, offered=False, giver_level=0.59, receiver_level=0.2),
    )

from __future__ import annotations

import pytest

from drover.hierarchy.queries import Queries
from drover.hierarchy.tree import ROOT, Tree
from tests.hierarchy.exhaust import Budget, explore
from tests.hierarchy.world import World, world_of

PAIR = Tree((ROOT, 0))
PATH = Tree((ROOT, 0, 1))
FORK = Tree((ROOT, 0, 0))


def small(tree: Tree, node_of: tuple[int, ...], sizes: tuple[float, ...], entry: tuple[int, ...]) -> World:
    """Return a world of operators that read a source each; nodes have a capacity of 100."""
    queries = Queries(((),) * len(node_of), tuple((each,) for each in entry))
    return world_of(tree, queries, node_of, [(size,) for size in sizes], [(100.0,)] * len(tree))


def offer() -> World:
    """The child has too much, the parent has room but wants nothing."""
    return small(PAIR, (1, 1, 0), (60.0, 10.0, 45.0), (1, 1, 0))


def demand() -> World:
    """The parent wants work, the child has some to spare but is not overloaded."""
    return small(PAIR, (1, 1, 0), (50.0, 8.0, 20.0), (1, 1, 0))


def both() -> World:
    """The child has too much and the parent too little: they ask each other."""
    return small(PAIR, (1, 1), (60.0, 10.0), (1, 1))


def between() -> World:
    """The middle has too much, and may give up and down at once."""
    return small(PATH, (1, 1, 1, 0, 2), (50.0, 10.0, 10.0, 45.0, 45.0), (1, 2, 2, 0, 2))


def crossing() -> World:
    """A chain over two nodes whose ends must not pass each other; the child has too much, and then the root has."""
    queries = Queries(((), (0,), (), ()), ((1,), (), (0,), (1,)))
    return world_of(PAIR, queries, (1, 0, 0, 1), [(10.0,), (10.0,), (30.0,), (60.0,)], [(100.0,)] * 2)


SWAP = ((2, 60.0), (3, 30.0))  # what the root has besides grows, what the child has shrinks


def twice() -> World:
    """The child has too much, and the parent room for half of it; the rest goes in a second round."""
    return small(PAIR, (1, 1, 1, 0), (60.0, 10.0, 10.0, 45.0), (1, 1, 1, 0))


def overtaken() -> World:
    """A chain over two nodes; the root gives its end down, and the child, before it has it, offers the beginning up."""
    queries = Queries(((), (0,), (), ()), ((1,), (), (0,), (1,)))
    return world_of(PAIR, queries, (1, 0, 0, 1), [(5.0,), (5.0,), (60.0,), (40.0,)], [(100.0,)] * 2)


LATER = ((3, 60.0), (3, 46.0), (2, 40.0))  # the child has too much for a moment; then the root has room
REFUSED = ((2, 58.0), (2, 45.0))  # the parent has no room for a moment


def rivals() -> World:
    """Two children have too much for a parent with room for one of them."""
    return small(FORK, (1, 1, 2, 2, 0), (60.0, 10.0, 60.0, 10.0, 45.0), (1, 1, 2, 2, 0))


def merging() -> World:
    """An operator that reads both children must stay above them, whatever goes up and down beside it."""
    queries = Queries(((), (), (0, 1), ()), ((1,), (2,), (), (1,)))
    return world_of(FORK, queries, (1, 2, 0, 1), [(10.0,), (45.0,), (10.0,), (60.0,)], [(100.0,)] * 3)


FULLER = ((2, 65.0), (0, 2.0))  # what reads both grows beyond what its node may have, and what it reads shrinks


def weightless() -> World:
    """The child has too much, one thing that weighs nothing, and one that is larger than its parent."""
    return small(PAIR, (1, 1, 1, 0), (115.0, 0.0, 5.0, 45.0), (1, 1, 1, 0))


@pytest.mark.parametrize(
    ("world", "budget"),
    [
        pytest.param(offer(), Budget((0, 1), late=1, lost=1, doubled=1, crashes=1), id="an offer, every accident"),
        pytest.param(offer(), Budget((0, 1), late=2, crashes=2), id="an offer, two crashes"),
        pytest.param(demand(), Budget((1, 0), late=1, lost=1, crashes=1), id="a demand, loss and a crash"),
        pytest.param(demand(), Budget((1, 0), late=2, doubled=1), id="a demand, a double"),
        pytest.param(both(), Budget((1, 1), late=1, lost=1), id="both at once, loss"),
        pytest.param(both(), Budget((1, 1), doubled=1), id="both at once, a double"),
        pytest.param(crossing(), Budget((1, 1), late=1, swings=SWAP), id="operators that must not pass each other"),
        pytest.param(offer(), Budget((0, 1), late=1, doubled=1, swings=REFUSED), id="a refusal is final"),
        pytest.param(twice(), Budget((0, 2), late=1, crashes=1, swings=((3, 30.0),)), id="one round after the other"),
        pytest.param(
            overtaken(),
            Budget((1, 1), late=2, lost=1, swings=LATER),
            id="an offer that is overtaken",
            marks=pytest.mark.slow,
        ),
        pytest.param(between(), Budget((0, 1, 0), late=1, crashes=1), id="up and down at once, a crash"),
        pytest.param(between(), Budget((0, 1, 0), late=1, lost=1), id="up and down at once, loss"),
        pytest.param(rivals(), Budget((0, 1, 1), late=1), id="two who offer to one"),
        pytest.param(
            merging(),
            Budget((1, 1, 0), late=1, swings=FULLER),
            id="two children and one who reads both",
            marks=pytest.mark.slow,
        ),
        pytest.param(weightless(), Budget((0, 1), late=1, lost=1, crashes=1), id="nothing, and more than a node has"),
    ],
)
def test_no_interleaving_loses_or_doubles_an_operator(world: World, budget: Budget) -> None:
    states, moved = explore(world, budget)
    assert states > 100
    assert moved > states // 20, "operators moved, or this would be a test of nothing"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "budget"),
    [
        pytest.param(offer(), Budget((0, 2), late=1, lost=1, doubled=1, crashes=1), id="an offer, every accident"),
        pytest.param(demand(), Budget((1, 0), late=2, lost=1, doubled=1, crashes=1), id="a demand, every accident"),
        pytest.param(both(), Budget((1, 1), late=1, lost=1, crashes=1), id="both at once, loss and a crash"),
        pytest.param(crossing(), Budget((1, 1), late=1, crashes=1, swings=SWAP), id="no passing, a crash"),
    ],
)
def test_nor_does_any_of_many_more(world: World, budget: Budget) -> None:
    states, moved = explore(world, budget)
    assert moved > states // 20
    assert states > 1_000

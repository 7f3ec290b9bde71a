"""The input of a simulated hierarchy: where operators start, and when each grows or shrinks.

Rule 1: a scenario does not depend on what the nodes do, so that two protocols can be compared on the same one.
Rule 2: defaults are those of [Kots14], table 5. Where the text gives none, they are those of docs/explanation/trees.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.hierarchy.queries import Queries
from drover.hierarchy.tree import Tree, balanced
from drover.load.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class TreeScenario:
    """A tree, its operators, and the changes of their sizes in order of time."""

    tree: Tree
    queries: Queries
    node_of: Ints  # (m,) node of each operator at the start
    sizes: Floats  # (m, r) size of each operator at the start, for r resources
    capacity: Floats  # (n, r)
    when: Floats  # (changes,) seconds
    which: Ints  # (changes,) operator
    new: Floats  # (changes, r) size of that operator after the change
    seconds: float  # duration


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeScenarioParameters:
    """Parameters of a random scenario; the defaults are the text's experiment."""

    nodes: int = 15
    fan_out: int = 2
    operators: int = 360
    chain: int = 2  # operators of a query; each reads the one before, and all start on one node
    merging: float = 0.0  # fraction of the queries on inner nodes that read from every child
    size: float = 1.0  # of an operator at the start, in the unit of `capacity`
    capacity: float = 100.0
    begin: float = 2.0  # seconds until the first operator grows
    seconds: float = 960.0  # operators grow in the first half and shrink in the second
    span: float = 16.0  # seconds that one operator grows or shrinks, before the next one does
    step: float = 1.0  # seconds between two changes
    rate: float = 2.0  # mean of the Poisson distribution of a change
    growing: int = 1  # operators that change at the same time

    def __post_init__(self) -> None:
        """Raise ProblemError for a parameter that is not positive."""
        for name in ("operators", "chain", "size", "capacity", "seconds", "span", "step", "growing"):
            if not getattr(self, name) > 0:
                raise ProblemError(f"{name} is {getattr(self, name)}, but must be above 0. Give a larger number.")


TEXT = TreeScenarioParameters()


def draw_scenario(rng: Generator, parameters: TreeScenarioParameters = TEXT) -> TreeScenario:
    """Return a random scenario."""
    tree = balanced(parameters.nodes, parameters.fan_out)
    queries, node_of = _queries(tree, parameters, rng)
    sizes = np.full((parameters.operators, 1), parameters.size)
    when, which, new = _changes(parameters, rng)
    return TreeScenario(
        tree,
        queries,
        node_of,
        sizes,
        np.full((parameters.nodes, 1), parameters.capacity),
        when,
        which,
        new[:, None],
        parameters.seconds,
    )


def _queries(tree: Tree, parameters: TreeScenarioParameters, rng: Generator) -> tuple[Queries, Ints]:
    """Put each chain on a random node. It reads a source that enters at a random leaf below that node."""
    m = parameters.operators
    chain = parameters.chain
    inputs: list[tuple[int, ...]] = []
    entries: list[tuple[int, ...]] = []
    node_of = np.repeat(rng.integers(len(tree), size=-(-m // chain)), chain)[:m]
    for j in range(m):
        if j % chain:
            inputs.append((j - 1,))
            entries.append(())
            continue
        inputs.append(())
        children = tree.children[int(node_of[j])]
        merging = len(children) > 1 and rng.random() < parameters.merging
        tops = children if merging else (int(node_of[j]),)
        entries.append(tuple(_leaf_below(tree, top, rng) for top in tops))
    return Queries(tuple(inputs), tuple(entries)), node_of


def _leaf_below(tree: Tree, node: int, rng: Generator) -> int:
    while tree.children[node]:
        node = tree.children[node][int(rng.integers(len(tree.children[node])))]
    return node


def _changes(parameters: TreeScenarioParameters, rng: Generator) -> tuple[Floats, Ints, Floats]:
    """Return when which operator changes to which size.

    Random operators grow in the first half. In the second half, those that have grown shrink, but not below the
    size they started with.
    """
    sizes = np.full(parameters.operators, parameters.size)
    when = list[float]()
    which = list[int]()
    new = list[float]()
    steps = round(parameters.span / parameters.step)
    for start in np.arange(parameters.begin, parameters.seconds, parameters.span):
        shrinks = start >= parameters.seconds / 2
        free = np.flatnonzero(sizes > parameters.size) if shrinks else np.arange(parameters.operators)
        chosen = rng.permutation(free)[: parameters.growing]
        amounts = rng.poisson(parameters.rate, size=(steps, len(chosen)))
        for step in range(steps):
            at = start + step * parameters.step
            if at >= (parameters.seconds if shrinks else parameters.seconds / 2):
                break
            sizes[chosen] += -amounts[step] if shrinks else amounts[step]
            sizes[chosen] = np.maximum(sizes[chosen], parameters.size)
            when += [at] * len(chosen)
            which += chosen.tolist()
            new += sizes[chosen].tolist()
    return np.array(when), np.array(which, dtype=np.int64), np.array(new)

"""What happens to a hierarchy from outside: who runs what at the beginning, and which operators grow and shrink when.

Rule 1: a scene does not depend on what the nodes do about it, so that two ways of doing can be compared.
Rule 2: defaults are those of [Kots14], table 5, and, where the text says nothing, of docs/hierarchy.md.
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
class Scene:
    """A tree, its operators, and changes of their sizes, in order of time."""

    tree: Tree
    queries: Queries
    node_of: Ints  # (m,) at the beginning
    sizes: Floats  # (m, r) at the beginning, of r resources
    capacity: Floats  # (n, r)
    when: Floats  # (changes,) seconds
    which: Ints  # (changes,) operator
    new: Floats  # (changes, r) its size from then on
    seconds: float  # how long it lasts


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneParameters:
    """The text's experiment."""

    nodes: int = 15
    fan_out: int = 2
    operators: int = 360
    chain: int = 2  # operators of a query, one reading the other, on one node at the beginning
    merging: float = 0.0  # share of queries on inner nodes that read from every child
    size: float = 1.0  # of an operator at the beginning, in the unit of `capacity`
    capacity: float = 100.0
    begin: float = 2.0  # seconds until the first operator grows
    seconds: float = 960.0  # growing for half of it, then shrinking
    span: float = 16.0  # seconds in which an operator grows or shrinks, before another does
    step: float = 1.0  # seconds between two changes
    rate: float = 2.0  # mean of the Poisson distribution that changes are drawn from
    growing: int = 1  # operators that grow or shrink at the same time

    def __post_init__(self) -> None:
        """Refuse what cannot be played."""
        for name in ("operators", "chain", "size", "capacity", "seconds", "span", "step", "growing"):
            if not getattr(self, name) > 0:
                raise ProblemError(f"{name} is {getattr(self, name)}, but must be above 0. Give a larger number.")


TEXT = SceneParameters()


def scene(rng: Generator, parameters: SceneParameters = TEXT) -> Scene:
    """Draw a scene."""
    tree = balanced(parameters.nodes, parameters.fan_out)
    queries, node_of = _queries(tree, parameters, rng)
    sizes = np.full((parameters.operators, 1), parameters.size)
    when, which, new = _changes(parameters, rng)
    return Scene(
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


def _queries(tree: Tree, parameters: SceneParameters, rng: Generator) -> tuple[Queries, Ints]:
    """Put chains on nodes drawn evenly; each reads a source that enters at a drawn leaf below its node."""
    m, chain = parameters.operators, parameters.chain
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


def _changes(parameters: SceneParameters, rng: Generator) -> tuple[Floats, Ints, Floats]:
    """Let drawn operators grow for half the time, and those that have grown shrink, never below their first size."""
    sizes = np.full(parameters.operators, parameters.size)
    when, which, new = list[float](), list[int](), list[float]()
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

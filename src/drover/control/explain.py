"""Why a unit is where it is: what was decided about it, and what it would be like elsewhere.

Rule 1: the words are made of records and measured loads alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.control.critical import critical
from drover.control.record import Kind, Record
from drover.control.settings import Control
from drover.control.state import State
from drover.control.tree import Hierarchy
from drover.control.view import View, World, look
from drover.errors import DroverError, nearest
from drover.placement.problem import NOWHERE

UNTOUCHED: Final = "no decision was made about it: it is where the first plan put it"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a unit is, what it costs, what was decided about it, and how every node would be for it."""

    unit: str
    node: int
    load: float  # busy seconds per second
    state_bytes: float
    decisions: tuple[str, ...]  # newest first
    elsewhere: tuple[float, ...]  # load of the slowest node, if the unit were on node i and all else as it is
    text: str


def explain(unit: str, state: State, world: World, settings: Control, records: Sequence[Record]) -> Explanation:
    """Return why a unit is on its node; DroverError if there is no such unit."""
    places_now = world.plan.places
    if unit not in places_now:
        known = list(places_now)
        raise DroverError(f"there is no unit {unit!r}. {nearest(unit, known)}Units: {', '.join(known)}.")
    node = places_now[unit]
    said = _decisions(unit, records)
    if not state.window.periods:
        return Explanation(unit, node, 0.0, 0.0, said, (), f"{unit} is on node {node}. Nothing was measured yet.")
    view = look(state, world, settings)
    problem = view.problem
    j = problem.units.index(unit)
    if world.hierarchy is not None:
        text = f"{_on_a_tree(unit, view, world, world.hierarchy)} Last: {said[0] if said else UNTOUCHED}."
        return Explanation(unit, node, float(problem.load[j]), float(problem.state[j]), said, (), text)
    paths = []
    places = np.where(problem.current == NOWHERE, 0, problem.current)
    for i in range(problem.n):
        places[j] = i
        paths.append(float(critical(problem.series, places, problem.capacity).mean()))
    best = int(np.argmin(np.where(problem.reachable()[j], paths, np.inf)))
    if problem.pinned[j] != NOWHERE:
        where = f"It is pinned to node {problem.pinned[j]}."
    elif paths[best] >= paths[node] * (1 - 1e-9):
        where = f"No other node would do better: the slowest node is loaded to {paths[node]:.2f} of its capacity."
    else:
        where = (
            f"On node {best} the slowest node would be loaded to {paths[best]:.2f} instead of {paths[node]:.2f}; "
            f"a move needs {settings.least_gain:.0%} to be worth it."
        )
    why = said[0] if said else UNTOUCHED
    text = f"{unit} is on node {node} and takes {problem.load[j]:.3g} busy seconds per second. Last: {why}. {where}"
    return Explanation(unit, node, float(problem.load[j]), float(problem.state[j]), said, tuple(paths), text)


def _on_a_tree(unit: str, view: View, world: World, tree: Hierarchy) -> str:
    """Return where a unit is, what it takes there, and where else it could be."""
    cluster, node_of = tree.cluster, world.plan.node_of
    size = tree.levels(
        node_of,
        [each if unit == name else (0.0,) * len(each) for name, each in zip(tree.units, view.sizes, strict=True)],
    )
    levels, node = tree.levels(node_of, view.sizes), node_of[unit]
    others = [i for i in tree.nodes_for(unit, node_of) if i != node]
    could = ", ".join(f"{cluster.called(i)}, at {levels[i]:.0%}" for i in others)
    where = f"could also be on {could}" if others else "can be nowhere else"
    return (
        f"{unit} is on {cluster.called(node)} and takes {size[node]:.1%} of its {' or '.join(cluster.resources)}; the "
        f"node is at {levels[node]:.0%}, and its marks are {cluster.thresholds.lower:.0%} and "
        f"{cluster.thresholds.upper:.0%}. With all else where it is, the unit {where}."
    )


def _decisions(unit: str, records: Sequence[Record]) -> tuple[str, ...]:
    """Return, newest first, what was decided about a unit, each reason once in a row."""
    found: list[str] = []
    for record in reversed(records):
        made = record.proposal
        about = [] if made is None else [
            *(move for move in made.moves if move.unit == unit),
            *(shape for shape in made.shapes if shape.join == unit),
        ]  # fmt: skip
        why = record.reason if made is None else dict(made.reasons).get(unit, record.reason)
        done = "moved" if record.kind is Kind.MOVED else str(record.kind)
        found += [f"in period {record.period} {done} ({change}), {why}" for change in about]
        found += [
            f"in period {record.period} it stayed, {refusal.reason}"
            for refusal in record.refusals
            if refusal.move.unit == unit
        ]
    return tuple(found)

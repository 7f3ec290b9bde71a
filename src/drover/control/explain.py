"""Why a unit is where it is: what was decided about it, and how loaded the nodes would be with it elsewhere.

Rule 1: an explanation is made of records and measured loads alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from drover.control.context import ControlContext
from drover.control.critical import critical_path
from drover.control.engine_choice import EngineInUse
from drover.control.health import RunHealth
from drover.control.plan_seconds import plan_timer
from drover.control.record import PeriodOutcome, PeriodRecord
from drover.control.super_operators import fused_units
from drover.control.tree import Hierarchy
from drover.control.view import View, view_of
from drover.errors import DroverError, nearest
from drover.flow.parking import ParkedOperator, describe_parked
from drover.placement.problem import NOWHERE, PlacementProblem
from drover.wording import named

UNTOUCHED: Final = "no decision was made about it: it is where the first plan put it"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a unit is, what it costs, what was decided about it, and what each node would mean for it."""

    unit: str
    node: int
    load: float  # busy seconds per second
    state_bytes: float
    decisions: tuple[str, ...]  # newest first
    elsewhere: tuple[float, ...]  # load of the slowest node if the unit were on node i and nothing else moved
    text: str


def in_run(found: Explanation, health: str, parked: ParkedOperator | None, engine: EngineInUse | None) -> Explanation:
    """Return an explanation that also says whether the run keeps up, whether the unit is parked, and the engine."""
    known = health and not health.startswith(RunHealth.UNKNOWN)
    first = [f"The run is {health}."] if known else []
    first += [] if parked is None else [describe_parked(found.unit, parked)]
    last = [] if engine is None else [f"Batches run on {engine}."]
    return replace(found, text=" ".join([*first, found.text, *last]))


def explain(unit: str, context: ControlContext, records: Sequence[PeriodRecord]) -> Explanation:
    """Return why a unit is on its node; DroverError if there is no such unit."""
    deployment = context.deployment
    places = deployment.plan.places
    if unit not in places:
        known = list(places)
        raise DroverError(f"there is no unit {unit!r}. {nearest(unit, known)}Units: {', '.join(known)}.")
    node = places[unit]
    decisions = _decisions(unit, records)
    if not context.state.window.periods:
        return Explanation(unit, node, 0.0, 0.0, decisions, (), f"{unit} is on node {node}. Nothing was measured yet.")
    view = view_of(context)
    problem = view.problem
    j = problem.units.index(unit)
    load = float(problem.load[j])
    size = float(problem.state[j])
    why = decisions[0] if decisions else UNTOUCHED
    if deployment.hierarchy is not None:
        text = f"{_describe_on_tree(unit, context, view, deployment.hierarchy)} Last: {why}."
        return Explanation(unit, node, load, size, decisions, (), text)
    paths = _paths_elsewhere(problem, j)
    where = _compare_nodes(problem, j, node, paths, context.settings.least_gain)
    text = f"{unit} is on node {node} and takes {load:.3g} busy seconds per second. "
    text += f"{_moves_with(context, problem, j)}Last: {why}. {where}"
    text += _compare_seconds(context, view, j, node)
    return Explanation(unit, node, load, size, decisions, tuple(paths), text)


def _moves_with(context: ControlContext, problem: PlacementProblem, j: int) -> str:
    """Return in words which tiny units move together with unit j; nothing if it moves by itself."""
    owner = fused_units(context, problem).owner
    others = [problem.units[q] for q in np.flatnonzero(owner == owner[j]) if q != j]
    return f"It moves as one with {named(others)}, which take as little. " if others else ""


def _paths_elsewhere(problem: PlacementProblem, j: int) -> list[float]:
    """Return the mean load of the slowest node, (n,), with unit j on node i and all other units where they are."""
    paths = []
    # Sums need some node for every unit. The loop places units without a node within a period.
    places = np.where(problem.current == NOWHERE, 0, problem.current)
    for i in range(problem.n):
        places[j] = i
        paths.append(float(critical_path(problem.series, places, problem.capacity).mean()))
    return paths


def _compare_nodes(problem: PlacementProblem, j: int, node: int, paths: Sequence[float], least_gain: float) -> str:
    """Return in words which node would be best for unit j."""
    best = int(np.argmin(np.where(problem.reachable()[j], paths, np.inf)))
    if problem.pinned[j] != NOWHERE:
        return f"It is pinned to node {problem.pinned[j]}."
    # Rounding alone must not make another node look better.
    if paths[best] >= paths[node] * (1 - 1e-9):
        return f"No other node would do better: the slowest node is loaded to {paths[node]:.2f} of its capacity."
    return (
        f"On node {best} the slowest node would be loaded to {paths[best]:.2f} instead of {paths[node]:.2f}; "
        f"a move needs {least_gain:.0%} to be worth it."
    )


def _compare_seconds(context: ControlContext, view: View, j: int, node: int) -> str:
    """Return how long a batch would take with unit j on the best other node, with the cost of streams that it cuts."""
    timer = plan_timer(context, view)
    problem = view.problem
    others = [int(i) for i in np.flatnonzero(problem.reachable()[j]) if i != node]
    if timer is None or not others or (problem.current == NOWHERE).any():
        return ""

    def seconds(i: int) -> float:
        places = problem.current.copy()
        places[j] = i
        return timer.one_trigger(places)

    best = min(others, key=seconds)
    cuts = timer.schedule_of(problem.current).hops
    return f" A batch takes {seconds(node):.2g} s in {cuts} hops; with the unit on node {best}, {seconds(best):.2g} s."


def _describe_on_tree(unit: str, context: ControlContext, view: View, tree: Hierarchy) -> str:
    """Return where a unit is, what it takes there, and where else it could be."""
    cluster = tree.cluster
    node_of = context.deployment.plan.node_of
    size = tree.levels(
        node_of,
        [each if unit == name else (0.0,) * len(each) for name, each in zip(tree.units, view.sizes, strict=True)],
    )
    levels = tree.levels(node_of, view.sizes)
    node = node_of[unit]
    others = [i for i in tree.nodes_for(unit, node_of) if i != node]
    could = ", ".join(f"{cluster.label(i)}, at {levels[i]:.0%}" for i in others)
    where = f"could also be on {could}" if others else "can be nowhere else"
    return (
        f"{unit} is on {cluster.label(node)} and takes {size[node]:.1%} of its {' or '.join(cluster.resources)}; the "
        f"node is at {levels[node]:.0%}, and its marks are {cluster.thresholds.lower:.0%} and "
        f"{cluster.thresholds.upper:.0%}. If nothing else moves, the unit {where}."
    )


def _decisions(unit: str, records: Sequence[PeriodRecord]) -> tuple[str, ...]:
    """Return what was decided about a unit, newest first."""
    found: list[str] = []
    for record in reversed(records):
        made = record.proposal
        about = (
            []
            if made is None
            else [
                *(move for move in made.moves if move.unit == unit),
                # New weights of a join concern all its instances.
                *(
                    shape
                    for shape in made.shapes
                    if shape.join in (unit, unit.partition("[")[0] * shape.is_reweighting)
                ),
            ]
        )
        why = record.reason if made is None else dict(made.reasons).get(unit, record.reason)
        done = "moved" if record.kind is PeriodOutcome.MOVED else str(record.kind)
        found += [f"in period {record.period} {done} ({change}), {why}" for change in about]
        found += [
            f"in period {record.period} it stayed, {refusal.reason}"
            for refusal in record.refusals
            if refusal.move.unit == unit
        ]
    return tuple(found)

"""Everything that a report tells, worked out from what a checkpoint has.

Rule 1: no markup here, and no files. Rule 2: a part that cannot be worked out is None, and `missing` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from drover.control.settings import Control
from drover.control.view import View, World, capacities, look
from drover.errors import DroverError
from drover.load.headroom import Headroom, headroom
from drover.network.model import Network
from drover.placement.model import unit_names
from drover.placement.plan import Plan
from drover.web.report.decisions import Change, Group, changes_of, groups_of, last_words
from drover.web.report.herds import Herds, herds_of
from drover.web.report.read import Material
from drover.web.report.timeline import Timeline, timeline_of


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit, where it is and what it does there."""

    name: str
    node: int
    load: float  # busy seconds per second; not a number if nothing was measured
    share: float  # of the capacity of its node
    state_bytes: float
    word: str  # the last decision about it, or nothing


@dataclass(frozen=True, slots=True)
class Story:
    """What is told."""

    material: Material
    timeline: Timeline
    changes: tuple[Change, ...]
    groups: tuple[Group, ...]
    units: tuple[Unit, ...]  # the busiest first
    room: Headroom | None
    rates: Mapping[str, float]  # rows per second, by source
    missing: tuple[str, ...]
    herds: Herds | None = None  # None without submitted queries


def story_of(material: Material) -> Story:
    """Return what a report tells of a checkpoint."""
    missing = list(material.missing)
    settings = material.settings or Control()
    if material.settings is None and material.plan is not None:
        missing.append("capacities: every node counts as 1 busy second per second")
    view = None
    if material.network is not None and material.plan is not None:
        view = _view(material, material.network, material.plan, settings, missing)
    herds = None if material.queries is None else herds_of(material.queries, material.network, material.figures)
    missing += [] if herds is None else herds.missing
    return Story(
        material,
        timeline_of(material.records),
        changes_of(material.records, material.plan),
        groups_of(material.records),
        _units(material, settings, view),
        None if view is None else _room(material, view, settings, missing),
        {} if view is None else view.profile.rates,
        tuple(missing),
        herds,
    )


def _view(material: Material, network: Network, plan: Plan, settings: Control, missing: list[str]) -> View | None:
    state = material.saved.state
    if not state.window.periods:
        missing.append("loads and headroom: nothing was measured yet")
        return None
    try:
        return look(state, World(network, plan), settings)
    except DroverError as error:
        missing.append(f"loads and headroom: {error}")
        return None


def _room(material: Material, view: View, settings: Control, missing: list[str]) -> Headroom | None:
    plan, network = material.plan, view.profile.network
    if plan is None:
        return None
    try:
        return headroom(view.profile, unit_names(network), plan.node_of, capacities(plan.nodes, settings))
    except DroverError as error:
        missing.append(f"headroom: {error}")
        return None


def _units(material: Material, settings: Control, view: View | None) -> tuple[Unit, ...]:
    """Return the units of the plan; without a network, what was measured of operators of the same name."""
    plan = material.plan
    if plan is None:
        return ()
    loads, states = _seen(material, settings) if view is None else _modelled(view)
    capacity, words = capacities(plan.nodes, settings), last_words(material.records)
    found = [
        Unit(
            name, node, loads.get(name, np.nan), loads.get(name, np.nan) / float(capacity[node]),
            states.get(name, np.nan), words.get(name, ""),
        )
        for name, node in plan.places.items()
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda unit: (-np.nan_to_num(unit.load), unit.name)))


def _modelled(view: View) -> tuple[dict[str, float], dict[str, float]]:
    problem = view.problem
    return (
        dict(zip(problem.units, map(float, problem.load), strict=True)),
        dict(zip(problem.units, map(float, problem.state), strict=True)),
    )


def _seen(material: Material, settings: Control) -> tuple[dict[str, float], dict[str, float]]:
    periods = material.saved.state.window.periods[-settings.window :]
    seconds = sum(period.seconds for period in periods)
    busy: dict[str, float] = {}
    states: dict[str, float] = {}
    for period in periods:
        for name, sample in period.samples.items():
            busy[name] = busy.get(name, 0.0) + sample.busy / seconds
            states[name] = float(sample.state_bytes)
    for first in [name for name in busy if name.endswith("[0]")]:  # of a spread join, which itself has the sum of all
        for found in (busy, states):
            found[first.removesuffix("[0]")] = found.pop(first)
    return busy, states

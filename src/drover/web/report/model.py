"""Everything that a report shows, computed from what a checkpoint holds.

Rule 1: no markup here, and no files. Rule 2: a part that cannot be computed is None, and `missing` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from drover.control.capacity import capacities
from drover.control.context import ControlContext, Deployment
from drover.control.settings import Control
from drover.control.view import View, view_of
from drover.errors import DroverError
from drover.load.headroom import Headroom, headroom
from drover.network.model import Network
from drover.placement.model import unit_names
from drover.placement.plan import Plan
from drover.web.report.decisions import PlanChange, RefusalGroup, last_decisions, plan_changes, refusal_groups
from drover.web.report.queries import QueryOverview, query_overview
from drover.web.report.read import RunFiles
from drover.web.report.timeline import PeriodSeries, period_series


@dataclass(frozen=True, slots=True)
class PlacedUnit:
    """A unit, its node and its load."""

    name: str
    node: int
    load: float  # busy seconds per second; NaN if nothing was measured
    share: float  # of the capacity of its node
    state_bytes: float
    last_decision: str  # empty if there was none


@dataclass(frozen=True, slots=True)
class ReportModel:
    """What a report shows."""

    files: RunFiles
    timeline: PeriodSeries
    changes: tuple[PlanChange, ...]  # oldest first
    refusals: tuple[RefusalGroup, ...]  # most recent first
    units: tuple[PlacedUnit, ...]  # busiest first
    headroom: Headroom | None
    rates: Mapping[str, float]  # rows per second, by source
    missing: tuple[str, ...]
    queries: QueryOverview | None = None  # None if no query was ever submitted


def build_report(files: RunFiles) -> ReportModel:
    """Return what a report on a checkpoint shows."""
    missing = list(files.missing)
    settings = files.settings or Control()
    if files.settings is None and files.plan is not None:
        missing.append("capacities: the report assumes 1 busy second per second for every node")
    view = None
    if files.network is not None and files.plan is not None:
        view = _view(files, files.network, files.plan, settings, missing)
    queries = None
    if files.queries is not None:
        queries = query_overview(files.queries, files.network, files.query_metrics)
        missing += queries.missing
    return ReportModel(
        files=files,
        timeline=period_series(files.records),
        changes=plan_changes(files.records, files.plan),
        refusals=refusal_groups(files.records),
        units=_units(files, settings, view),
        headroom=None if view is None else _headroom(files, view, settings, missing),
        rates={} if view is None else view.profile.rates,
        missing=tuple(missing),
        queries=queries,
    )


def _view(files: RunFiles, network: Network, plan: Plan, settings: Control, missing: list[str]) -> View | None:
    state = files.saved.state
    if not state.window.periods:
        missing.append("loads and headroom: nothing has been measured yet")
        return None
    try:
        return view_of(ControlContext(state, Deployment(network, plan), settings))
    except DroverError as error:
        missing.append(f"loads and headroom: {error}")
        return None


def _headroom(files: RunFiles, view: View, settings: Control, missing: list[str]) -> Headroom | None:
    plan = files.plan
    if plan is None:
        return None
    units = unit_names(view.profile.network)
    try:
        return headroom(view.profile, units, plan.node_of, capacities(plan.nodes, settings, files.saved.state))
    except DroverError as error:
        missing.append(f"headroom: {error}")
        return None


def _units(files: RunFiles, settings: Control, view: View | None) -> tuple[PlacedUnit, ...]:
    """Return the units of the plan with modelled loads or, without a network, measured ones."""
    plan = files.plan
    if plan is None:
        return ()
    loads, states = _measured(files, settings) if view is None else _modelled(view)
    capacity = capacities(plan.nodes, settings, files.saved.state)
    decisions = last_decisions(files.records)
    found = []
    for name, node in plan.places.items():
        load = loads.get(name, np.nan)
        share = load / float(capacity[node])
        found.append(PlacedUnit(name, node, load, share, states.get(name, np.nan), decisions.get(name, "")))
    return tuple(sorted(found, key=lambda unit: (-np.nan_to_num(unit.load), unit.name)))


def _modelled(view: View) -> tuple[dict[str, float], dict[str, float]]:
    problem = view.problem
    loads = dict(zip(problem.units, map(float, problem.load), strict=True))
    states = dict(zip(problem.units, map(float, problem.state), strict=True))
    return loads, states


def _measured(files: RunFiles, settings: Control) -> tuple[dict[str, float], dict[str, float]]:
    periods = files.saved.state.window.periods[-settings.window :]
    seconds = sum(period.seconds for period in periods)
    loads: dict[str, float] = {}
    states: dict[str, float] = {}
    for period in periods:
        for name, sample in period.samples.items():
            loads[name] = loads.get(name, 0.0) + sample.busy / seconds
            states[name] = float(sample.state_bytes)
    # Samples give the total of a spread join under its name; a plan gives that name to its first instance.
    for first in [name for name in loads if name.endswith("[0]")]:
        for found in (loads, states):
            found[first.removesuffix("[0]")] = found.pop(first)
    return loads, states

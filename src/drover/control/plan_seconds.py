"""How long a batch takes under a plan: hop by hop, with what its cuts cost.

Rule 1: a plan is compared with the current one, by the same model. So whatever the model gets wrong of both does not
matter. Rule 2: operators of one path work side by side within a batch only if they are streamed, on resident nodes.
Otherwise, cutting a chain adds a hop, and no speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from drover.control.capacity import recent_periods, row_rate
from drover.control.context import ControlContext, Deployment
from drover.control.engine_choice import EngineChoice
from drover.control.view import View
from drover.flow.instances import whole_name
from drover.flow.parking import Parking
from drover.flow.pipelining import best_pieces, streamed_operators
from drover.flow.schedule import HopNode, Schedule, make_schedule
from drover.load.arrays import Floats, Ints
from drover.load.batch_capacity import UsualBatches, usual_batches
from drover.load.batch_model import BatchWork, NodeTime, PredictedSeconds, hop_seconds, work_seconds
from drover.load.links import row_bytes
from drover.load.window import waiting_shares
from drover.placement.problem import NOWHERE


@dataclass(frozen=True, slots=True, eq=False)
class PlanTimer:
    """Predicts the seconds of a batch under plans of one network, at the loads of one view."""

    deployment: Deployment
    units: tuple[str, ...]  # m
    usual: UsualBatches
    rate: float  # rows per second of all sources
    loads: Mapping[str, float]  # busy seconds per second, by operator and by instance of a spread join
    rows: Mapping[str, float]  # per second, by stream
    sizes: Mapping[str, float]  # bytes per second, by stream
    work: float = 1.0  # seconds of nodes that are predicted for a batch of the current plan
    copies: float = 1.0  # rows per second that the router sends under the current plan
    waiting: Mapping[str, float] = field(default_factory=dict)  # share of a load that needs no core, by operator

    @property
    def span(self) -> float:
        """Seconds of rows that a batch has, if it is in time."""
        return self.usual.trigger or 1.0

    def seconds(self, places: Ints) -> PredictedSeconds:
        """Return the seconds of a batch under a plan, (m,), once their length is steady."""
        return self.usual.steady_seconds(self._per_row(places), self.rate)

    def one_trigger(self, places: Ints) -> float:
        """Return the seconds that the rows of one trigger take under a plan, (m,); finite at any load."""
        return self.usual.model.phases(self._per_row(places).times(self.rate * self.span)).whole

    def schedule_of(self, places: Ints) -> Schedule:
        """Return the hops of a plan, (m,)."""
        plan = self.deployment.plan
        known = {unit: int(node) for unit, node in zip(self.units, places, strict=True) if node != NOWHERE}
        return make_schedule(self.deployment.network, plan.placed({**plan.places, **known}))

    def _per_row(self, places: Ints) -> BatchWork:
        """Return the work per row read under a plan, (m,): measured, times what the plan changes of it."""
        schedule = self.schedule_of(places)
        known = self.usual.per_row
        work = known.work * self.work_of(schedule) / self.work
        routed = known.routed_bytes * self.copies_of(schedule) / self.copies
        return replace(known, work=work, hops=float(schedule.hops), routed_bytes=routed)

    def work_of(self, schedule: Schedule) -> float:
        """Return the seconds of nodes in a batch."""
        whole = NodeTime(self.busy(schedule), self.waited(schedule))
        if self.usual.newest.engine != EngineChoice.RESIDENT:
            return hop_seconds(whole, self.usual.cores) or 1.0
        loads = {name: self.loads[name] for name in streamed_operators(schedule, Parking())}
        pieces = best_pieces(schedule, frozenset(loads), {name: self.span * load for name, load in loads.items()})
        streamed = NodeTime(self._summed(schedule, loads), self._summed(schedule, self._without_core(loads)))
        return work_seconds(whole, streamed, self.usual.cores, pieces) or 1.0

    def copies_of(self, schedule: Schedule) -> float:
        """Return the rows per second that the router sends to nodes."""
        sources = (stream for stream in schedule.routes if stream not in schedule.made_at)
        return sum(self.rows[stream] * len(schedule.routes[stream]) for stream in sources) or 1.0

    def busy(self, schedule: Schedule) -> Floats:
        """Return, (hops, n), the busy seconds of nodes in a batch, with the cost of cuts."""
        found = self._summed(schedule, self.loads)
        start = self.usual.model.cut_price(1.0, 0.0, 0.0)
        for place in schedule.runs:
            found[place] += start
        for stream, place in _ends(schedule):
            found[place] += self.usual.model.cut_price(0.0, 1.0, self.span * self.sizes[stream])
        return found

    def waited(self, schedule: Schedule) -> Floats:
        """Return, (hops, n), the busy seconds of nodes in a batch that need no core."""
        return self._summed(schedule, self._without_core(self.loads))

    def _summed(self, schedule: Schedule, loads: Mapping[str, float]) -> Floats:
        """Return, (hops, n), the sums of some loads for a batch, by the place where they run."""
        found = np.zeros((schedule.hops, schedule.nodes))
        for place, operators in schedule.runs.items():
            names = (one.name if one.name in self.loads else whole_name(one) for one in operators)
            found[place] += self.span * sum(loads.get(name, 0.0) for name in names)
        return found

    def _without_core(self, loads: Mapping[str, float]) -> dict[str, float]:
        """Return the part of some loads that needs no core."""
        return {name: load * self.waiting.get(name, 0.0) for name, load in loads.items()}


def plan_timer(context: ControlContext, view: View) -> PlanTimer | None:
    """Return what predicts the seconds of a batch; None without a model, cores or rows, and on a tree of nodes."""
    usual = usual_batches(context.state.batches)
    rate = row_rate(recent_periods(context.settings, context.state))
    # With a capacity that was asked for, plans are compared by busy seconds alone.
    if usual is None or not usual.newest.cores or not context.settings.models_capacity:
        return None
    if rate <= 0 or context.deployment.hierarchy is not None:
        return None
    profile = view.profile
    problem = view.problem
    loads = {name: float(load) for name, load in profile.loads().items()}
    loads |= dict(zip(problem.units, map(float, problem.load), strict=True))
    rows = {name: float(each) for name, each in profile.stream_rates().items()}
    sizes = {name: each * row_bytes(profile.network.streams[name]) for name, each in rows.items()}
    waiting = waiting_shares(recent_periods(context.settings, context.state))
    timer = PlanTimer(context.deployment, problem.units, usual, rate, loads, rows, sizes, waiting=waiting)
    now = timer.schedule_of(problem.current)
    return replace(timer, work=timer.work_of(now), copies=timer.copies_of(now))


def _ends(schedule: Schedule) -> list[tuple[str, HopNode]]:
    """Return every place that packs or unpacks a stream, once for each transfer."""
    found = []
    for stream, targets in schedule.routes.items():
        makers = schedule.made_at.get(stream, ())
        for target in targets:
            found += [(stream, place) for place in (target, *makers)]
    for stream, rules in schedule.distributions.items():
        makers = schedule.made_at.get(stream, ())
        found += [(stream, place) for rule in rules for target in rule.places for place in (target, *makers)]
    return found

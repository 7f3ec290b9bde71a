"""Headroom by the model of a batch: how far rates can grow until a batch takes as long as its trigger.

Rule 1: loads grow as the network says, so joins grow with the product of their rates. Rule 2: without a trigger, the
limit is where each second brings a second of work. Rule 3: every limit has an interval, and says what gives out first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from drover.control.context import ControlContext
from drover.control.health import PHASES
from drover.control.outcome import places_of
from drover.control.plan_seconds import PlanTimer, plan_timer
from drover.control.view import View, view_of
from drover.flow.schedule import Schedule
from drover.load.arrays import Ints
from drover.load.batch_model import BatchWork, Phases
from drover.placement.plan import instance_name

LARGEST: Final = 2.0**20  # a factor above which nothing limits the rates
STEPS: Final = 40  # of a bisection


@dataclass(frozen=True, slots=True)
class BatchGrowth:
    """How far rates can grow: a factor with its interval, infinite if nothing limits them, and what gives out."""

    factor: float
    low: float
    high: float
    first: str = ""
    then: str = ""

    def __str__(self) -> str:
        if math.isinf(self.factor):
            return "nothing limits these rates"
        most = "" if math.isinf(self.high) else f" to {self.high:.2g}"
        second = f", then {self.then}" if self.then else ""
        return f"{self.factor:.3g} times ({self.low:.2g}{most}) of these rates; first {self.first} gives out{second}"


@dataclass(frozen=True, slots=True)
class BatchHeadroom:
    """The headroom of a run: of all rates together, of each source alone, and with the plan that is proposed."""

    trigger: float | None
    seconds: float  # of a batch at present, by the model
    all: BatchGrowth
    sources: Mapping[str, BatchGrowth]
    proposed: BatchGrowth | None = None

    @property
    def text(self) -> str:
        """The first line."""
        until = "batches grow without end" if self.trigger is None else "a batch takes as long as the trigger"
        return str(self.all) if math.isinf(self.all.factor) else f"{until} at {self.all}"


def batch_headroom(context: ControlContext) -> BatchHeadroom | None:
    """Return the headroom of a run by the model of its batches; None without a model."""
    if not context.state.window.periods:
        return None
    view = view_of(context)
    timer = plan_timer(context, view)
    if timer is None:
        return None
    now = view.problem.current
    rates = view.profile.rates
    together = _growth(timer, view, now, partial(_grown, rates, tuple(rates)))
    alone = {source: _growth(timer, view, now, partial(_grown, rates, (source,))) for source in rates}
    wanted = context.state.waiting or context.state.trial
    after = None
    if wanted is not None and not wanted.shapes:
        after = _growth(timer, view, places_of(view, wanted), partial(_grown, rates, tuple(rates)))
    return BatchHeadroom(timer.usual.trigger, timer.one_trigger(now), together, alone, after)


def _grown(rates: Mapping[str, float], sources: Collection[str], factor: float) -> dict[str, float]:
    """Return the factor of every source if some of them grow."""
    return {source: factor if source in sources else 1.0 for source in rates}


def _growth(timer: PlanTimer, view: View, places: Ints, factors: Callable[[float], Mapping[str, float]]) -> BatchGrowth:
    """Return how far rates can grow along `factors`, under a plan, (m,)."""
    schedule = timer.schedule_of(places)
    room = _room(timer, schedule)

    def fits(end: str, factor: float) -> bool:
        seconds = timer.usual.model.seconds(_work(timer, view, schedule, factors(factor))[0])
        return bool(getattr(seconds, end) <= room)

    # The longest estimate of a batch gives the smallest factor.
    found, low, high = (_bisect(partial(fits, end)) for end in ("mean", "high", "low"))
    if math.isinf(found):
        return BatchGrowth(found, low, high)
    first, then = _givers(timer, view, schedule, factors(found))
    return BatchGrowth(found, low, high, first, then)


def _room(timer: PlanTimer, schedule: Schedule) -> float:
    """Return the seconds that a batch may take: the trigger, or a second of rows and the fixed cost."""
    if timer.usual.trigger is not None:
        return timer.usual.trigger
    return 1.0 + timer.usual.model.phases(BatchWork(hops=float(schedule.hops))).whole


def _work(
    timer: PlanTimer, view: View, schedule: Schedule, factors: Mapping[str, float]
) -> tuple[BatchWork, PlanTimer]:
    """Return the work of a batch in time, if each source is faster by a factor, and the timer for these rates."""
    rates = {source: rate * factors[source] for source, rate in view.profile.rates.items()}
    before = view.profile.loads()
    loads = view.profile.loads(rates)
    grown = {name: float(loads[name]) / float(before[name]) if before[name] else 1.0 for name in loads}
    rows = {name: float(each) for name, each in view.profile.stream_rates(rates).items()}
    sizes = {
        name: timer.sizes[name] * each / timer.rows[name] if timer.rows[name] else 0.0 for name, each in rows.items()
    }
    joins = {
        instance_name(join, number): join
        for join, made in timer.deployment.plan.instances.items()
        for number in range(1 + len(made.others))
    }
    loads_then = {name: load * grown.get(joins.get(name, name), 1.0) for name, load in timer.loads.items()}
    faster = replace(timer, loads=loads_then, rows=rows, sizes=sizes)
    more = sum(rates.values()) / (sum(view.profile.rates.values()) or 1.0)
    usual = timer.usual.per_row.times(timer.rate * timer.span)
    work = replace(
        usual.times(more),
        hops=float(schedule.hops),
        work=usual.work * faster.work_of(schedule) / timer.work,
        routed_bytes=usual.routed_bytes * faster.copies_of(schedule) / timer.copies,
    )
    return work, faster


def _givers(timer: PlanTimer, view: View, schedule: Schedule, factors: Mapping[str, float]) -> tuple[str, str]:
    """Return what takes most of a batch at these rates, and what comes next."""
    work, faster = _work(timer, view, schedule, factors)
    phases: Phases = timer.usual.model.phases(work)
    busy = faster.busy(schedule)
    shared = float((busy - faster.waited(schedule)).sum()) / timer.usual.cores
    node = int(np.argmax(busy.sum(axis=0)))
    cores = f"the processor ({schedule.nodes} nodes share {timer.usual.cores:g} cores)"
    nodes = cores if shared >= float(busy.max(axis=1).sum()) else f"node {node} (its core)"
    named = {name: float(getattr(phases, name)) for name in ("reading", "sinks", "commit", "fixed")}
    ranked = sorted(named, key=lambda name: -named[name])
    others = [PHASES[name] for name in ranked if named[name] > 0]
    if phases.nodes >= named[ranked[0]]:
        return nodes, others[0] if others else ""
    return others[0], nodes if phases.nodes >= named[ranked[1]] else PHASES[ranked[1]]


def _bisect(fits: Callable[[float], bool]) -> float:
    """Return the largest factor that fits; 0 if none does, infinite if all do."""
    if fits(LARGEST):
        return math.inf
    low, high = 0.0, LARGEST
    while high > 1e-3 and not fits(high / 2):
        high /= 2
    low = high / 2 if high > 1e-3 else 0.0
    for _ in range(STEPS if low else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def to_json(found: BatchHeadroom) -> dict[str, Any]:  # Any: JSON
    """Return a headroom as JSON; what is unlimited is null."""

    def plain(one: BatchGrowth) -> dict[str, Any]:
        ends = {name: getattr(one, name) for name in ("factor", "low", "high")}
        limits = {name: value if math.isfinite(value) else None for name, value in ends.items()}
        return {**limits, "first": one.first, "then": one.then, "text": str(one)}

    return {
        "trigger": found.trigger,
        "seconds": round(found.seconds, 4),
        "text": found.text,
        "all": plain(found.all),
        "sources": {name: plain(one) for name, one in found.sources.items()},
        "proposed": None if found.proposed is None else plain(found.proposed),
    }

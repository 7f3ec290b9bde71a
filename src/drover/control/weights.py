"""Weights of spread joins: which share of the pairs each instance makes, renewed from what the last periods show.

Rule 1: other weights move no state and begin no epoch, because every row keeps its draw. So a gain of `least_gain` is
all that they need. Rule 2: only what was measured since the last change of weights counts, and no less than ENOUGH
periods. Rule 3: one join at a time; the others are part of the load that the nodes have besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from drover.control.capacity import recent_periods
from drover.control.context import ControlContext
from drover.control.outcome import Outcome, make_proposal, record_outcome
from drover.control.record import PeriodOutcome, Proposal, Reshape, why_base_changed
from drover.control.view import View
from drover.diffusion.balance import LEAST, damped, even_shares, noise_of, times
from drover.diffusion.choose import Weights, shares_of_cells, weights_by_row, weights_of
from drover.flow.instances import spread_joins
from drover.load.arrays import Floats, Ints
from drover.load.sample import own_name
from drover.load.window import Period
from drover.network.grid import Epoch
from drover.network.operators import Join
from drover.placement.plan import Instances, instance_name

ENOUGH: Final = 2  # periods: one says nothing about its noise
RECENT: Final = 5  # periods at most, so that a node that has become slow is seen soon
PAIRS: Final = 50  # of every instance in a period; fewer say less about its share of the work than the weights do
SAME: Final = 0.05  # relative difference of shares up to which a waiting proposal is kept
DIGITS: Final = 6  # of weights
NAMED: Final = 4  # instances in a reason, those that change most
EVEN: Final = "other weights would gain too little now"


@dataclass(frozen=True, slots=True, eq=False)
class JoinPace:
    """How fast the nodes of a join are: all times in relation to their capacity."""

    join: Join
    epoch: Epoch
    nodes: Ints  # (cells,) node of each instance of the present grid
    shares: Floats  # (cells,) of the pairs, by the present weights
    paces: Floats  # (cells, h) time that an instance would need for all pairs, by period
    others: Floats  # (n,) time that each node needs for everything else

    def slowest(self, shares: Floats) -> float:
        """Return the time of the slowest node of the join with these shares, (cells,)."""
        return float(times(shares, self.paces.mean(axis=1), self.others, self.nodes)[self.nodes].max())


def propose_weights(context: ControlContext, view: View) -> Proposal | None:
    """Return the proposal to change the weights of a join, with the largest gain; None if none is worth it."""
    found = []
    for join in spread_joins(context.deployment.network):
        pace = pace_of_join(context, view, join)
        wanted = None if pace is None else _wanted(pace, context.settings.least_gain)
        if pace is not None and wanted is not None:
            found.append((pace.slowest(pace.shares) - pace.slowest(wanted), pace, wanted))
    if not found:
        return None
    gain, pace, wanted = max(found, key=lambda each: each[0])
    weights = weights_for(wanted, pace.epoch)
    shape = Reshape(pace.join.name, pace.epoch.grid, pace.epoch.grid, weights)
    after = _loads_after(view, pace, shares_of_cells(weights, pace.epoch))
    return make_proposal(context, view, (), reason_for(pace, wanted), after, gain=gain, shapes=(shape,))


def weights_for(shares: Floats, epoch: Epoch) -> Weights:
    """Return the weights with which the cells of a grid make these shares of the pairs, (cells,)."""
    if epoch.by_row or min(epoch.grid) == 1:
        rows, columns = weights_by_row(shares, epoch.grid)
    else:
        # A grid of an older version: all rows have the same columns, so shares are only met on average.
        rows, columns = (tuple(each.tolist()) for each in weights_of(shares, epoch.grid))
    return tuple(round(each, DIGITS) for each in rows), tuple(round(each, DIGITS) for each in columns)


def pace_of_join(context: ControlContext, view: View, join: Join) -> JoinPace | None:
    """Return how fast the nodes of a join are; None if it runs on one instance, or too little was measured."""
    spread = context.deployment.plan.instances.get(join.name)
    if spread is None or spread.epochs[-1].grid.cells == 1:
        return None
    epoch = spread.epochs[-1]
    nodes = np.array((context.deployment.plan.node_of[join.name], *spread.others)[: epoch.grid.cells])
    shares = shares_of_cells(spread.weights, epoch)
    periods = _periods(context, join, epoch.grid.cells)
    work = _work(join, periods, shares, spread)
    if len(periods) < ENOUGH or work is None:
        return None
    speeds = _speeds(context, view.problem.n, len(context.state.window.periods))
    numbers = [period.number for period in context.state.window.periods]
    offered = view.problem.capacity[:, None] * speeds[:, [numbers.index(period.number) for period in periods]]  # (n, h)
    others = _other_load(view, spread, join, len(periods)) / offered.mean(axis=1)
    return JoinPace(join, epoch, nodes, shares, work / offered[nodes], others)


def _periods(context: ControlContext, join: Join, cells: int) -> list[Period]:
    """Return the last periods in which all instances of a join ran as they do now, with their weights."""
    state = context.state
    units = [instance_name(join.name, k) for k in range(cells)]
    changes = [state.last_change - 1, *state.weighed.values(), *(state.moved.get(unit, 0) for unit in units)]
    since = max(changes)
    names = [own_name(join.name, k) for k in range(cells)]
    return [
        period
        for period in recent_periods(context.settings, state)[-RECENT:]
        if period.number > since and all(name in period.samples and period.samples[name].busy > 0 for name in names)
    ]


def _work(join: Join, periods: Sequence[Period], shares: Floats, spread: Instances) -> Floats | None:
    """Return the busy seconds per second that each instance would need for all pairs, by period, (cells, h)."""
    samples = [[period.samples[own_name(join.name, k)] for k in range(len(shares))] for period in periods]
    busy = np.array([[one.busy for one in each] for each in samples]).reshape(-1, len(shares)).T
    pairs = np.array([[one.rows_out.get(join.name, 0.0) for one in each] for each in samples]).reshape(busy.T.shape).T
    if pairs.size and pairs.min() >= PAIRS:
        # What was made counts: rows in windows were distributed by earlier weights.
        made = pairs / pairs.sum(axis=0)
    elif len(spread.epochs) == 1:
        made = np.tile(shares[:, None], (1, len(periods)))
    else:
        return None  # rows of an older grid still meet
    known = made.min(axis=1, initial=1.0) > 0
    work = busy[known] / made[known] / [period.seconds for period in periods]
    # Nothing is known of an instance that makes no pairs, so it counts as being as fast as the others.
    found = np.tile(work.mean(axis=0), (len(shares), 1))
    found[known] = work
    return found


def _speeds(context: ControlContext, n: int, periods: int) -> Floats:
    """Return the speed of each node in each period of the window, (n, periods), relative to the fastest one.

    A capacity from the settings, or a measured one, already says how fast nodes are.
    """
    found = np.ones((n, periods))
    if not context.settings.models_capacity:
        return found
    recent = context.state.speeds[-periods:]
    for t, speeds in enumerate(recent, start=periods - len(recent)):
        if len(speeds) == n and max(speeds) > 0:
            found[:, t] = [speed / max(speeds) if speed > 0 else 1.0 for speed in speeds]
    return found


def _other_load(view: View, spread: Instances, join: Join, periods: int) -> Floats:
    """Return the load of each node without the join in the last periods, (n,) busy seconds per second."""
    problem = view.problem
    units = {instance_name(join.name, k) for k in range(1 + len(spread.others))}
    rest = [j for j, unit in enumerate(problem.units) if unit not in units and problem.current[j] >= 0]
    loads = problem.series[rest][:, -periods:].mean(axis=1) if problem.series.shape[1] else problem.load[rest]
    return np.asarray(np.bincount(problem.current[rest], loads, problem.n), dtype=np.float64)


def _wanted(pace: JoinPace, least_gain: float) -> Floats | None:
    """Return the shares that make nodes finish together, (cells,); None if they gain too little."""
    goal = even_shares(pace.paces.mean(axis=1), pace.others, pace.nodes)
    found = damped(pace.shares, goal, noise_of(pace.paces))
    before = pace.slowest(pace.shares)
    after = pace.slowest(found)
    # An instance without weight only receives copies, and nothing can be measured of it.
    starving = pace.shares.min() < LEAST / len(found) / 2
    worth = before > after and before - after >= least_gain * before
    return found if worth or starving else None


def _loads_after(view: View, pace: JoinPace, shares: Floats) -> tuple[float, ...]:
    """Return the load of each node over its capacity with these shares, (cells,)."""
    problem = view.problem
    change = (shares - pace.shares) * pace.paces.mean(axis=1)
    after = np.array(view.loads(problem.current)) + np.bincount(pace.nodes, change, problem.n)
    return tuple(float(round(load, 4)) for load in np.maximum(after, 0.0))


def reason_for(pace: JoinPace, wanted: Floats) -> str:
    """Return in words why a join gets other weights; `wanted`, (cells,), are the shares that its instances get."""
    name = pace.join.name
    now = times(pace.shares, pace.paces.mean(axis=1), pace.others, pace.nodes)
    slowest = int(pace.nodes[now[pace.nodes].argmax()])
    mean = float(now[np.unique(pace.nodes)].mean())
    most = sorted(range(len(wanted)), key=lambda k: -abs(wanted[k] - pace.shares[k]))[:NAMED]
    changes = (f"{instance_name(name, k)} makes {wanted[k]:.1%} instead of {pace.shares[k]:.1%}" for k in sorted(most))
    return (
        f"join {name}: node {slowest} is busy for {now[slowest]:.1%} of its capacity, and the nodes of the join for "
        f"{mean:.1%} on average. With other weights, no node is busy for more than {pace.slowest(wanted):.1%}; of the "
        f"pairs, {', '.join(changes)}{' and so on' if len(wanted) > NAMED else ''}"
    )


def review_weights(context: ControlContext, view: View, outcome: Outcome) -> Outcome:
    """Return the outcome of a period in mode propose, in which a change of weights may wait to be applied.

    Every other proposal goes first. So a waiting change of weights never holds up a better plan.
    """
    waiting = context.state.waiting
    state, record = outcome
    if record.kind is PeriodOutcome.PROPOSED:
        return outcome
    found = propose_weights(context, view)
    plan = context.deployment.plan
    if waiting is not None and found is not None and why_base_changed(waiting, plan) is None:
        # With a new id in every period, you could apply none of them.
        found = waiting if _alike(waiting, found, context) else found
    kept = replace(state, waiting=found)
    if found is None and waiting is not None:
        record = replace(record, reason=f"{record.reason}; {waiting.id} is withdrawn: {EVEN}")
    if found is None or record.kind is PeriodOutcome.TRIAL:
        return kept, record
    replaced = "" if waiting is None else f"; it replaces {waiting.id}"
    reason = f"{found.id} waits to be applied" if found is waiting else f"{found.reason}{replaced}"
    after = replace(context, state=kept)
    return record_outcome(after, view, PeriodOutcome.PROPOSED, reason, found, record.refusals)


def _alike(one: Proposal, other: Proposal, context: ControlContext) -> bool:
    """Return whether two proposals give the same join about the same weights."""
    mine, yours = one.shapes[0], other.shapes[0]
    if mine.join != yours.join:
        return False
    epoch = context.deployment.plan.instances[mine.join].epochs[-1]
    first, second = (shares_of_cells(shape.weights, epoch) for shape in (mine, yours))
    return bool(np.allclose(first, second, rtol=SAME, atol=0.0))

"""Why nothing can be done about an overload by moving units, and what would help instead.

Rule 1: an overload that is not acted upon has a named obstacle. Rule 2: a way out has a number: of nodes, cores or
seconds.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

import numpy as np

from drover.control.capacity import modelled_capacity
from drover.control.context import ControlContext
from drover.control.engine_choice import EngineChoice
from drover.control.health import PHASES
from drover.control.lateness import BatchPace, pace_of
from drover.control.plan_seconds import plan_timer
from drover.control.rebalance import EPSILON, POLICY
from drover.control.record import PeriodRecord
from drover.control.settings import Mode
from drover.control.view import View
from drover.flow.pipelining import may_be_streamed
from drover.load.arrays import Flags
from drover.load.batch_capacity import NodeCapacity
from drover.placement.correlation.pairwise import movable
from drover.placement.problem import NOWHERE, PlacementProblem

ROOM: Final = 1.1  # a trigger or a number of nodes that is named has a tenth to spare


def obstacle(context: ControlContext, view: View, record: PeriodRecord) -> str:
    """Return why an overload stays for now; `record` says why the loop has moved nothing."""
    pace = pace_of(context.state)
    found = None if pace is None else _outside_of_nodes(pace)
    if found is None and context.deployment.hierarchy is None:
        found = _beyond_any_plan(context, view, pace)
    if found is not None:
        return found
    if context.settings.mode is Mode.OBSERVE:
        return "nothing moves in mode observe: set mode auto or propose"
    if pace is not None and (seconds := _caught_up(context, view, pace)) is not None:
        return (
            f"nothing has to move: batches read rows that have waited, and the rows of one trigger take {seconds:.2g} s"
        )
    reason = None if context.deployment.hierarchy is not None else _no_better_plan(context, view, pace)
    return reason or f"a more even plan could carry this load, but {_why_not_made(context, record)}"


def _no_better_plan(context: ControlContext, view: View, pace: BatchPace | None) -> str | None:
    """Return why no other plan helps, although the nodes could carry the load together; None if one may."""
    problem = view.problem
    longer = None if pace is None else _longer_trigger(pace)
    way = "add nodes" if longer is None else f"add nodes, or set the trigger to {longer:.2g} s"
    if context.deployment.open == 1:
        return f"all units are on the only open node: {way}"
    if pace is not None and pace.is_late and not pace.is_up_to_nodes:
        first = PHASES.get(pace.phases.longest, "work outside of nodes")
        return f"nodes take {pace.phases.nodes:.2g} s of a batch, so no plan makes it much shorter; {first} takes most"
    if (problem.current == NOWHERE).any():
        return None
    if view.spread(problem.current) <= EPSILON:
        return f"loads of nodes differ by less than {EPSILON:.0%} of capacity, so no plan is much better: {way}"
    fullest, helpful = _helpful_units(problem)
    return None if helpful.any() else f"no unit of node {fullest} can go where it leaves both nodes less full: {way}"


def _why_not_made(context: ControlContext, record: PeriodRecord) -> str:
    """Return why a plan that may help is not made."""
    if context.settings.most_moves == 0:
        return f"{record.reason}: at most 0 units move per period"
    if record.refusals:
        return f"{record.reason}: {Counter(refusal.reason for refusal in record.refusals).most_common(1)[0][0]}"
    if record.reason.endswith("moves nothing"):
        return f"{record.reason}: another policy may, such as {POLICY}"
    return record.reason


def _helpful_units(problem: PlacementProblem) -> tuple[int, Flags]:
    """Return the fullest node, and which units, (m,), could leave it for one that is then less full than it is now."""
    loads = np.bincount(problem.current, problem.load, problem.n)
    fullest = int(np.argmax(loads / problem.capacity))
    after = (loads + problem.load[:, None]) / problem.capacity  # (m, n)
    usable = movable(problem, problem.current) & (problem.current == fullest)
    better = problem.reachable() & (after < loads[fullest] / problem.capacity[fullest] * (1 - 1e-9))
    return fullest, np.asarray(usable & better.any(axis=1))


def _caught_up(context: ControlContext, view: View, pace: BatchPace) -> float | None:
    """Return the seconds of a batch once no rows wait any more; None if batches stay too long, or a node is full."""
    timer = plan_timer(context, view)
    if timer is None or pace.trigger is None or view.overloaded_nodes(0.0).any():
        return None
    seconds = timer.seconds(view.problem.current).mean
    return seconds if seconds <= pace.trigger else None


def _outside_of_nodes(pace: BatchPace) -> str | None:
    """Return the phase that no plan shortens and that fills the trigger by itself."""
    trigger = pace.trigger
    if trigger is None:
        return None
    phases = pace.usual.model.phases(pace.usual.per_row.times(pace.rows * trigger / max(pace.seconds, trigger)))
    seconds = _longer_trigger(pace)
    longer = "" if seconds is None else f"set the trigger to {seconds:.2g} s"
    if phases.fixed >= trigger:
        less = longer or "take less load"
        return (
            f"a batch takes {phases.fixed:.2g} s whatever its rows are, more than the trigger of {trigger:g} s: {less}"
        )
    if phases.fixed + phases.others >= trigger:
        worst = max(("reading", "sinks", "commit"), key=lambda name: float(getattr(phases, name)))
        took = getattr(phases, worst)
        way = longer or {"reading": "give Spark more slots", "sinks": "write less, or to fewer sinks"}.get(
            worst, "keep less state"
        )
        return f"{PHASES[worst]} takes {took:.2g} s of a trigger of {trigger:g} s, and no plan changes that: {way}"
    return None


def _beyond_any_plan(context: ControlContext, view: View, pace: BatchPace | None) -> str | None:
    """Return why no plan of the open nodes carries the load; None if an even one would."""
    problem = view.problem
    nodes = context.deployment.open
    known = modelled_capacity(problem.n, context.settings, context.state)
    at_once = float(nodes) if known is None else min(known.at_once, nodes)
    core = float(problem.capacity.mean()) / view.share  # busy seconds per second that a node with a core can spend
    largest = int(np.argmax(problem.load))
    if problem.load[largest] > core:
        times = problem.load[largest] / core
        way = "spread it, if it is a join, or lower its rate"
        return f"unit {problem.units[largest]} alone needs {times:.2g} times what a core gives a node: {way}"
    path, heavy = _heaviest_path(context, view)
    if heavy > core and len(path) > 1:
        ends = f"the path from {path[0]} to {path[-1]}"
        return (
            f"{ends} needs {heavy / core:.2g} times what a core gives a node, and its operators run one after another"
        )
    total = float(problem.load.sum())
    if total <= core * at_once:
        return None
    return _too_few(nodes, math.ceil(total / core), known, pace)


def _heaviest_path(context: ControlContext, view: View) -> tuple[tuple[str, ...], float]:
    """Return the operators of the heaviest path and its busy seconds per second: within a batch, no plan divides it.

    Between resident nodes, streamed operators of a path work side by side, so they do not count.
    """
    loads = view.profile.loads()
    network = context.deployment.network
    resident = any(batch.engine == EngineChoice.RESIDENT for batch in context.state.batches[-1:])
    divided = may_be_streamed(network) if resident else frozenset[str]()
    spread = {join for join, made in context.deployment.plan.instances.items() if made.others}
    best: dict[str, tuple[tuple[str, ...], float]] = {}  # by stream
    for operator in network.order:
        before = max((best.get(stream, ((), 0.0)) for stream in operator.inputs), key=lambda one: one[1])
        own = 0.0 if operator.name in spread or operator.name in divided else float(loads[operator.name])
        best |= dict.fromkeys(operator.outputs, ((*before[0], operator.name), before[1] + own))
    return max(best.values(), key=lambda one: one[1], default=((), 0.0))


def _too_few(nodes: int, needed: int, known: NodeCapacity | None, pace: BatchPace | None) -> str:
    few = f"no plan of these {nodes} nodes carries this load"
    if known is None or needed <= known.at_once:
        return f"{few}: add nodes; {needed} would do"
    longer = None if pace is None else _longer_trigger(pace)
    slower = "" if longer is None else f", or a trigger of {longer:.2g} s"
    return f"{few}: {known.cores:g} cores are too few; {math.ceil(needed * known.computing)} would do{slower}"


def _longer_trigger(pace: BatchPace) -> float | None:
    """Return the trigger with which batches would be in time; None if none is long enough, or longer than now."""
    if pace.trigger is None:
        return None
    phases = pace.usual.model.phases(pace.usual.per_row.times(pace.rows / max(pace.seconds, pace.trigger)))
    per_second = phases.others + phases.nodes
    seconds = ROOM * phases.fixed / (1 - per_second) if per_second < 1 else math.inf
    return seconds if ROOM * pace.trigger < seconds < math.inf else None

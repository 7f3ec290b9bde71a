"""Whether a run keeps up, in one sentence: for the first line of status, history and explain.

Rule 1: a run that does not keep up is told with its cause: the phase, the node or the cores that give out first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from drover.control.context import ControlContext
from drover.control.lateness import BatchPace, pace_of
from drover.control.view import View
from drover.placement.problem import NOWHERE

PHASES: Final[Mapping[str, str]] = {
    "fixed": "the fixed cost of a batch",
    "reading": "reading and routing",
    "sinks": "writing to sinks",
    "commit": "committing state",
}


class RunHealth(StrEnum):
    """Whether a run keeps up."""

    UNKNOWN = "too early to tell"
    KEEPING_UP = "keeping up"
    OVERLOADED = "overloaded"  # a node has more to do than it can, though batches are still in time
    BEHIND = "falling behind"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Whether a run keeps up, and why not."""

    health: RunHealth
    text: str  # one sentence, which begins with the word for it
    bottleneck: str = ""  # what gives out first

    @property
    def is_overloaded(self) -> bool:
        """Whether something has to be done."""
        return self.health in (RunHealth.OVERLOADED, RunHealth.BEHIND)


def health_of(context: ControlContext, view: View) -> HealthReport:
    """Return whether a run keeps up."""
    pace = pace_of(context.state)
    on_nodes = context.deployment.hierarchy is None  # the nodes of a tree have marks of their own
    full = on_nodes and view.overloaded(context.settings.certainty)
    if pace is None and not full:
        return HealthReport(RunHealth.UNKNOWN, f"{RunHealth.UNKNOWN}: no batch was measured")
    first = bottleneck(pace, view, on_nodes=on_nodes)
    found = RunHealth.KEEPING_UP
    if pace is not None and pace.is_late:
        found = RunHealth.BEHIND
    elif full:
        found = RunHealth.OVERLOADED
    said = [] if pace is None else [describe_pace(pace)]
    gives_out = found is not RunHealth.KEEPING_UP and first not in PHASES.values()
    said += [f"{first} {'gives out first' if gives_out else 'takes most of it'}"]
    return HealthReport(found, f"{found}: {'; '.join(said)}", first)


def describe_pace(pace: BatchPace) -> str:
    """Return how long batches take, in words."""
    trigger = "without a pause" if pace.trigger is None else f"at a trigger of {pace.trigger:g} s"
    waits = "" if pace.backlog is None else f", and {pace.backlog:,.0f} rows wait"
    return f"batches take {pace.seconds:.2f} s {trigger}{waits}"


def bottleneck(pace: BatchPace | None, view: View, *, on_nodes: bool = True) -> str:
    """Return what takes most of a batch: a phase, the fullest node, or the cores that nodes share."""
    longest = "nodes" if pace is None else pace.phases.longest
    if longest != "nodes":
        return PHASES[longest]
    if not on_nodes:
        return "the slowest node"
    problem = view.problem
    placed = problem.current != NOWHERE
    loads = np.bincount(problem.current[placed], problem.load[placed], problem.n)
    together = float(loads.sum() / problem.capacity.sum())
    each = loads / problem.capacity * view.share
    node = int(np.argmax(each))
    if view.share < 1 and together >= float(each[node]):
        cores = round(view.share * problem.n if pace is None else pace.usual.cores)
        return f"the processor: {problem.n} nodes share {cores} {'core' if cores == 1 else 'cores'}, which"
    return f"node {node}"

"""The capacity of the nodes: as the settings give it, as tasks were measured, or as the model of a batch finds it.

Rule 1: everybody who needs a capacity asks here: policies, judge, status, report and live display.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

import numpy as np

from drover.control.settings import MEASURED, Control
from drover.control.state import ControlState
from drover.load.arrays import Floats
from drover.load.batch_capacity import NodeCapacity, UsualBatches, usual_batches
from drover.load.window import Period

LEAST: Final = 0.1  # share of a node's capacity that submitted queries always leave to operators


def modelled_capacity(nodes: int, settings: Control, state: ControlState) -> NodeCapacity | None:
    """Return what the model of a batch says; None if the settings say otherwise, or nothing is known yet."""
    if not settings.models_capacity:
        return None
    usual = usual_batches(state.batches)
    return None if usual is None else usual.capacity(nodes, row_rate(recent_periods(settings, state)))


def usual_of(state: ControlState) -> UsualBatches | None:
    """Return the batches of the last periods, as their model sees them."""
    return usual_batches(state.batches)


def recent_periods(settings: Control, state: ControlState) -> tuple[Period, ...]:
    """Return the periods that a decision looks at, without those from before the last change of load."""
    return tuple(period for period in state.window.periods if period.number >= state.last_change)[-settings.window :]


def row_rate(periods: Sequence[Period]) -> float:
    """Return the rows per second of all sources together."""
    seconds = sum(period.seconds for period in periods)
    return sum(sum(period.sources.values()) for period in periods) / seconds if seconds > 0 else 0.0


def remaining_capacity(nodes: int, settings: Control, state: ControlState) -> Floats:
    """Return the capacity of each node, (n,), less the mean load of submitted queries in the last periods."""
    capacity = capacities(nodes, settings, state)
    loads = [load for load in state.query_loads[-settings.window :] if len(load) == nodes]
    taken = np.mean(loads, axis=0) if loads else np.zeros(nodes)
    return np.maximum(capacity - taken, LEAST * capacity)


def query_capacities(nodes: int, settings: Control, state: ControlState) -> tuple[float, ...]:
    """Return the capacities by which submitted queries are shared out, in any unit; empty if all nodes are equal.

    Operators take what queries leave, so the load of operators does not count here: otherwise each would wait for the
    other.
    """
    # With a number or `auto`, all nodes have the same capacity, whatever it is; a batch need not compute it.
    if isinstance(settings.capacity, float) or settings.models_capacity:
        return ()
    return tuple(capacities(nodes, settings, state).tolist())


def capacities(nodes: int, settings: Control, state: ControlState | None = None) -> Floats:
    """Return the capacity of each node, (n,), in busy seconds per second; 1 where nothing is given or known.

    With `capacity: measured` it is the median speed in the last periods. A node whose tasks had the processor for half
    of their time offers half a busy second per second.
    """
    known = ControlState() if state is None else state
    if settings.capacity == MEASURED:
        recent = known.speeds[-settings.window :]
        speeds = [[each[i] for each in recent if i < len(each) and each[i] > 0] for i in range(nodes)]
        return np.array([min(1.0, median(values)) if values else 1.0 for values in speeds])
    if isinstance(settings.capacity, str):
        found = modelled_capacity(nodes, settings, known)
        return np.full(nodes, 1.0 if found is None else found.each)
    if isinstance(settings.capacity, float):
        return np.full(nodes, settings.capacity)
    given = [float(value) for value in settings.capacity[:nodes]]
    return np.array([*given, *[1.0] * (nodes - len(given))])

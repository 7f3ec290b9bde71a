"""The samples of a window as arrays.

Rule 1: a period is converted once and keeps its arrays, because the control loop reads it again in every step of a
window. Rule 2: rows are operators in the order of `network.order`; inputs and outputs follow in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.load.arrays import Flags, Floats
from drover.load.sample import Sample
from drover.load.statistics import Behaviour, Statistics
from drover.load.window import Period, Window, source_rates
from drover.network.model import Network

NOTHING: Final = Sample("", {}, {}, 0.0)  # stands for an operator without a sample in a period


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The samples of a window, or of a single period (h = 1)."""

    seconds: Floats  # (h,)
    took: Floats  # (inputs, h) rows
    gave: Floats  # (outputs, h) rows
    busy: Floats  # (operators, h) busy seconds
    there: Flags  # (operators, h) whether there was a sample


def columns_of(window: Window, network: Network) -> Columns:
    """Return the periods of a window side by side."""
    found = [_columns(period, network) for period in window.periods]
    if not found:
        inputs, outputs = (sum(len(getattr(one, side)) for one in network.order) for side in ("inputs", "outputs"))
        none = np.empty((len(network.order), 0))
        return Columns(np.empty(0), np.empty((inputs, 0)), np.empty((outputs, 0)), none, none > 0)
    return Columns(
        np.concatenate([each.seconds for each in found]),
        np.hstack([each.took for each in found]),
        np.hstack([each.gave for each in found]),
        np.hstack([each.busy for each in found]),
        np.hstack([each.there for each in found]),
    )


def _columns(period: Period, network: Network) -> Columns:
    """Return a period as arrays; the period keeps them for the next call with the same network."""
    known = period.kept.get("columns")
    # Another network has other rows; a changed network is another object.
    if known is not None and known[0] is network:
        found: Columns = known[1]
        return found
    samples = [period.samples.get(operator.name, NOTHING) for operator in network.order]
    pairs = list(zip(network.order, samples, strict=True))
    took = [sample.rows_in.get(name, 0.0) for operator, sample in pairs for name in operator.inputs]
    gave = [sample.rows_out.get(name, 0.0) for operator, sample in pairs for name in operator.outputs]
    made = Columns(
        np.array([period.seconds]),
        np.array(took, dtype=np.float64).reshape(-1, 1),
        np.array(gave, dtype=np.float64).reshape(-1, 1),
        np.array([sample.busy for sample in samples], dtype=np.float64).reshape(-1, 1),
        np.array([sample is not NOTHING for sample in samples], dtype=np.bool_).reshape(-1, 1),
    )
    period.kept["columns"] = (network, made)
    return made


def measured_in(window: Window, network: Network) -> Statistics:
    """Return the statistics of a window, as `measured` does, but only for the operators of a network."""
    columns = columns_of(window, network)
    took, gave, busy = (each.sum(axis=1).tolist() for each in (columns.took, columns.gave, columns.busy))
    # Only periods with a sample count: a missing one does not mean that there were no rows.
    seconds = (columns.there * columns.seconds).sum(axis=1).tolist()
    operators: dict[str, Behaviour] = {}
    port = 0
    exit_ = 0
    for row, operator in enumerate(network.order):
        counts = dict(zip(operator.inputs, took[port : port + len(operator.inputs)], strict=True))
        outs = gave[exit_ : exit_ + len(operator.outputs)]
        port = port + len(operator.inputs)
        exit_ = exit_ + len(operator.outputs)
        if rows := sum(counts.values()):
            given = {name: count / rows for name, count in zip(operator.outputs, outs, strict=True)}
            found_at = {name: count / seconds[row] for name, count in counts.items()}
            operators[operator.name] = Behaviour(busy[row] / rows, given, False, found_at)
    rates, series = source_rates(window)
    return Statistics(rates, operators, series)

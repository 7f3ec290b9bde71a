"""Spread joins in the placement problem: each instance is a unit with its own load, state and node.

Rule 1: the load model knows the join as a whole; its load is divided in proportion to what the instances did.
Rule 2: in a period with a different number of instances, the present ones get equal shares.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from drover.load.arrays import Floats, Ints
from drover.load.links import UnitLinks
from drover.load.sample import own_name
from drover.load.window import Window
from drover.network.model import Network
from drover.placement.plan import Plan, instance_name
from drover.placement.problem import PlacementProblem


def divide_spread_joins(problem: PlacementProblem, window: Window, plan: Plan, network: Network) -> PlacementProblem:
    """Return the problem with a unit per instance, new units last; `window` holds the periods of the problem.

    The result allows every unit on every node and pins none.
    """
    divided = problem
    for join, spread in plan.instances.items():
        if spread.others and join in problem.units:
            cells = 1 + len(spread.others)
            grid = spread.epochs[-1].grid
            left, right = network.operator(join).inputs
            # Each row of the grid receives 1/r of the left stream, each column 1/c of the right stream.
            received = {right: 1 / grid.columns} | {left: 1 / grid.rows}
            divided = _divide(divided, join, shares_of(join, cells, window), received, _sizes(join, cells, window))
    return problem if divided is problem else divided.starting_from(plan)


def shares_of(join: str, cells: int, window: Window) -> Floats:
    """Return the share of each instance in the busy time of a join, in each period, (cells, h)."""
    found = np.full((cells, len(window.periods)), 1 / cells)
    for t, period in enumerate(window.periods):
        busy = [one.busy for k in range(cells) if (one := period.samples.get(own_name(join, k)))]
        # A period with another number of instances says nothing about the shares of the present ones (rule 2).
        if len(busy) == cells and own_name(join, cells) not in period.samples and sum(busy) > 0:
            found[:, t] = np.array(busy) / sum(busy)
    return found


def _sizes(join: str, cells: int, window: Window) -> Floats:
    """Return the bytes of state of each instance, (cells,), from its newest sample; 0 without a sample."""
    found = np.zeros(cells)
    for k in range(cells):
        newest = (one for period in reversed(window.periods) if (one := period.samples.get(own_name(join, k))))
        if (sample := next(newest, None)) is not None:
            found[k] = sample.state_bytes
    return found


def _divide(
    problem: PlacementProblem, join: str, shares: Floats, received: dict[str, float], sizes: Floats
) -> PlacementProblem:
    """Return the problem with a join's unit divided into one unit per instance, by shares, (cells, h)."""
    j = problem.units.index(join)
    more = len(shares) - 1
    mean = shares.mean(axis=1) if shares.shape[1] else np.full(len(shares), 1 / len(shares))  # (cells,)
    series = np.vstack([problem.series, np.tile(problem.series[j], (more, 1))])
    coefficients = np.vstack([problem.coefficients, np.tile(problem.coefficients[j], (more, 1))])
    state = np.concatenate([problem.state, sizes[1:]])
    state[j] = sizes[0]
    rows = np.array([j, *range(problem.m, problem.m + more)])
    if series.shape[1]:
        series[rows] *= shares
    coefficients[rows] *= mean[:, None]
    return replace(
        problem,
        units=(*problem.units, *(instance_name(join, k + 1) for k in range(more))),
        series=series,
        coefficients=coefficients,
        state=state,
        sticky=np.concatenate([problem.sticky, np.full(more, problem.sticky[j])]),
        links=_divide_links(problem.links, rows, mean, received),
        pinned=np.empty(0, dtype=np.int64),
        current=np.empty(0, dtype=np.int64),
        allowed=np.empty(0, dtype=np.bool_),
    )


def _divide_links(links: UnitLinks, units: Ints, mean: Floats, received: dict[str, float]) -> UnitLinks:
    """Return the links with those of a join, the first of `units`, divided among all of `units`."""
    j = units[0]
    names = list(links.streams)
    source = list(links.source)
    target = list(links.target)
    communication = list(links.communication)
    bandwidth = list(links.bandwidth)
    for g, stream in enumerate(links.streams):
        if j not in (links.source[g], links.target[g]):
            continue
        parts = mean if links.source[g] == j else np.full(len(units), received.get(stream, 1.0))
        for k in range(1, len(units)):
            names.append(stream)
            source.append(units[k] if links.source[g] == j else links.source[g])
            target.append(units[k] if links.target[g] == j else links.target[g])
            communication.append(links.communication[g] * parts[k])
            bandwidth.append(links.bandwidth[g] * parts[k])
        communication[g] = links.communication[g] * parts[0]
        bandwidth[g] = links.bandwidth[g] * parts[0]
    if not names:
        return links
    return UnitLinks(tuple(names), np.array(source), np.array(target), np.array(communication), np.array(bandwidth))

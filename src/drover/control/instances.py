"""Spread joins in the placement problem: each instance is a unit with its own load, state and node.

Rule 1: what is known of the join as a whole, by the load model, is shared out by what its instances did. Rule 2: a
period with another number of instances tells nothing of the present ones, and they get equal shares of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from drover.load.arrays import Floats, Ints
from drover.load.links import Links
from drover.load.sample import own_name
from drover.load.window import Window
from drover.network.model import Network
from drover.placement.plan import Plan, instance_name
from drover.placement.problem import Problem


def with_instances(problem: Problem, window: Window, plan: Plan, network: Network) -> Problem:
    """Return the problem with a unit per instance, further ones after all others; `window` has the problem's periods.

    It allows every unit everywhere and pins none.
    """
    divided = problem
    for join, spread in plan.instances.items():
        if spread.others and join in problem.units:
            cells = 1 + len(spread.others)
            grid = spread.epochs[-1].grid
            left, right = network.operator(join).inputs
            # A row of the grid is dealt 1/r of the left stream, a column 1/c of the right one.
            received = {right: 1 / grid.columns} | {left: 1 / grid.rows}
            divided = _divided(divided, join, shares_of(join, cells, window), received, _sizes(join, cells, window))
    return problem if divided is problem else divided.starting_from(plan)


def shares_of(join: str, cells: int, window: Window) -> Floats:
    """Return the share of each instance in the busy time of a join, by period, (cells, h)."""
    found = np.full((cells, len(window.periods)), 1 / cells)
    for t, period in enumerate(window.periods):
        busy = [one.busy for k in range(cells) if (one := period.samples.get(own_name(join, k)))]
        if len(busy) == cells and own_name(join, cells) not in period.samples and sum(busy) > 0:
            found[:, t] = np.array(busy) / sum(busy)
    return found


def _sizes(join: str, cells: int, window: Window) -> Floats:
    """Return the bytes of state of each instance as last seen, (cells,); 0 if it was not."""
    found = np.zeros(cells)
    for k in range(cells):
        newest = (one for period in reversed(window.periods) if (one := period.samples.get(own_name(join, k))))
        if (sample := next(newest, None)) is not None:
            found[k] = sample.state_bytes
    return found


def _divided(problem: Problem, join: str, shares: Floats, received: dict[str, float], sizes: Floats) -> Problem:
    """Return the problem with the unit of a join divided by shares, (cells, h), in units of its instances."""
    j, more = problem.units.index(join), len(shares) - 1
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
        links=_linked(problem.links, rows, mean, received),
        pinned=np.empty(0, dtype=np.int64),
        current=np.empty(0, dtype=np.int64),
        allowed=np.empty(0, dtype=np.bool_),
    )


def _linked(links: Links, units: Ints, mean: Floats, received: dict[str, float]) -> Links:
    """Return the links with those of a join, the first of `units`, given to all of them, each with its part."""
    j = units[0]
    names, source, target = list(links.streams), list(links.source), list(links.target)
    communication, bandwidth = list(links.communication), list(links.bandwidth)
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
        communication[g], bandwidth[g] = links.communication[g] * parts[0], links.bandwidth[g] * parts[0]
    if not names:
        return links
    return Links(tuple(names), np.array(source), np.array(target), np.array(communication), np.array(bandwidth))

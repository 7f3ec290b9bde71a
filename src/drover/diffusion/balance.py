"""Even finishing times: which share of the pairs each cell of a grid should make.

Rule 1: pure functions of measured times. Rule 2: every cell keeps a least share, because nothing can be measured of a
cell that makes no pairs. Rule 3: a difference that noise explains changes nothing.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.load.arrays import Floats, Ints

LEAST: Final = 0.1  # of an equal share, which every cell gets; a node that is not free costs the others that little
# Standard errors; a smaller difference is noise, and one of twice as many is none. With 2, even nodes whose times vary
# by a fifth get other weights in one of 15 periods; with 3, never in 300 periods.
NOISE: Final = 3.0
# What is assumed of noise before it is known: how much times vary from period to period, and how many measured
# differences that is worth. Two alike periods of two instances may be alike by chance.
USUAL: Final = 0.05
WORTH: Final = 2.0
STEPS: Final = 60  # of a bisection, until numbers are exact


def times(shares: Floats, paces: Floats, others: Floats, nodes: Ints) -> Floats:
    """Return the time that each node needs, (n,), if its cells make these shares of the pairs, (cells,).

    `paces`, (cells,), is the time that the node of a cell would need for all pairs; `others`, (n,), what each node
    needs for everything else; `nodes`, (cells,), the node of each cell.
    """
    return np.asarray(others + np.bincount(nodes, shares * paces, len(others)))


def even_shares(paces: Floats, others: Floats, nodes: Ints) -> Floats:
    """Return the share of the pairs of each cell, (cells,), with which the slowest node finishes first.

    Every cell gets the least share first. The other pairs go to the node that would finish first, until it takes as
    long as the next one. So all nodes with more than their least shares finish at the same time, before the others.
    The cells of a node divide what it has left in equal times.
    """
    least = LEAST / len(paces)
    busy = times(np.full(len(paces), least), paces, others, nodes)[nodes]
    alike = np.bincount(nodes, minlength=len(others))[nodes]

    def shares(level: float) -> Floats:
        # More than the least share of one cell must come out of what its node has left, or the node is late.
        return np.asarray(least + np.maximum(level - busy, 0.0) / (alike * paces))

    low = 0.0
    # Within this time, the first node alone could make all pairs.
    high = float((busy + paces * alike).max())
    for _ in range(STEPS):
        level = (low + high) / 2
        low, high = (level, high) if shares(level).sum() < 1 else (low, level)
    found = shares(high)
    return np.asarray(found / found.sum())


def noise_of(paces: Floats) -> float:
    """Return the standard error of the mean paces relative to each other, from those of h periods, (cells, h)."""
    logs = np.log(paces)
    # What all cells have in common, such as more rows in a period, does not change their shares.
    logs = logs - logs.mean(axis=0)
    cells, h = paces.shape
    logs = logs - logs.mean(axis=1, keepdims=True)
    known = (cells - 1) * (h - 1)
    return float(np.sqrt((WORTH * USUAL**2 + (logs**2).sum()) / (WORTH + known) / h))


def damped(present: Floats, wanted: Floats, error: float) -> Floats:
    """Return shares between the present and the wanted ones, (cells,): differences that may be noise are left out.

    The closer a difference is to noise, the less of it is followed. So weights do not jump when it passes the limit.
    """
    least = LEAST / len(present)
    change = np.log(wanted / np.maximum(present, least))
    noise = max(NOISE * error, 1e-12)
    kept = change * np.clip((np.abs(change) - noise) / noise, 0.0, 1.0)
    found = np.maximum(np.maximum(present, least) * np.exp(kept), least)
    return np.asarray(found / found.sum())

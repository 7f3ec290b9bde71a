"""The plain twin of the kernel: Fig. 4.9 [Xing06] in numpy, for tests and as a reference.

Rule 1: clarity before speed. It decides as the kernel does, including two corrections: shares instead of raw
coefficients, and the largest candidate plane distance, where the printed figure says the smallest.
"""

from __future__ import annotations

import numpy as np

from drover.load.arrays import Floats, Ints

SLACK = 1e-12
TIE = 1e-9


def assign(shares: Floats, portion: Floats, box: Floats) -> Ints:
    """Return places, (m,), for units with `shares`, (m, d), of the load, on nodes with `portion`, (n,), of capacity.

    `box`, (3, d), is as for the kernel. Class I nodes are chosen by distance; there are no rules, and nothing is
    placed.
    """
    weight = np.zeros((len(portion), shares.shape[1]))
    places = np.empty(len(shares), dtype=np.int64)
    for j in order(shares):
        candidate = weight + shares[j] / portion[:, None]  # (n, d)
        most = (candidate * np.where(candidate > 0, box[1], 0)).sum(axis=1)
        first = (candidate <= 1 + SLACK).all(axis=1) | (most <= 1 + SLACK)
        margin = 1 - candidate @ box[0]
        length = np.linalg.norm(candidate * np.sqrt(box[2]), axis=1)
        distance = np.where((margin > 0) & (length > 0), margin / np.where(length > 0, length, 1), margin)
        best = -1
        for i in np.flatnonzero(first) if first.any() else range(len(portion)):
            if best < 0 or distance[i] > distance[best] + TIE * abs(distance[best]):
                best = int(i)
        weight[best] = candidate[best]
        places[j] = best
    return places


def order(shares: Floats) -> Ints:
    """Return the units by the length of their shares, largest first; ties by index."""
    lengths = np.sqrt((shares * shares).sum(axis=1))
    return np.asarray(np.argsort(-lengths, kind="stable"))

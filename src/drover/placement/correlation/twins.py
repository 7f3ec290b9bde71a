"""The plain twins of the kernels: figures 5.2 to 5.7 [Xing06] in numpy.

Rule 1: clarity before speed: correlations are computed where they are needed, from whole series. Rule 2: no placement
rules: every unit may move, every node is open, and nothing is placed before.
"""

from __future__ import annotations

import numpy as np

from drover.load.arrays import Floats, Ints

TIE = 1e-9
ROUNDING = 1e-12


def cor(one: Floats, other: Floats) -> float:
    """Return the correlation of two series, 0 if one of them is constant."""
    a = one - one.mean()
    b = other - other.mean()
    scale = np.linalg.norm(a) * np.linalg.norm(b)
    # The centred values of a constant series are rounding errors, which would correlate at random.
    flat = np.linalg.norm(a) <= 1e-9 * np.linalg.norm(one) or np.linalg.norm(b) <= 1e-9 * np.linalg.norm(other)
    return 0.0 if flat or scale == 0 else float(a @ b / scale)


def choose(scores: dict[int, float], load: Floats) -> int:
    """Return the unit with the largest score; ties go to the larger load, then to the lower index."""
    best = -1
    for j, score in scores.items():
        tied = best >= 0 and score > scores[best] - TIE and (load[j], -j) > (load[best], -best)
        if best < 0 or score > scores[best] + TIE or tied:
            best = j
    return best


def balance(series: Floats, sides: tuple[list[int], list[int]], capacity: Floats) -> tuple[list[int], list[int]]:
    """Return the units of two nodes after one-way balancing, Fig. 5.2."""
    load = series.mean(axis=1)
    loads = [load[side].sum() for side in sides]
    s = 0 if loads[0] * capacity[1] > loads[1] * capacity[0] else 1
    giver = list(sides[s])
    taker = list(sides[1 - s])
    left = (loads[s] * capacity[1 - s] - loads[1 - s] * capacity[s]) / capacity.sum()
    while fitting := [j for j in giver if 0 < load[j] < left]:
        total = series[giver].sum(axis=0)
        other = series[taker].sum(axis=0)
        scores = {j: (cor(series[j], total - series[j]) - cor(series[j], other)) / 2 for j in fitting}
        j = choose(scores, load)
        giver.remove(j)
        taker.append(j)
        left -= load[j]
    return (giver, taker) if s == 0 else (taker, giver)


def redistribute(series: Floats, sides: tuple[list[int], list[int]], capacity: Floats) -> tuple[list[int], list[int]]:
    """Return the units of two nodes after two-way redistribution, Fig. 5.3."""
    load = series.mean(axis=1)
    todo = [*sides[0], *sides[1]]
    placed: tuple[list[int], list[int]] = ([], [])
    while todo:
        loads = [load[side].sum() for side in placed]
        r = 1 if loads[0] * capacity[1] > loads[1] * capacity[0] else 0
        here = series[placed[r]].sum(axis=0)
        there = series[placed[1 - r]].sum(axis=0)
        j = choose({j: (cor(series[j], there) - cor(series[j], here)) / 2 for j in todo}, load)
        placed[r].append(j)
        todo.remove(j)
    return balance(series, placed, capacity)


def exchange(
    series: Floats, sides: tuple[list[int], list[int]], capacity: Floats, delta: float
) -> tuple[list[int], list[int]]:
    """Return the units of two nodes after selective exchange, Fig. 5.4 with the sign of X_r corrected."""
    load = series.mean(axis=1)
    found = balance(series, sides, capacity)
    # The kernel has the same bound on the number of moves.
    for _ in range(len(found[0]) + len(found[1])):
        loads = [load[side].sum() for side in found]
        s = 0 if loads[0] * capacity[1] > loads[1] * capacity[0] else 1
        here = series[found[s]].sum(axis=0)
        there = series[found[1 - s]].sum(axis=0)
        scores = {j: (cor(series[j], here - series[j]) - cor(series[j], there)) / 2 for j in found[s]}
        j = choose(scores, load)
        if j < 0 or scores[j] <= delta:
            break
        found[s].remove(j)
        found[1 - s].append(j)
    return balance(series, found, capacity)


def distribute(series: Floats, capacity: Floats) -> list[list[int]]:
    """Return the units of each node after the greedy start, Fig. 5.6; every step computes every correlation."""
    load = series.mean(axis=1)
    todo = list(range(len(series)))
    n = len(capacity)
    placed: list[list[int]] = [[] for _ in range(n)]
    while todo:
        loads = np.array([load[units].sum() for units in placed])
        r = int((loads / capacity).argmin())
        sums = [series[units].sum(axis=0) for units in placed]
        rho = {j: np.array([cor(series[j], total) for total in sums]) for j in todo}
        j = choose({j: float(row.mean() - row[r]) for j, row in rho.items()}, load)
        placed[r].append(j)
        todo.remove(j)
    return placed


def place_globally(series: Floats, capacity: Floats, theta: float) -> Ints:
    """Return places, (m,), by COR-GLB as printed: greedy start, a round of balancing, improved pairs, Fig. 5.7."""
    placed = distribute(series, capacity)
    n = len(capacity)
    loads = np.array([series[units].mean(axis=1).sum() for units in placed]) / capacity
    order = np.argsort(-loads, kind="stable")
    for a, b in zip(order[: n // 2], order[::-1], strict=False):
        if loads[a] > loads[b]:
            placed[a], placed[b] = balance(series, (placed[a], placed[b]), capacity[[a, b]])
    sums = np.array([series[units].sum(axis=0) for units in placed])
    pairs = {(i, k): cor(sums[i], sums[k]) for i in range(n) for k in range(i + 1, n)}
    pairs = {pair: rho for pair, rho in pairs.items() if rho < theta}
    # Each pair is tried once on average: improvements reopen pairs, so the loop needs a bound.
    for _ in range(n * (n - 1) // 2):
        if not pairs:
            break
        a, b = min(pairs, key=lambda pair: (pairs[pair], pair))
        before = pairs.pop((a, b))
        found = redistribute(series, (placed[a], placed[b]), capacity[[a, b]])
        if cor(series[found[0]].sum(axis=0), series[found[1]].sum(axis=0)) > before + TIE:
            placed[a], placed[b] = found
            sums[a] = series[found[0]].sum(axis=0)
            sums[b] = series[found[1]].sum(axis=0)
            for i, k in ((i, k) for i in (a, b) for k in range(n) if k not in (a, b)):
                pair = (min(i, k), max(i, k))
                rho = cor(sums[i], sums[k])
                pairs.pop(pair, None)
                if rho < theta:
                    pairs[pair] = rho
    places = np.empty(len(series), dtype=np.int64)
    for i, units in enumerate(placed):
        places[units] = i
    return places

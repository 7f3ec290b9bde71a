"""The feasible set of a plan: all combinations of input rates under which no node is overloaded.

Rule 1: sets are compared in normalised coordinates y_k = r_k l_k / C_T [Xing06]. There the ideal set is the simplex
sum y <= 1, and node i is the half-space W_i . y <= 1. Rule 2: random points come from a seed; equal seeds give equal
points. Rule 3: a stream without load (l_k = 0) limits nothing, so every function that sees rates drops it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import SeedSequence

from drover.errors import LoadError
from drover.load.arrays import Floats
from drover.load.exact import exact_ratio

__all__ = [
    "Estimate",
    "axis_bound",
    "axis_distance",
    "estimate",
    "exact_ratio",
    "face_points",
    "feasible_ratio",
    "floor_point",
    "ideal_volume",
    "plane_bound",
    "plane_distance",
    "remaining_ratio",
    "remaining_weights",
    "weights",
]

POINTS: Final = 4096  # standard deviation of the ratio about 5e-4 in 5 dimensions
SCRAMBLINGS: Final = 8
# Multiplications up to which BLAS computes a matrix product in one thread. It divides larger products among threads.
# For a product of a millisecond, their waiting takes several times as much CPU time as the work.
ALONE: Final = 2**18
CONFIDENCE: Final = 0.95
# Sobol points have 30 bits, the same in every scrambling. So smooth ratios agree with each other to more digits than
# are right.
ROUNDING: Final = 1e-8


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio and its 95 % confidence interval."""

    ratio: float
    low: float
    high: float


def weights(node_coefficients: Floats, capacity: Floats, totals: Floats | None = None) -> Floats:
    """Return W, (n, d): w_ik = (l^n_ik / l_k) / (C_i / C_T), of the streams with l_k > 0 [Xing06].

    `node_coefficients` is L^n, (n, d), busy seconds on node i per tuple of stream k; `capacity` is C, (n,). `totals` is
    l, (d,): give it while only some units are placed; by default it is the sum over the nodes.
    """
    check_capacity(capacity, len(node_coefficients))
    totals = node_coefficients.sum(axis=0) if totals is None else totals
    loads = totals > 0
    share: Floats = capacity / capacity.sum()
    weighed: Floats = node_coefficients[:, loads] / totals[loads] / share[:, None]
    return weighed


def ideal_volume(totals: Floats, capacity: Floats) -> float:
    """Return C_T^d / (d! prod l_k), the size of the ideal set, over the streams with l_k > 0."""
    check_capacity(capacity, len(capacity))
    shares: Floats = capacity.sum() / totals[totals > 0]  # (d,) rate at which stream k alone fills every node
    return math.exp(float(np.log(shares).sum()) - math.lgamma(len(shares) + 1))  # d! alone is beyond floats from 171 on


def check_capacity(capacity: Floats, nodes: int) -> None:
    """Raise LoadError unless there is a finite capacity above 0 for each node."""
    if capacity.shape != (nodes,):
        raise LoadError(f"capacity has shape {capacity.shape}, but there are {nodes} nodes. Give one number per node.")
    for i, value in enumerate(capacity):
        if not 0 < value < math.inf:
            raise LoadError(
                f"capacity of node {i} is {value:g}, but must be above 0 and finite. "
                "Correct it, or remove the node to place nothing on it."
            )


def face_points(d: int, count: int, seed: int) -> Floats:
    """Return scrambled Sobol points, (count, d), spread evenly over the face sum y = 1 of the ideal set.

    The gaps between the d - 1 sorted coordinates of a point in the unit cube are uniform on that face.
    """
    if d < 1 or count < 1:
        raise LoadError(f"{count} points in {d} dimensions are wanted, but both numbers must be at least 1.")
    if d == 1:
        return np.ones((count, 1))
    from scipy.stats.qmc import Sobol  # noqa: PLC0415 - takes 0.7 s to import

    cube = Sobol(d - 1, scramble=True, rng=seed).random_base2(max(count - 1, 0).bit_length())[:count]
    gaps: Floats = np.diff(np.sort(cube, axis=1), axis=1, prepend=0.0, append=1.0)
    return gaps


def feasible_ratio(weights: Floats, points: Floats) -> float:
    """Return the size of the feasible set over that of the ideal one, from `points`, (P, d), on the ideal face.

    The set is star-shaped: in direction y it ends at 1 / max_i W_i . y. Integrating over the radius leaves the mean of
    its d-th power over the face. At 4096 points, the error is a quarter of that of counting points inside.
    """
    if not weights.shape[1]:
        return 1.0
    if not np.isfinite(weights).all():
        return 0.0
    # In blocks, because BLAS starts threads for larger products, and these would wait longer than they work.
    block = max(1, ALONE // weights.size)
    highest = [(points[at : at + block] @ weights.T).max(axis=1) for at in range(0, len(points), block)]
    with np.errstate(divide="ignore"):  # while units are unplaced, a direction without load has no end
        return float(np.mean(np.concatenate(highest) ** -float(weights.shape[1])))


def estimate(weights: Floats, seed: int, count: int = POINTS, scramblings: int = SCRAMBLINGS) -> Estimate:
    """Return the mean ratio over independent scramblings of `count` points each, with Student's interval."""
    if scramblings < 2:
        raise LoadError(f"scramblings is {scramblings}, but an interval needs at least 2. Give 8.")
    d = weights.shape[1]
    if d <= 1:
        ratio = exact_ratio(weights)
        return Estimate(ratio, ratio, ratio)
    seeds = SeedSequence(seed).generate_state(scramblings)
    ratios = np.array([feasible_ratio(weights, face_points(d, count, int(each))) for each in seeds])
    ratio = float(ratios.mean())
    from scipy.special import stdtrit  # noqa: PLC0415 - as above

    reach = float(stdtrit(scramblings - 1, (1 + CONFIDENCE) / 2) * ratios.std(ddof=1) / math.sqrt(scramblings))
    # If all scramblings agree, the interval must still allow for rounding.
    reach = max(reach, ROUNDING * ratio)
    return Estimate(ratio, max(0.0, ratio - reach), ratio + reach)


def plane_distance(weights: Floats, floor: Floats | None = None) -> Floats:
    """Return, (n,), how far the hyperplane of node i lies from the origin, 1 / ||W_i||, or from `floor`, (d,).

    It is infinite for a node without load, and negative where the floor itself overloads the node. In that case compare
    1 - W_i . floor: among overloaded nodes, distances favour the heavy ones.
    """
    margins = _margins(weights, floor)
    lengths = np.linalg.norm(weights, axis=1)
    return _reach(margins, lengths)


def axis_distance(weights: Floats, floor: Floats | None = None) -> Floats:
    """Return, (d,), how far stream k alone can grow from the origin, or from `floor`: min_i 1 / w_ik."""
    margins = np.broadcast_to(_margins(weights, floor)[:, None], weights.shape)
    distance: Floats = _reach(margins, weights).min(axis=0)
    return distance


def _reach(margins: Floats, slopes: Floats) -> Floats:
    """Return margin / slope: infinite where there is no slope, or next to none."""
    with np.errstate(over="ignore"):
        reach: Floats = np.divide(margins, slopes, out=np.full(slopes.shape, np.inf), where=slopes > 0)
    return reach


def axis_bound(weights: Floats) -> float:
    """Return prod_k min_i 1 / w_ik, a lower bound of the ratio: the simplex below the axis points fits inside."""
    return float(np.prod(axis_distance(weights)))


def plane_bound(weights: Floats) -> float:
    """Return the size, over that of the ideal set, of the ball around the origin that no hyperplane cuts.

    This is a lower bound of the ratio: the part of the ball with positive coordinates fits inside.
    """
    d = weights.shape[1]
    radius = float(plane_distance(weights).min())
    if math.isinf(radius):
        return 1.0 if d == 0 else math.inf
    ball = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1) + d * math.log(radius)
    return math.exp(math.lgamma(d + 1) + ball - d * math.log(2))


def floor_point(rates: Floats, totals: Floats, capacity: Floats) -> Floats:
    """Return the point y_k = r_k l_k / C_T of lower bounds R_L on the rates, (d,), without streams of l_k = 0."""
    loads = totals > 0
    point: Floats = rates[loads] * totals[loads] / capacity.sum()
    return point


def remaining_weights(weights: Floats, floor: Floats) -> Floats:
    """Return the weights whose ratio is that of what remains of the feasible set above `floor`, (d,).

    Moving the origin to the floor turns W_i . y <= 1 into W_i . z <= 1 - W_i . floor, and the ideal set into a simplex
    of height 1 - sum floor. Dividing by both gives a problem of the original form. On nodes that the floor fills,
    weights are infinite and the ratio is 0.
    """
    height = 1 - float(floor.sum())
    margins = _margins(weights, floor)[:, None]
    if height <= 0:
        return np.full(weights.shape, np.inf)
    remaining: Floats = np.divide(weights * height, margins, out=np.full(weights.shape, np.inf), where=margins > 0)
    return remaining


def remaining_ratio(weights: Floats, floor: Floats, points: Floats) -> float:
    """Return the size of the feasible set above `floor`, (d,), over that of the ideal set above it; 0 if empty."""
    return feasible_ratio(remaining_weights(weights, floor), points)


def _margins(weights: Floats, floor: Floats | None) -> Floats:
    """Return 1 - W_i . floor, (n,)."""
    if floor is None:
        return np.ones(len(weights))
    margins: Floats = 1 - weights @ floor
    return margins

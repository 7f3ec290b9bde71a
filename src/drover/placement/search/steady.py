"""Local search over moves and swaps for lower variance than COR-GLB's, optionally within a budget of moved state.

Rule 1: variance and balance form one objective: K = Y Y'/h + lambda E E' [products of centred loads and of mean loads].
Rule 2: short windows are not trusted alone. K is shrunk towards the linear model, if there is one, because a stream
that was idle for the whole window would otherwise seem to cost nothing.
Rule 3: what does not follow the rates of streams counts as noise, the more so the more of the loads does follow them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.load.arrays import Floats, Ints
from drover.placement.correlation.pairwise import movable, starting_plan
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import Flags, PlacementProblem
from drover.placement.rules import Conflicts, repair
from drover.placement.score import score
from drover.placement.search import variance_kernels as kernels
from drover.placement.search.variance_kernels import VarianceProblem, VarianceState

ROUNDING: Final = 1e-12  # relative to F: a smaller gain counts as none
LARGEST: Final = 8000  # limit on units: K then has 64 million entries
CHARGES: Final = 16  # steps of the bisection for the charge per moved byte
SWAPS: Final = 1000  # largest number of units for which a budgeted search also tries all swaps


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """What counts as steady."""

    balance: float = 0.05  # initial lambda
    uneven: float = 0.008  # fraction of the mean load by which a node may differ from it, where possible
    raises: int = 8  # how often lambda doubles until nodes are that even
    shrink: float = 0.4  # weight of the linear model for an empty window
    trusted: int = 40  # window length from which on the model has no weight; it fades out towards it
    sweeps: int = 50  # limit on the sweeps of one descent
    kicks: int = 60  # descents from randomly perturbed plans; the best result is kept
    strength: float = 0.015  # fraction of the units that a kick moves


DEFAULT: Final = Steadiness()
# A few moves fit a window less closely than a complete plan does, and need less weight of the model against that.
FEW_MOVES: Final = Steadiness(shrink=0.2, balance=0.1)


def features(problem: PlacementProblem, settings: Steadiness = DEFAULT) -> Floats:
    """Return, (m, f), the features whose products are K: centred loads, mean loads, and loads by the linear model.

    The model takes streams as independent and equally variable, and is scaled to the measured variance.
    """
    problem.need("series", "steady or thrifty")
    h = problem.series.shape[1]
    mean = np.sqrt(settings.balance) * problem.load[:, None]
    model = problem.coefficients * problem.rates if len(problem.rates) else np.empty((problem.m, 0))
    centred = cleaned((problem.series - problem.series.mean(axis=1, keepdims=True)) / np.sqrt(h), model)
    scale = float((model**2).sum())
    # The longer the window, the less weight the model gets.
    weight = settings.shrink * max(0.0, 1 - h / settings.trusted) if scale > 0 else 0.0
    if weight == 0:
        return np.hstack([centred, mean])
    model = model * np.sqrt(weight * float((centred**2).sum()) / scale)
    return np.hstack([np.sqrt(1 - weight) * centred, mean, model])


def cleaned(centred: Floats, model: Floats) -> Floats:
    """Return centred loads, (m, h), with less of what a linear model's loads by stream, (m, d), do not explain."""
    total = float((centred**2).sum())
    if not model.any() or total == 0:
        return centred
    basis = np.linalg.svd(model, full_matrices=False)
    # Directions with a tiny singular value are rounding errors of the decomposition.
    axes = basis.U[:, basis.S[0] * ROUNDING < basis.S]
    explained: Floats = axes @ (axes.T @ centred)
    return explained + (1 - float((explained**2).sum()) / total) * (centred - explained)


def variance_problem(problem: PlacementProblem, settings: Steadiness, free: Flags) -> VarianceProblem:
    """Return the arrays of a problem for the search."""
    if problem.m > LARGEST:
        raise ProblemError(
            f"there are {problem.m} units, but this search over all pairs handles at most {LARGEST}. "
            "Split the nodes into domains, or fuse small units."
        )
    seen = features(problem, settings)
    conflicts = Conflicts.of(problem)
    gram = seen @ seen.T
    least = ROUNDING * float(np.trace(gram)) / problem.capacity.min()
    rules = (np.asarray(free), problem.reachable(), conflicts.start, conflicts.near)
    return VarianceProblem(gram, 1 / problem.capacity, *rules, max(least, np.finfo(np.float64).tiny))


def variance_state(arrays: VarianceProblem, places: Ints) -> VarianceState:
    """Return a plan as arrays that the kernels change in place."""
    state = VarianceState(np.array(places, dtype=np.int64), np.empty((len(arrays.inverse), len(places))))
    kernels.recompute(arrays, state)
    return state


def descend(
    problem: PlacementProblem,
    places: Ints,
    rng: Generator,
    settings: Steadiness = DEFAULT,
    *,
    fixed: Flags | None = None,
) -> Ints:
    """Return a steadier plan than a valid one, or the given plan; `fixed` units, (m,), stay."""
    free = np.ones(problem.m, dtype=np.bool_) if fixed is None else ~fixed
    arrays = variance_problem(problem, settings, free)
    state = variance_state(arrays, places)
    order = np.lexsort((np.arange(problem.m), -problem.load))
    kernels.descend(arrays, state, order, settings.sweeps)
    best = kernels.value(arrays, state)
    kept = state.places.copy()
    count = math.ceil(settings.strength * problem.m)
    for _ in range(settings.kicks if problem.n > 1 else 0):
        # A kick is a random perturbation: it lets the descent leave a local optimum.
        for j, b in zip(rng.integers(0, problem.m, count), rng.integers(0, problem.n, count), strict=True):
            if arrays.movable[j] and kernels.fits(arrays, state.places, j, b, -1):
                kernels.carry_out(arrays, state, j, b)
        kernels.descend(arrays, state, order, settings.sweeps)
        found = kernels.value(arrays, state)
        if found < best - arrays.gain:
            best = found
            kept = state.places.copy()
        else:
            state = variance_state(arrays, kept)
    return kept


def place_steady(problem: PlacementProblem, rng: Generator, settings: Steadiness = DEFAULT) -> Ints:
    """Place by COR-GLB, then search with a weight of imbalance that doubles until the nodes are even.

    One weight for all problems would have to be high enough for the worst, and would make the others less steady.
    """
    places = repair(problem, place_correlated(problem, rng))
    for k in range(settings.raises + 1):
        places = descend(problem, places, rng, replace(settings, balance=settings.balance * 2**k))
        # The next descent starts from this plan, so doubling the weight costs little time.
        if score(problem, places).imbalance <= settings.uneven:
            break
    return places


def improve_within_budget(
    problem: PlacementProblem,
    places: Ints,
    budget: float,
    settings: Steadiness = FEW_MOVES,
    *,
    cost: Floats | None = None,
) -> Ints:
    """Return the best plan found within a budget of moves from a valid one; `cost`, (m,), defaults to bytes of state.

    Sticky units move only from overloaded nodes.
    """
    arrays = variance_problem(problem, settings, movable(problem, places))
    price = np.array(problem.state if cost is None else cost, dtype=np.float64)
    state = variance_state(arrays, places)
    kernels.spend(arrays, state, np.array(places), price, float(budget), problem.m <= SWAPS)
    found = [state.places, *_charged_plans(problem, arrays, places, price, float(budget), settings)]
    return min(found, key=lambda plan: kernels.value(arrays, variance_state(arrays, plan)))


def _charged_plans(
    problem: PlacementProblem, arrays: VarianceProblem, places: Ints, cost: Floats, budget: float, settings: Steadiness
) -> Iterator[Ints]:
    """Yield plans within the budget: every move is charged, and bisection finds the lowest charge that fits.

    This finds moves that are good together, where a greedy choice of single moves does not.
    """
    order = np.lexsort((np.arange(problem.m), -problem.load))
    total = float(cost.sum())
    if total <= 0:
        return
    start = kernels.value(arrays, variance_state(arrays, places))
    low = 0.0
    # At ten times the mean value per byte, hardly any move is worth its charge: a safe upper end.
    high = 10 * start / total
    for _ in range(CHARGES):
        charge = (low + high) / 2
        state = variance_state(arrays, places)
        kernels.descend_with_charge(arrays, state, np.array(places), cost, charge, order, settings.sweeps)
        if cost[state.places != places].sum() <= budget:
            high = charge
            yield state.places
        else:
            low = charge


def place_thriftily(problem: PlacementProblem, rng: Generator) -> Ints:
    """Improve the current plan by worthwhile moves: at most a tenth of all state, or of all load if none is known."""
    cost = problem.state if problem.state.any() else problem.load
    return improve_within_budget(problem, starting_plan(problem, rng), 0.1 * float(cost.sum()), cost=cost)

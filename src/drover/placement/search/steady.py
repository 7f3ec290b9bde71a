"""Steadier nodes than COR-GLB's: local search over moves and swaps, within a budget of moved state if need be.

Rule 1: variance and balance are one objective: K = Y Y'/h + lambda E E' [products of centred loads and of mean loads].
Rule 2: short windows are not trusted alone: K is shrunk towards what the linear model says, where there is one, because
a stream that was idle all window otherwise looks as if it cost nothing.
Rule 3: nor is every wiggle in them: what does not follow the rates of streams is taken for noise, the more so the more
of the loads does follow them.
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
from drover.placement.correlation.pairwise import begin, movable
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import Flags, Problem
from drover.placement.rules import Conflicts, repair
from drover.placement.score import score
from drover.placement.search.variance import kernels
from drover.placement.search.variance.kernels import Field, State

ROUNDING: Final = 1e-12  # of F: a smaller gain is none
LARGEST: Final = 8000  # units: K has 64 million entries
CHARGES: Final = 16  # tried, each half way between one that was too low and one that was not
SWAPS: Final = 1000  # units up to which a budget looks at swaps, too: each step then looks at all pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """What counts as steady."""

    balance: float = 0.05  # lambda, to begin with
    uneven: float = 0.008  # share of the mean load that a node may be off it, where that can be had
    raises: int = 8  # of lambda, each time twofold, until nodes are that even
    shrink: float = 0.4  # weight of the linear model where nothing was measured yet
    trusted: int = 40  # samples from which on the window needs no model: shrink fades out towards them
    sweeps: int = 50  # of one descent
    kicks: int = 60  # descents from plans in which some units were moved at random; the best is kept
    strength: float = 0.015  # share of the units that a kick moves


DEFAULT: Final = Steadiness()
# Few moves fit a window less closely than a whole plan does, and need less of the model against that.
FEW_MOVES: Final = Steadiness(shrink=0.2, balance=0.1)


def features(problem: Problem, settings: Steadiness = DEFAULT) -> Floats:
    """Return, (m, f), the features whose products are K: centred loads, mean loads, and loads by the linear model.

    The model takes streams for independent and equally variable, and is scaled to the variance that was measured.
    """
    problem.need("series", "steady or thrifty")
    h = problem.series.shape[1]
    mean = np.sqrt(settings.balance) * problem.load[:, None]
    model = problem.coefficients * problem.rates if len(problem.rates) else np.empty((problem.m, 0))
    centred = cleaned((problem.series - problem.series.mean(axis=1, keepdims=True)) / np.sqrt(h), model)
    scale = float((model**2).sum())
    weight = settings.shrink * max(0.0, 1 - h / settings.trusted) if scale > 0 else 0.0
    if weight == 0:
        return np.hstack([centred, mean])
    model = model * np.sqrt(weight * float((centred**2).sum()) / scale)
    return np.hstack([np.sqrt(1 - weight) * centred, mean, model])


def cleaned(centred: Floats, model: Floats) -> Floats:
    """Return centred loads, (m, h), with less of what the loads by stream of a linear model, (m, d), do not explain."""
    total = float((centred**2).sum())
    if not model.any() or total == 0:
        return centred
    basis = np.linalg.svd(model, full_matrices=False)
    axes = basis.U[:, basis.S[0] * ROUNDING < basis.S]
    explained: Floats = axes @ (axes.T @ centred)
    return explained + (1 - float((explained**2).sum()) / total) * (centred - explained)


def take_field(problem: Problem, settings: Steadiness, free: Flags) -> Field:
    """Return what a search has to know of a problem."""
    if problem.m > LARGEST:
        raise ProblemError(
            f"there are {problem.m} units, but a search over all pairs takes at most {LARGEST}. "
            "Split the nodes into domains, or fuse small units."
        )
    seen, conflicts = features(problem, settings), Conflicts.of(problem)
    gram = seen @ seen.T
    least = ROUNDING * float(np.trace(gram)) / problem.capacity.min()
    rules = (np.asarray(free), problem.reachable(), conflicts.start, conflicts.near)
    return Field(gram, 1 / problem.capacity, *rules, max(least, np.finfo(np.float64).tiny))


def take_state(field: Field, places: Ints) -> State:
    """Return a plan as the kernels change it."""
    state = State(np.array(places, dtype=np.int64), np.empty((len(field.inverse), len(places))))
    kernels.settle(field, state)
    return state


def descend(
    problem: Problem, places: Ints, rng: Generator, settings: Steadiness = DEFAULT, *, fixed: Flags | None = None
) -> Ints:
    """Return a steadier plan than a sound one, or that one; `fixed` units, (m,), stay."""
    free = np.ones(problem.m, dtype=np.bool_) if fixed is None else ~fixed
    field = take_field(problem, settings, free)
    state = take_state(field, places)
    order = np.lexsort((np.arange(problem.m), -problem.load))
    kernels.descend(field, state, order, settings.sweeps)
    best, kept = kernels.value(field, state), state.places.copy()
    count = math.ceil(settings.strength * problem.m)
    for _ in range(settings.kicks if problem.n > 1 else 0):
        for j, b in zip(rng.integers(0, problem.m, count), rng.integers(0, problem.n, count), strict=True):
            if field.movable[j] and kernels.fits(field, state.places, j, b, -1):
                kernels.carry_out(field, state, j, b)
        kernels.descend(field, state, order, settings.sweeps)
        found = kernels.value(field, state)
        if found < best - field.gain:
            best, kept = found, state.places.copy()
        else:
            state = take_state(field, kept)
    return kept


def place_steady(problem: Problem, rng: Generator, settings: Steadiness = DEFAULT) -> Ints:
    """Place by COR-GLB, then search, at a price of imbalance that rises until nodes are even.

    One price for all would have to be high enough for the worst problem, and cost the others steadiness.
    """
    places = repair(problem, place_correlated(problem, rng))
    for k in range(settings.raises + 1):
        places = descend(problem, places, rng, replace(settings, balance=settings.balance * 2**k))
        if score(problem, places).imbalance <= settings.uneven:
            break
    return places


def within(
    problem: Problem, places: Ints, budget: float, settings: Steadiness = FEW_MOVES, *, cost: Floats | None = None
) -> Ints:
    """Return the best plan found within a budget of moves from a sound one; `cost`, (m,), is bytes of state else.

    Sticky units move only in need.
    """
    field = take_field(problem, settings, movable(problem, places))
    price = np.array(problem.state if cost is None else cost, dtype=np.float64)
    state = take_state(field, places)
    kernels.spend(field, state, np.array(places), price, float(budget), problem.m <= SWAPS)
    found = [state.places, *_haggle(problem, field, places, price, float(budget), settings)]
    return min(found, key=lambda plan: kernels.value(field, take_state(field, plan)))


def _haggle(
    problem: Problem, field: Field, places: Ints, cost: Floats, budget: float, settings: Steadiness
) -> Iterator[Ints]:
    """Yield plans within the budget: moves are charged for, and the charge is lowered as far as the budget allows.

    What is bought one by one is not always the best for its price together.
    """
    order, total = np.lexsort((np.arange(problem.m), -problem.load)), float(cost.sum())
    if total <= 0:
        return
    start = kernels.value(field, take_state(field, places))
    low, high = 0.0, 10 * start / total
    for _ in range(CHARGES):
        charge = (low + high) / 2
        state = take_state(field, places)
        kernels.haggle(field, state, np.array(places), cost, charge, order, settings.sweeps)
        if cost[state.places != places].sum() <= budget:
            high = charge
            yield state.places
        else:
            low = charge


def place_thriftily(problem: Problem, rng: Generator) -> Ints:
    """Improve the current plan by moves worth it: a tenth of all state at most, or of load if none is known."""
    cost = problem.state if problem.state.any() else problem.load
    return within(problem, begin(problem, rng), 0.1 * float(cost.sum()), cost=cost)

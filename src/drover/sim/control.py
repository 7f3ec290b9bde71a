"""Control: what is decided, when, and from which samples.

Rule 1: what was measured becomes a placement problem the way it does everywhere else in drover: a window of samples, a
settled profile, ideal load series. Rule 2: whoever decides is a function from that problem, and chance, to places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError, nearest
from drover.load.arrays import Flags, Floats, Ints
from drover.load.profile import Origin, Profile, settle
from drover.load.sample import Sample
from drover.load.series import measured_series
from drover.load.statistics import Behaviour, Statistics
from drover.load.window import PERIODS, Window, measured
from drover.network.operators import Join
from drover.placement.correlation import pairwise
from drover.placement.model import problem_of, unit_names
from drover.placement.policy import POLICIES, propose
from drover.placement.problem import NOWHERE, Problem
from drover.placement.rules import fuse, repair
from drover.sim.model import Model
from drover.sim.world import Books


class Decide(Protocol):
    """Decides where units go."""

    def __call__(self, problem: Problem, rng: Generator, /) -> Ints:
        """Return places, (m,), for the units of a problem; they keep its rules."""


Decider: TypeAlias = str | Decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A control loop: samples of a length, a window of the last of them, a decision every period.

    `first` makes a plan once, at `first_at`; `policy` decides every `period` from `begin` on. Both times are the end of
    the warm-up unless they are given. A policy that works pair by pair runs `rounds` rounds at a time.
    """

    policy: Decider | None = None
    first: Decider | None = None
    period: float = 1.0  # seconds between decisions
    window: int = PERIODS  # samples, h
    sample: float = 1.0  # seconds
    begin: float | None = None  # seconds
    first_at: float | None = None  # seconds
    rounds: int = 1

    def __post_init__(self) -> None:
        """Refuse lengths that are none and policies that nobody knows."""
        for name in ("period", "window", "sample", "rounds"):
            value = getattr(self, name)
            if not value > 0 or not np.isfinite(value):
                raise ProblemError(f"control.{name} is {value}, but must be above 0 and finite. Give 1.")
        for name in ("policy", "first"):
            policy = getattr(self, name)
            if isinstance(policy, str) and policy not in POLICIES:
                known = ", ".join(POLICIES)
                raise ProblemError(
                    f"control.{name} is {policy!r}, but there is no policy of that name. "
                    f"{nearest(policy, POLICIES)}Known: {known}."
                )


def decider(policy: Decider, rounds: int = 1) -> Decide:
    """Return the function that decides by a policy of that name, or the function itself."""
    if not isinstance(policy, str):
        return policy
    if policy not in pairwise.METHODS:
        return lambda problem, rng: propose(problem, policy, rng)
    step = pairwise.policy(policy, rounds=rounds)

    def improve(problem: Problem, rng: Generator, /) -> Ints:
        fused = fuse(problem)
        return fused.spread(repair(fused.problem, step(fused.problem, rng)))

    return improve


def samples(model: Model, books: Books) -> Iterator[Sample]:
    """Yield what each operator did in a period, if it did anything."""
    taken, given, busy = books.taken.tolist(), books.given.tolist(), books.busy.tolist()
    rows: list[dict[str, float]] = [{} for _ in model.operators]
    for port in range(len(taken) - 1, -1, -1):  # the left side last: a stream on both sides of a join counts once
        rows[model.reader[port]][model.streams[model.read[port]]] = taken[port]
    for j, name in enumerate(model.operators):
        if any(rows[j].values()):
            made = range(model.first[j], model.first[j + 1])
            yield Sample(name, rows[j], {model.streams[stream]: given[stream] for stream in made}, busy[j])


def take_note(model: Model, window: Window, number: int, seconds: float, books: Books) -> Window:
    """Return the window with one more period."""
    arrived = {name: float(count) for name, count in zip(model.sources, books.arrived, strict=True)}
    return window.push(number, seconds, arrived, samples(model, books))


def statistics_of(profile: Profile) -> Statistics:
    """Return what a profile says, so that it stands in where nothing was measured yet."""
    said: dict[str, Behaviour] = {}
    for operator in profile.network.operators:
        shares = {stream: profile.selectivities[stream] for stream in operator.outputs}
        found_at: dict[str, float] = {}
        if isinstance(operator, Join) and profile.gains[operator.name] > 0:
            # Rates, equal on both sides, at which the join's gain is what it is: see `find_gains`.
            rate = len(set(operator.inputs)) / profile.gains[operator.name]
            found_at = dict.fromkeys(operator.inputs, rate)
        said[operator.name] = Behaviour(profile.costs[operator.name], shares, found_at=found_at)
    return Statistics(profile.rates, said)


def problem_at(
    model: Model, window: Window, capacity: Floats, current: Ints, pinned: Ints, state: Floats, alive: Flags
) -> Problem:
    """Return the problem of placing units on the nodes that are alive, (n,), as the window shows it.

    `current`, `pinned` and `state`, (units,), are by unit; the problem's nodes are the living ones, in their order.
    Links cost no busy time, since they cost none in the simulator.
    """
    known = [(Origin.MEASURED, measured(window))] if window.periods else []
    profile = settle(model.profile.network, [*known, (Origin.GIVEN, statistics_of(model.profile))])
    series = measured_series(window, profile, unit_names(profile.network)) if window.periods else None
    problem = problem_of(profile, capacity[alive], series=series)
    number = np.append(np.where(alive, np.cumsum(alive) - 1, NOWHERE), NOWHERE)  # the last is that of nowhere
    return replace(
        problem,
        current=number[current],
        pinned=number[pinned],
        state=state,
        links=replace(problem.links, communication=0 * problem.links.communication),
    )

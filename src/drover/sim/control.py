"""The simulated control loop: when it decides, and from which samples.

Rule 1: measurements become a placement problem as on the real engine: samples of a window, then a load profile, then
ideal load series. Rule 2: a decision is a function from that problem and a random generator to places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError, nearest
from drover.load.arrays import Flags, Floats, Ints
from drover.load.profile import Origin, make_profile
from drover.load.window import PERIODS
from drover.placement.correlation import pairwise
from drover.placement.model import problem_of
from drover.placement.policy import POLICIES, propose
from drover.placement.problem import NOWHERE, PlacementProblem
from drover.placement.rules import fuse, repair
from drover.sim.meter import SimulatedPeriods, measured, measured_series


class Decide(Protocol):
    """Decides on the node of each unit."""

    def __call__(self, problem: PlacementProblem, rng: Generator, /) -> Ints:
        """Return places, (m,), for the units of a problem, within its rules."""


Decider: TypeAlias = str | Decide


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedControl:
    """Settings of the control loop: length of a sample, window of samples, seconds between decisions.

    `first` makes a plan once, at `first_at`. `policy` decides every `period`, from `begin` on. Both times default to
    the end of the warm-up. A pairwise policy runs `rounds` rounds per decision.
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
        """Raise ProblemError for a length that is not positive, or an unknown policy."""
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
    """Return the function for the name of a policy; a function is returned as it is."""
    if not isinstance(policy, str):
        return policy
    if policy not in pairwise.METHODS:
        return lambda problem, rng: propose(problem, policy, rng)
    step = pairwise.policy(policy, rounds=rounds)

    def improve(problem: PlacementProblem, rng: Generator, /) -> Ints:
        fused = fuse(problem)
        return fused.spread(repair(fused.problem, step(fused.problem, rng)))

    return improve


def problem_at(
    history: SimulatedPeriods, capacity: Floats, current: Ints, pinned: Ints, state: Floats, alive: Flags
) -> PlacementProblem:
    """Return the problem of placing units on the nodes that are `alive`, (n,), from the measured history.

    `current`, `pinned` and `state`, (units,), are by unit. The nodes of the problem are those alive, in their order.
    Links cost no busy time in the problem, because they cost none in the simulator.
    """
    known = [(Origin.MEASURED, measured(history))] if history else []
    profile = make_profile(history.model.profile.network, [*known, (Origin.GIVEN, history.said)])
    problem = problem_of(profile, capacity[alive], series=measured_series(history, profile) if history else None)
    number = np.append(np.where(alive, np.cumsum(alive) - 1, NOWHERE), NOWHERE)  # the last entry maps NOWHERE to itself
    return replace(
        problem,
        current=number[current],
        pinned=number[pinned],
        state=state,
        links=replace(problem.links, communication=0 * problem.links.communication),
    )

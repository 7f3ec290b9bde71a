"""One run: arrivals in, periods out, decisions and happenings in between.

Rule 1: what falls on the same time is done in this order: the period ends, nodes come and go, units resume, the control
loop decides; only then events at that time happen. Rule 2: deciding takes no virtual time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from drover.errors import ProblemError
from drover.load.arrays import Flags, Floats
from drover.placement.problem import NOWHERE, Problem
from drover.sim.arrivals import Feed
from drover.sim.cluster import Add, Cluster, Happening, Kill
from drover.sim.control import Control, Decide, decider, problem_at
from drover.sim.core import Core
from drover.sim.meter import open_ledger
from drover.sim.model import Model
from drover.sim.recorder import Moved, Recorder

DECISIONS: Final = 4  # part of a seed
FEWEST, MOST = 50_000, 200_000  # arrivals in a stretch, if it can be
ROUNDING: Final = 1e-9  # share of a run that is no period of its own
RESCUE: Final = "largest-first"  # places units of a node that goes if there is no control loop, or no sample yet


@dataclass(frozen=True, slots=True)
class Span:
    """How long a run is, and how long its parts are; seconds."""

    seconds: float
    warmup: float
    sample: float


class Loop:
    """A run that can be stepped through to its end."""

    def __init__(
        self, engine: Core, arrivals: tuple[Feed, ...], cluster: Cluster, control: Control, span: Span
    ) -> None:
        self.engine, self.arrivals, self.cluster, self.control, self.span = engine, arrivals, cluster, control, span
        self.model: Model = engine.model
        self.places = np.zeros(len(self.model.units), dtype=np.int64)  # (units,)
        self.places[self.model.unit_of] = engine.place
        self.alive: Flags = np.arange(cluster.most) < cluster.n
        self.resuming: dict[int, float] = {}  # unit -> when
        self.happenings = list(cluster.happenings)
        self.ledger = open_ledger(self.model, control.window)
        self.recorder = Recorder(self.model, cluster.capacities, control.window, span.warmup)
        self.periods = 0
        self.lost = 0.0
        self.fed, self.stretch = 0.0, span.sample / 8  # rates may be high: begin with little
        self.known, self.decisions = cluster.n, 0
        self.first_plan = np.inf if control.first is None else _given(control.first_at, span.warmup)

    def run(self, seed: int) -> Recorder:
        """Go to the end."""
        rng = default_rng(SeedSequence((seed, DECISIONS)))
        now = 0.0
        while now < self.span.seconds:
            self._begin_events(now, rng)
            now = self._next_stop()
            self.engine.advance(now)
        self._close_period(now)
        return self.recorder

    def _next_stop(self) -> float:
        times = [self._period_end(), self.fed, self._next_decision(), self.first_plan, *self.resuming.values()]
        return min(*times, *(what.at for what in self.happenings[:1]))

    def _period_end(self) -> float:
        """Return when the present period ends; rounding must not leave a rest of nothing at the end."""
        end = (self.periods + 1) * self.span.sample
        return end if end < self.span.seconds * (1 - ROUNDING) else self.span.seconds

    def _next_decision(self) -> float:
        if self.control.policy is None:
            return np.inf
        return _given(self.control.begin, self.span.warmup) + self.decisions * self.control.period

    def _begin_events(self, now: float, rng: Generator) -> None:
        """Do what is due at a time, before events at that time."""
        if now >= self._period_end():
            self._close_period(now)
        while self.happenings and self.happenings[0].at <= now:
            self._happen(self.happenings.pop(0), now, rng)
        for unit in [unit for unit, at in self.resuming.items() if at <= now]:
            del self.resuming[unit]
            for j in np.flatnonzero(self.model.unit_of == unit):
                self.engine.resume(int(j), now)
        if now >= self.first_plan and self.control.first is not None:
            self._demand_samples()
            self.first_plan = np.inf
            self._decide(decider(self.control.first, self.control.rounds), now, rng)
        if now >= self._next_decision() and self.control.policy is not None:
            self.decisions += 1
            if self.ledger:  # nobody decides by nothing
                self._decide(decider(self.control.policy, self.control.rounds), now, rng)
        if now >= self.fed:
            self._feed()

    def _demand_samples(self) -> None:
        if not self.ledger:
            raise ProblemError(
                f"control.first_at is {self.first_plan:g}, but nothing has been measured by then. "
                f"Give a warm-up of at least a sample, {self.span.sample:g} seconds."
            )

    def _feed(self) -> None:
        """Draw the arrivals of the next stretch; a stretch is as long as keeps their number within bounds."""
        stop = min(self.fed + self.stretch, self.span.seconds)
        found = [source.before(stop) for source in self.arrivals]
        count = sum(map(len, found))
        self.stretch *= 2.0 if count < FEWEST else 0.5 if count > MOST else 1.0
        self.fed = stop
        self.engine.feed(found)

    def _close_period(self, now: float) -> None:
        begin = self.periods * self.span.sample
        books = self.engine.close_books(now)
        lost, self.lost = self.engine.lost - self.lost, self.engine.lost
        self.recorder.close_period((begin, now), books, self.engine.queued(), lost, self.places, self.alive)
        self.periods += 1
        if self.control.policy is not None or self.control.first is not None or self.cluster.happenings:
            self.ledger = self.ledger.push(now - begin, books)
        if begin < self.span.warmup:  # the next period may be the first that counts
            self.engine.kept[:] = 0

    def _problem(self, homeless: Flags, fixed: Flags, held: Floats) -> Problem:
        """Return the problem at present: `homeless` units, (units,), are nowhere; `fixed` and moving ones stay."""
        current = np.where(homeless, NOWHERE, self.places)
        pinned = np.where(fixed, self.places, NOWHERE)
        moving = [unit for unit in self.resuming if not homeless[unit]]
        pinned[moving] = self.places[moving]
        return problem_at(self.ledger, self.cluster.capacities, current, pinned, held, self.alive)

    def _decide(
        self, decide: Decide, now: float, rng: Generator, *, leaving: int = NOWHERE, outage: float = 0.0
    ) -> None:
        """Ask for places, and move the units whose place is another.

        If a node is `leaving`, its units are placed and all others stay; `outage` seconds pass before they move.
        """
        homeless = self.places == leaving
        held = np.bincount(self.model.unit_of, self.engine.state(), len(self.places)).astype(np.float64)
        problem = self._problem(homeless, ~homeless & (leaving != NOWHERE), held)
        places = np.flatnonzero(self.alive)[decide(problem, rng)]
        units = np.flatnonzero(places != self.places)
        for unit in units.tolist():
            own = np.flatnonzero(self.model.unit_of == unit)
            started = max(self.engine.free_at(own, now), now + outage)
            self.resuming[unit] = started + self.cluster.migration.seconds(len(own), float(held[unit]))
            source, target = int(self.places[unit]), int(places[unit])
            figures = (float(problem.load[unit]), self.resuming[unit] - now, float(held[unit]))
            self.recorder.moves.append(Moved(now, self.model.units[unit], source, target, *figures))
        if len(units):
            self.engine.suspend(np.isin(self.model.unit_of, units), places[self.model.unit_of])
        self.places = places

    def _happen(self, what: Happening, now: float, rng: Generator) -> None:
        """Let a node come or go."""
        if isinstance(what, Add):
            self.alive[self.known] = True
            self.known += 1
            return
        if not self.alive[what.node] or self.alive.sum() == 1:
            why = "is the last one" if self.alive[what.node] else "is not there at that time"
            raise ProblemError(f"{what} names node {what.node}, which {why}. Name another, or leave it out.")
        self.alive[what.node] = False
        on_it = self.places[self.model.unit_of] == what.node
        if isinstance(what, Kill):
            self.engine.suspend(on_it, self.places[self.model.unit_of])
            self.engine.kill(what.node, now, replay=what.replay)
        if on_it.any():
            policy = (self.ledger and (self.control.policy or self.control.first)) or RESCUE
            outage = what.outage if isinstance(what, Kill) else 0.0
            self._decide(decider(policy, self.control.rounds), now, rng, leaving=what.node, outage=outage)


def _given(time: float | None, warmup: float) -> float:
    return warmup if time is None else time

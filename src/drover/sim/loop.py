"""The loop of a simulation: it feeds arrivals, closes periods, and applies decisions and node changes between events.

Rule 1: at equal times the order is: the period ends, nodes come and go, units resume, the control loop decides. Events
of that time come last. Rule 2: a decision takes no virtual time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from drover.errors import ProblemError
from drover.load.arrays import Flags, Floats
from drover.placement.problem import NOWHERE, PlacementProblem
from drover.sim.arrivals import Feed
from drover.sim.cluster import Add, Kill, NodeEvent, SimulatedCluster
from drover.sim.control import Decide, SimulatedControl, decider, problem_at
from drover.sim.core import Core
from drover.sim.meter import empty_history
from drover.sim.model import Model
from drover.sim.recorder import RecordedMove, Recorder

DECISIONS: Final = 4  # part of a seed
# bounds on the arrivals drawn at once
FEWEST = 50_000
MOST = 200_000
ROUNDING: Final = 1e-9  # fraction of a run that is too short for a period of its own
RESCUE: Final = "largest-first"  # places the units of a lost node if there is no control loop, or no sample yet


@dataclass(frozen=True, slots=True)
class Span:
    """The length of a run, of its warm-up and of its periods, in seconds."""

    seconds: float
    warmup: float
    sample: float


class Loop:
    """One simulation run."""

    def __init__(
        self, engine: Core, arrivals: tuple[Feed, ...], cluster: SimulatedCluster, control: SimulatedControl, span: Span
    ) -> None:
        self.engine = engine
        self.arrivals = arrivals
        self.cluster = cluster
        self.control = control
        self.span = span
        self.model: Model = engine.model
        self.places = np.zeros(len(self.model.units), dtype=np.int64)  # (units,)
        self.places[self.model.unit_of] = engine.place
        self.alive: Flags = np.arange(cluster.most) < cluster.n
        self.resuming: dict[int, float] = {}  # unit -> time
        self.node_events = list(cluster.node_events)
        self.history = empty_history(self.model, control.window)
        self.recorder = Recorder(self.model, cluster.capacities, control.window, span.warmup)
        self.periods = 0
        self.lost = 0.0
        # The rates are not known yet and may be high, so the first stretch is short.
        self.fed = 0.0
        self.stretch = span.sample / 8
        self.known = cluster.n
        self.decisions = 0
        self.first_plan = np.inf if control.first is None else _given(control.first_at, span.warmup)

    def run(self, seed: int) -> Recorder:
        """Run to the end and return the recorder."""
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
        return min(*times, *(what.at for what in self.node_events[:1]))

    def _period_end(self) -> float:
        """Return the end of the present period; rounding must not leave an empty period at the end of the run."""
        end = (self.periods + 1) * self.span.sample
        return end if end < self.span.seconds * (1 - ROUNDING) else self.span.seconds

    def _next_decision(self) -> float:
        if self.control.policy is None:
            return np.inf
        return _given(self.control.begin, self.span.warmup) + self.decisions * self.control.period

    def _begin_events(self, now: float, rng: Generator) -> None:
        """Do everything that is due at `now`, before the events of that time."""
        if now >= self._period_end():
            self._close_period(now)
        while self.node_events and self.node_events[0].at <= now:
            self._apply(self.node_events.pop(0), now, rng)
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
            if self.history:  # a policy needs at least one sample
                self._decide(decider(self.control.policy, self.control.rounds), now, rng)
        if now >= self.fed:
            self._feed()

    def _demand_samples(self) -> None:
        if not self.history:
            raise ProblemError(
                f"control.first_at is {self.first_plan:g}, but no sample is complete by then. "
                f"Give a warm-up of at least a sample, {self.span.sample:g} seconds."
            )

    def _feed(self) -> None:
        """Draw the arrivals of the next stretch, and adapt its length to keep their number within bounds."""
        stop = min(self.fed + self.stretch, self.span.seconds)
        found = [source.before(stop) for source in self.arrivals]
        count = sum(map(len, found))
        self.stretch *= 2.0 if count < FEWEST else 0.5 if count > MOST else 1.0
        self.fed = stop
        self.engine.feed(found)

    def _close_period(self, now: float) -> None:
        begin = self.periods * self.span.sample
        counts = self.engine.take_counts(now)
        lost = self.engine.lost - self.lost
        self.lost = self.engine.lost
        self.recorder.close_period((begin, now), counts, self.engine.queued(), lost, self.places, self.alive)
        self.periods += 1
        if self.control.policy is not None or self.control.first is not None or self.cluster.node_events:
            self.history = self.history.push(now - begin, counts)
        if begin < self.span.warmup:  # latencies of the warm-up must not count
            self.engine.kept[:] = 0

    def _problem(self, orphaned: Flags, fixed: Flags, held: Floats) -> PlacementProblem:
        """Return the present problem: `orphaned` units, (units,), have no node; `fixed` and moving ones are pinned."""
        current = np.where(orphaned, NOWHERE, self.places)
        pinned = np.where(fixed, self.places, NOWHERE)
        moving = [unit for unit in self.resuming if not orphaned[unit]]
        pinned[moving] = self.places[moving]
        return problem_at(self.history, self.cluster.capacities, current, pinned, held, self.alive)

    def _decide(
        self, decide: Decide, now: float, rng: Generator, *, leaving: int = NOWHERE, outage: float = 0.0
    ) -> None:
        """Decide on places, and move the units whose node changes.

        If a node is `leaving`, only its units move, after `outage` seconds.
        """
        orphaned = self.places == leaving
        held = np.bincount(self.model.unit_of, self.engine.state(), len(self.places)).astype(np.float64)
        problem = self._problem(orphaned, ~orphaned & (leaving != NOWHERE), held)
        places = np.flatnonzero(self.alive)[decide(problem, rng)]
        units = np.flatnonzero(places != self.places)
        for unit in units.tolist():
            own = np.flatnonzero(self.model.unit_of == unit)
            started = max(self.engine.free_at(own, now), now + outage)
            self.resuming[unit] = started + self.cluster.migration.seconds(len(own), float(held[unit]))
            source = int(self.places[unit])
            target = int(places[unit])
            figures = (float(problem.load[unit]), self.resuming[unit] - now, float(held[unit]))
            self.recorder.moves.append(RecordedMove(now, self.model.units[unit], source, target, *figures))
        if len(units):
            self.engine.suspend(np.isin(self.model.unit_of, units), places[self.model.unit_of])
        self.places = places

    def _apply(self, what: NodeEvent, now: float, rng: Generator) -> None:
        """Add, drain or fail a node."""
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
            policy = (self.history and (self.control.policy or self.control.first)) or RESCUE
            outage = what.outage if isinstance(what, Kill) else 0.0
            self._decide(decider(policy, self.control.rounds), now, rng, leaving=what.node, outage=outage)


def _given(time: float | None, warmup: float) -> float:
    return warmup if time is None else time

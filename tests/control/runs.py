"""Runs of the control loop in virtual time: samples drawn, decisions made and carried out."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator, default_rng

from drover.control import state as states
from drover.control.capacity import capacities
from drover.control.context import ControlContext, Deployment
from drover.control.loop import step
from drover.control.record import PeriodOutcome, PeriodRecord
from drover.control.settings import Control
from drover.control.state import ControlState
from drover.control.view import view_of
from drover.load.arrays import Floats
from drover.load.profile import Profile, make_profile
from drover.load.sample import Sample
from drover.load.window import Window
from drover.network.model import Network
from drover.placement.plan import Plan, apply, by_hash, round_robin
from drover.sim.control import decider
from drover_lab.generate import ChainParameters, chains

Rates = Mapping[str, float]  # tuples per second, by source
RatesAt = Callable[[int, Rates], Rates]  # what is to be expected in a period
AUTO = Control(mode="auto")  # type: ignore[arg-type]  # a word is taken, too


def whole(network: Network, nodes: int) -> Plan:
    """Each chain on a node of its own, as far as there are."""
    return Plan(1, nodes, {one.name: int(one.name[1:].split("-")[0]) % nodes for one in network.operators})


PLANS: Mapping[str, Callable[[Network, int], Plan]] = {"round-robin": round_robin, "hash": by_hash, "whole": whole}


def chain_network(count: int = 4, cost: float = 1e-5) -> Network:
    """Chains of ten operators; at 1e-5 s per row, thousands of rows per second keep a few nodes busy."""
    return chains(default_rng(0), ChainParameters(chains=count, cost=cost))


def steady(_period: int, base: Rates) -> Rates:
    return base


def shifted(at: int, source: int | Collection[int], factor: float, seconds: int = 10**9) -> RatesAt:
    """One source, or several, are faster by a factor from a period on, for a while."""
    faster = {source} if isinstance(source, int) else set(source)

    def rates(period: int, base: Rates) -> Rates:
        high = at < period <= at + seconds
        return {name: rate * (factor if high and k in faster else 1) for k, (name, rate) in enumerate(base.items())}

    return rates


@dataclass(slots=True)
class Run:
    """A network under control. Rows come by chance, as Poisson says; `noise` is the deviation of what they cost."""

    deployment: Deployment
    settings: Control = AUTO
    load: float = 0.5  # of all nodes together, over their capacity
    noise: float = 0.05
    seed: int = 0
    size: int = 1000  # bytes of state per operator
    waits: float = 0.0  # share of busy seconds that need no core
    restarts: bool = False  # whether the state goes through JSON before every step
    state: ControlState = field(default_factory=ControlState)
    records: list[PeriodRecord] = field(default_factory=list)
    rng: Generator = field(init=False)
    profile: Profile = field(init=False)
    base: dict[str, float] = field(init=False)
    rates: Rates = field(init=False)  # to be expected in the last period

    def __post_init__(self) -> None:
        self.rng, self.profile = default_rng(self.seed), make_profile(self.deployment.network)
        cost = sum(float(load) for load in self.profile.loads(dict.fromkeys(self.profile.rates, 1.0)).values())
        each = self.load * float(self.capacity.sum()) / cost
        self.base = self.rates = dict.fromkeys(self.profile.rates, each)

    @property
    def context(self) -> ControlContext:
        return ControlContext(self.state, self.deployment, self.settings)

    @property
    def capacity(self) -> Floats:
        return capacities(self.deployment.plan.nodes, self.settings)

    @property
    def period(self) -> int:
        return self.state.period

    def go(self, periods: int, rates_at: RatesAt = steady) -> list[PeriodRecord]:
        """Run for some periods and return what was decided."""
        for _ in range(periods):
            self.measure(rates_at)
            self.decide()
        return self.records[-periods:]

    def measure(self, rates_at: RatesAt = steady) -> None:
        number = self.state.period + 1
        self.rates = rates_at(number, self.base)
        came = {name: float(self.rng.poisson(rate)) for name, rate in self.rates.items()}
        window = self.state.window.push(number, 1.0, came, self._samples(came))
        self.state = replace(self.state, window=window)
        if self.restarts:
            self.state = states.state_of(json.loads(json.dumps(states.to_json(self.state))))

    def reprice(self, operators: Collection[str], factor: float) -> None:
        """Let rows cost more, or less, in some operators from now on."""
        costs = {name: cost * (factor if name in operators else 1) for name, cost in self.profile.costs.items()}
        self.profile = replace(self.profile, costs=costs)

    def decide(self) -> PeriodRecord:
        self.state, record = step(self.context)
        self.records.append(record)
        self.carry_out(record)
        return record

    def carry_out(self, record: PeriodRecord) -> None:
        if record.kind is PeriodOutcome.MOVED and record.proposal is not None:
            self.deployment = replace(self.deployment, plan=apply(self.deployment.plan, record.proposal.moves))

    def _samples(self, came: Rates) -> list[Sample]:
        streams, found = self.profile.stream_rates(came), []
        for operator in self.deployment.network.operators:
            took = {stream: float(streams[stream]) for stream in operator.inputs}
            gave = {stream: float(streams[stream]) for stream in operator.outputs}
            drawn = max(0.1, self.rng.normal(1, self.noise))
            busy = self.profile.costs[operator.name] * sum(took.values()) * drawn
            found.append(Sample(operator.name, took, gave, busy, self.size, self.waits * busy))
        return found

    @property
    def loads(self) -> Floats:
        """Load of every node over its capacity, as it is to be expected at present, (n,)."""
        found = np.zeros(self.deployment.plan.nodes)
        for unit, load in self.profile.loads(self.rates).items():
            found[self.deployment.plan.node_of[unit]] += float(load)
        return found / self.capacity

    @property
    def spread(self) -> float:
        """Difference between the fullest and the emptiest node; up to 0.1 the policy calls it balanced."""
        return float(self.loads.max() - self.loads.min())

    @property
    def moved(self) -> int:
        """How many moves were made."""
        return moves_in(self.records)


def moves_in(records: list[PeriodRecord]) -> int:
    return sum(
        len(record.proposal.moves) for record in records if record.kind is PeriodOutcome.MOVED and record.proposal
    )


def start(nodes: int = 4, plan: str = "round-robin", count: int = 4, cost: float = 1e-5, **options: object) -> Run:
    """A run of so many chains on so many nodes."""
    network = chain_network(count, cost)
    return Run(Deployment(network, PLANS[plan](network, nodes)), **options)  # type: ignore[arg-type]  # fields of Run


def any_run(seed: int) -> tuple[Run, RatesAt]:
    """A run of a drawn network on a drawn plan; after 30 periods up to half of the sources are three times as fast."""
    rng = default_rng((77, seed))
    nodes = int(rng.choice([3, 4, 5, 8]))
    count = int(rng.integers(max(3, nodes - 1), nodes + 4))
    network = chains(default_rng((5, seed)), ChainParameters(chains=count, cost=1e-5))
    kind = str(rng.choice(["drawn", *PLANS]))
    drawn = Plan(1, nodes, {one.name: int(rng.integers(nodes)) for one in network.operators})
    plan = drawn if kind == "drawn" else PLANS[kind](network, nodes)
    faster = rng.choice(count, int(rng.integers(1, 1 + count // 2)), replace=False).tolist()
    load = rng.uniform(0.3, 0.9) / (1 + 2 * len(faster) / count)  # at most 0.9 after the change
    run = Run(Deployment(network, plan), load=float(load), noise=float(rng.choice([0.02, 0.05, 0.1])), seed=seed)
    return run, shifted(30, faster, 3.0)


def moves_alone(run: Run, plan: Plan) -> int:
    """How many moves the policies by themselves make on the samples of a whole run, from a plan, as in the simulator.

    The first plan when they are warmed up, then a round in every period over the last ten, and every move is made.
    """
    settings, moves = run.settings, 0
    first, then = decider(settings.first), decider(settings.then)
    for period in run.state.window.periods[settings.warm_up - 1 :]:
        seen = tuple(each for each in run.state.window.periods if each.number <= period.number)
        deployment = Deployment(run.deployment.network, plan)
        problem = view_of(ControlContext(ControlState(Window(len(seen), seen)), deployment, settings)).problem
        decide = first if period.number == settings.warm_up else then
        places = decide(problem, default_rng((settings.seed, period.number)))
        moves += int((places != problem.current).sum())
        plan = problem.plan(places, plan.number + 1)
    return moves

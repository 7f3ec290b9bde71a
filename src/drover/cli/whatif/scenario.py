"""Scenarios: everything that the options say, ready to be simulated once per variant.

Rule 1: variants differ only in the policy. The first plan and the arrivals are the same. Rule 2: a scenario is checked
when it is made, before anything runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import click

from drover.cli.inputs import read_network
from drover.cli.load_options import read_capacity, read_load_options, read_number
from drover.cli.plans import plan_of
from drover.cli.whatif.events import SAMPLE, ClusterEvents, check_added, node_events_of, read_events
from drover.cli.whatif.limits import MOST_SECONDS, check_rate, check_size, check_steps
from drover.cli.whatif.traces import read_trace
from drover.cli.whatif.workload import RateChange, RateTrace, peak, read_scales, traces_of, workload_of
from drover.errors import DroverError, nearest, shorten, visible
from drover.load.rates import Rate
from drover.network.schema import known
from drover.placement.plan import Plan
from drover.placement.policy import POLICIES
from drover.sim.arrivals import path_of
from drover.sim.cluster import Migration, SimulatedCluster
from drover.sim.control import SimulatedControl
from drover.sim.model import Model, model_of
from drover.sim.rates import mean_rate
from drover.sim.run import Mode, Schedule
from drover.sim.workload import ArrivalProcess

STAY: Final = "stay"  # the variant without a policy
ONCE: Final = "once:"  # prefix of a policy that makes one plan, at the end of the warm-up
SECONDS: Final = 60.0  # length of a run without --seconds and --trace
WARMUP: Final = 10.0  # seconds: the length of the window that policies use
PERIOD: Final = 3_000  # tuples that take as long to simulate as closing a period
LONG: Final = 3e8  # tuples and pairs of a variant in mode event; about half a minute
PARTS: Final = ("fixed", "per_operator", "per_byte")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line, unparsed."""

    network: str
    rates: tuple[str, ...]
    statistics: str | None
    capacity: tuple[str, ...]
    nodes: int | None
    plan: str
    trace: str | None
    step: float
    scale: tuple[str, ...]
    kill: tuple[str, ...]
    add: tuple[str, ...]
    drain: tuple[str, ...]
    outage: float
    replay: bool
    policy: str | None
    compare: str | None
    period: float
    migration: tuple[str, ...]
    state: tuple[str, ...]
    delay: float
    seconds: float | None
    warmup: float | None
    seed: int
    mode: Mode
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class Variant:
    """A policy to simulate; without a control loop the plan stays."""

    name: str
    control: SimulatedControl | None


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """Everything that a simulation needs."""

    model: Model
    workload: dict[str, ArrivalProcess]
    scales: tuple[RateChange, ...]
    cluster: SimulatedCluster
    plan: Plan
    variants: tuple[Variant, ...]
    seconds: float
    warmup: float
    seed: int
    mode: Mode
    schedule: Schedule

    def rates(self) -> dict[str, float]:
        """Return the mean rate of every source over the run, in tuples per second."""
        return {
            name: mean_rate(path_of(name, self.workload, self.seed)[0], 0.0, self.seconds) for name in self.workload
        }

    def peak(self) -> float:
        """Return the sum of the peak rates of all sources, in tuples per second."""
        return sum(peak(path_of(name, self.workload, self.seed)[0], self.seconds) for name in self.workload)

    def effort(self) -> float:
        """Return roughly how many tuples and pairs one variant simulates, periods included."""
        model = self.model
        profile = self.model.profile
        streams: dict[str, Rate] = profile.stream_rates(dict(self.rates()))
        taken = sum(float(streams[model.streams[stream]]) for stream in model.read)
        pairs = sum(
            float(streams[each.inputs[0]]) * float(streams[each.inputs[1]]) * float(model.left[j] + model.right[j])
            for j, each in enumerate(profile.network.operators)
            if each.pair_windows is not None
        )
        return (taken + pairs + PERIOD) * self.seconds

    @property
    def is_long(self) -> bool:
        """Whether the simulation takes long enough to announce it."""
        return self.mode == "event" and self.effort() > LONG


def read_scenario(options: Options) -> Scenario:
    """Return the scenario that the options describe."""
    network = read_network(options.network)
    if not network.operators:
        raise DroverError(f"network {network.name} has no operators, so there is nothing to simulate. Add one.")
    plan = plan_of(options.plan, network, options.nodes)
    load = read_load_options(network, options.rates, options.statistics)
    names = [source.name for source in network.sources]
    traced = {} if options.trace is None else read_trace(options.trace, names)
    traces = traces_of(load, traced, options.step)
    profile = load.profile.at({name: trace.mean for name, trace in traces.items()})
    scales = read_scales(profile, options.scale)
    seconds = options.seconds or _length(traced)
    check_steps(traces, seconds)
    warmup = _warmup(options.warmup, seconds)
    scenario = Scenario(
        model_of(profile, state=_state(plan, options.state)),
        workload_of(profile, traces, scales),
        scales,
        _cluster(options, plan.nodes, seconds),
        plan,
        variants_of(options.policy, options.compare, options.period, max(warmup, SAMPLE)),
        seconds,
        warmup,
        options.seed,
        options.mode,
        options.schedule,
    )
    check_rate(scenario.peak(), scenario.mode)
    return scenario


def _length(traced: Mapping[str, RateTrace]) -> float:
    """Return the length of a run without --seconds: once through the trace."""
    longest = max((trace.seconds for trace in traced.values()), default=SECONDS)
    if longest > MOST_SECONDS:
        raise click.BadParameter(f"the trace is {longest:g} s long, more than {MOST_SECONDS:g}. Set --seconds.")
    return longest


def _warmup(given: float | None, seconds: float) -> float:
    if given is None:
        return float(int(min(WARMUP, seconds / 4)))  # whole samples
    if given >= seconds:
        raise click.BadParameter(f"--warmup is {given:g} s, but the run lasts {seconds:g} s. Lower it.")
    return given


def _cluster(options: Options, nodes: int, seconds: float) -> SimulatedCluster:
    events = ClusterEvents(*(read_events(texts, seconds) for texts in (options.kill, options.add, options.drain)))
    check_added(events.add, nodes)
    capacity = read_capacity(options.capacity, nodes + len(events.add))
    check_size(capacity, seconds)
    node_events = node_events_of(events, capacity, options.outage, options.replay)
    migration = _migration(options.migration)
    return SimulatedCluster(capacity[:nodes], delay=options.delay, migration=migration, node_events=node_events)


def _migration(texts: Sequence[str]) -> Migration:
    """Return the duration of a move from texts such as `0.5`, `per_operator=0.1`, `per_byte=1e-8`; seconds each."""
    found: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        part = name if equals else PARTS[0]
        if part not in PARTS:
            raise click.BadParameter(
                f"{shorten(text)} names no part of a move. {visible(nearest(part, PARTS))}Known: {', '.join(PARTS)}."
            )
        found[part] = read_number(number, text, least_open=False)
    return Migration(**found)


def _state(plan: Plan, texts: Sequence[str]) -> dict[str, float]:
    """Return bytes by unit from texts such as `counts=5e7`."""
    found: dict[str, float] = {}
    for text in texts:
        unit, equals, number = text.rpartition("=")
        if not equals:
            raise click.BadParameter(
                f"{shorten(text)} is not of the form UNIT=BYTES. Write for example {next(iter(plan.node_of))}=1e6."
            )
        if unit not in plan.node_of:
            hint = visible(f"{nearest(unit, plan.node_of)}Known: {known(plan.node_of)}.")
            raise click.BadParameter(f"{shorten(unit)} is not a unit of the network. {hint}")
        found[unit] = read_number(number, text, least_open=False)
    return found


def variants_of(policy: str | None, compare: str | None, period: float, begin: float) -> tuple[Variant, ...]:
    """Return the variants that --policy or --compare names, else the one that stays; policies start at `begin`."""
    if policy is not None and compare is not None:
        raise click.BadParameter(
            f"--policy and --compare exclude each other. Write --compare {STAY},{visible(policy)}."
        )
    names = [policy or STAY] if compare is None else [name.strip() for name in compare.split(",")]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"--compare has {shorten(name)} twice. Remove one.")
    return tuple(_variant(name, period, begin) for name in names)


def _variant(name: str, period: float, begin: float) -> Variant:
    if name == STAY:
        return Variant(name, None)
    policy = name.removeprefix(ONCE)
    if policy not in POLICIES:
        hint = f"{nearest(policy, [STAY, *POLICIES])}Known: {STAY}, {', '.join(POLICIES)}."
        raise click.BadParameter(f"{shorten(name)} is not a policy. {hint}")
    if name.startswith(ONCE):
        return Variant(name, SimulatedControl(first=policy, first_at=begin, sample=SAMPLE))
    return Variant(name, SimulatedControl(policy=policy, period=period, begin=begin, sample=SAMPLE))

"""The output for people: the scenario, a table of the variants, and one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from drover.cli.headroom import table
from drover.cli.load_options import origin_lines
from drover.cli.whatif.answer import FEW, Overload, SimulationReport, VariantResult
from drover.cli.whatif.events import describe_event
from drover.cli.whatif.scenario import Scenario
from drover.errors import visible
from drover.sim.cluster import Add
from drover.wording import count

MODES: Final = {"event": "tuple by tuple", "fluid": "by rates alone"}
HEAD: Final = (
    *("variant", "mean", "p95", "p99", "max", "ratio", "busiest", "overloaded", "moves", "moved", "lost", "waiting"),
    "overload",
)


def lines(answer: SimulationReport) -> Iterator[str]:
    """Yield the output for people."""
    scenario = answer.scenario
    name = visible(scenario.model.profile.network.name)
    nodes = count(scenario.cluster.n, "node")
    warmup = f"the first {scenario.warmup:g} s do not count" if scenario.warmup else "all of them count"
    yield f"{name} on {nodes} for {scenario.seconds:g} s, {MODES[scenario.mode]}; {warmup}"
    yield from (f"- {change}" for change in changes(scenario))
    yield ""
    yield from table(list(HEAD), [_row(result) for result in answer.results])
    yield ""
    yield sentence(answer)
    yield ""
    yield from origin_lines(scenario.model.profile)


def changes(scenario: Scenario) -> Iterator[str]:
    """Yield in words what differs from the given rates and nodes."""
    for scale in scenario.scales:
        since = f" from {scale.since:g} s on" if scale.since else ""
        yield f"{visible(scale.source)} is {scale.factor:g} times as fast{since}"
    for what, node in zip(scenario.cluster.node_events, event_nodes(scenario), strict=True):
        yield describe_event(what, node)


def event_nodes(scenario: Scenario) -> list[int]:
    """Return the node of each event; added nodes get the next numbers."""
    found = []
    free = scenario.cluster.n
    for what in scenario.cluster.node_events:
        found.append(free if isinstance(what, Add) else what.node)
        free += isinstance(what, Add)
    return found


def _row(result: VariantResult) -> list[str]:
    summary = result.outcome.summary
    most = summary["latency_max"]  # exact; percentiles come from buckets and may be a little above it
    latencies = (span(min(summary[f"latency_{name}"], most)) for name in ("mean", "p95", "p99", "max"))
    return [
        visible(result.variant.name),
        *latencies,
        _number(summary["latency_ratio"], "{:.3g}"),
        f"{result.utilisation[result.busiest]:.1%}",
        f"{result.overloaded:g} s",
        f"{summary['moves']:.0f}",
        f"{summary['moved_load']:.3g}",
        f"{summary['tuples_lost']:,.0f}",
        f"{summary['queued']:,.0f}",
        overloads(result) or "-",
    ]


def overloads(result: VariantResult) -> str:
    """Return which nodes are overloaded, and when, worst first; an empty text if none is."""
    first, *others = result.overloads or (None,)
    if first is None:
        return ""
    more = f", and {count(len(others), 'other node')}" if others else ""
    return f"node {first.node} {_when(first)}{more}"


def _when(overload: Overload) -> str:
    return f"from {overload.begin:g} s {'on' if overload.lasts else f'to {overload.end:g} s'}"


def sentence(answer: SimulationReport) -> str:
    """Return the result in one sentence."""
    first = answer.results[0]
    best = answer.best
    if len(answer.results) == 1:
        text = f"{_state(first)}; {_latency(first)}."
        return text[0].upper() + text[1:]
    begin = f"With {visible(first.variant.name)}, {_state(first)}"
    if best is first:
        return f"{begin}; {_latency(first)}, and no other variant does better."
    former = f" instead of {span(first.outcome.summary['latency_p99'])}"
    moves = count(int(best.outcome.summary["moves"]), "move")
    return f"{begin}; best is {visible(best.variant.name)}: {_state(best)}, {_latency(best)}{former}, with {moves}."


def _state(result: VariantResult) -> str:
    """Return which nodes are overloaded, and how many tuples wait at the end."""
    first, *others = result.overloads or (None,)
    waiting = result.outcome.summary["queued"]
    left = f" and {waiting:,.0f} tuples still wait at the end" if waiting >= FEW else ""
    if first is None:
        return f"no node is overloaded for long{left}"
    if others:
        return f"{len(others) + 1} nodes are overloaded, most of all node {first.node} {_when(first)}{left}"
    return f"node {first.node} is overloaded {_when(first)}{left}"


def _latency(result: VariantResult) -> str:
    p99 = result.outcome.summary["latency_p99"]
    return "there are no results" if math.isnan(p99) else f"99% of results take at most {span(p99)}"


def span(seconds: float) -> str:
    """Return a duration with three digits and a unit, or a dash if it is unknown.

    >>> span(0.0123), span(75.0), span(float("nan"))
    ('12.3 ms', '75 s', '-')
    """
    if math.isnan(seconds):
        return "-"
    for unit, length in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else form.format(value)

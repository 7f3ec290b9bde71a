"""Events of nodes as options: `2@30` is node 2 after 30 seconds.

Rule 1: what the simulator would reject half-way is rejected here, before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import click

from drover.cli.load_options import read_number
from drover.errors import shorten
from drover.load.arrays import Floats
from drover.sim.cluster import Add, Drain, Kill, NodeEvent

SAMPLE: Final = 1.0  # seconds per sample of load


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """One event from the options: which node, and when."""

    text: str
    node: int
    at: float  # seconds


def read_events(texts: Sequence[str], seconds: float) -> tuple[ClusterEvent, ...]:
    """Return nodes and times from texts such as `2@30`; each must be within the run."""
    return tuple(_event(text, seconds) for text in texts)


def _event(text: str, seconds: float) -> ClusterEvent:
    node, at, time = text.partition("@")
    if not at or not node.isascii() or not node.isdigit():
        raise click.BadParameter(f"{shorten(text)} is not of the form NODE@SECONDS. Write for example 2@30.")
    when = read_number(time, text, least_open=False)
    if when < SAMPLE:
        raise click.BadParameter(
            f"{shorten(text)} is before the first sample at {SAMPLE:g} s, when policies have no data yet. "
            f"Write {node}@{SAMPLE:g} or later."
        )
    if when >= seconds:
        raise click.BadParameter(f"{shorten(text)} is after the end of the run at {seconds:g} s. Raise --seconds.")
    return ClusterEvent(text, int(node), when)


@dataclass(frozen=True, slots=True)
class ClusterEvents:
    """The events of all options."""

    kill: tuple[ClusterEvent, ...] = ()
    add: tuple[ClusterEvent, ...] = ()
    drain: tuple[ClusterEvent, ...] = ()


def node_events_of(events: ClusterEvents, capacity: Floats, outage: float, replay: bool) -> tuple[NodeEvent, ...]:
    """Return the events in order of time; `capacity`, (N,), includes the nodes that are added."""
    made: list[tuple[ClusterEvent, NodeEvent]] = [
        *((event, Add(event.at, float(capacity[event.node]))) for event in events.add),
        *((event, Kill(event.at, event.node, outage, replay)) for event in events.kill),
        *((event, Drain(event.at, event.node)) for event in events.drain),
    ]
    made.sort(key=lambda each: each[0].at)  # stable: at the same time, nodes are added before others go
    _check(made, len(capacity) - len(events.add))
    return tuple(node_event for _, node_event in made)


def check_added(added: Sequence[ClusterEvent], nodes: int) -> None:
    """Raise BadParameter if an added node does not have the next free number."""
    for number, event in enumerate(sorted(added, key=lambda event: event.at), start=nodes):
        if event.node != number:
            raise click.BadParameter(
                f"{shorten(event.text)} adds node {event.node}, but the next free number is {number}. "
                f"Write {number}@{event.at:g}."
            )


def _check(node_events: Sequence[tuple[ClusterEvent, NodeEvent]], nodes: int) -> None:
    alive = set(range(nodes))
    for event, node_event in node_events:
        if isinstance(node_event, Add):
            alive.add(event.node)
            continue
        if event.node not in alive:
            there = ", ".join(map(str, sorted(alive)))
            raise click.BadParameter(
                f"{shorten(event.text)} names node {event.node}, but the nodes at that time are {there}. Name one."
            )
        if len(alive) == 1:
            raise click.BadParameter(
                f"{shorten(event.text)} removes the last node. Keep one, or add another one before."
            )
        alive.remove(event.node)


def describe_event(node_event: NodeEvent, number: int) -> str:
    """Return an event in words; `number` is the number of the node."""
    verb = {Kill: "is killed", Add: "is added", Drain: "is drained"}[type(node_event)]
    return f"node {number} {verb} at {node_event.at:g} s"

"""What happens to nodes, as options: `2@30` is node 2 after 30 seconds.

Rule 1: whatever the simulator would refuse half-way is refused here, before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import click

from drover.cli.loads import read_number
from drover.errors import shorten
from drover.load.arrays import Floats
from drover.sim.cluster import Add, Drain, Happening, Kill

SAMPLE: Final = 1.0  # seconds that a sample of load is about


@dataclass(frozen=True, slots=True)
class Event:
    """One word of the options: which node, and when."""

    text: str
    node: int
    at: float  # seconds


def read_events(texts: Sequence[str], seconds: float) -> tuple[Event, ...]:
    """Return nodes and times from texts such as `2@30`; each must happen within the run."""
    return tuple(_event(text, seconds) for text in texts)


def _event(text: str, seconds: float) -> Event:
    node, at, time = text.partition("@")
    if not at or not node.isascii() or not node.isdigit():
        raise click.BadParameter(f"{shorten(text)} is no NODE@SECONDS. Write for example 2@30.")
    when = read_number(time, text, least_open=False)
    if when < SAMPLE:
        raise click.BadParameter(
            f"{shorten(text)} is before the first sample at {SAMPLE:g} s, when no policy knows anything. "
            f"Say {node}@{SAMPLE:g} or later."
        )
    if when >= seconds:
        raise click.BadParameter(f"{shorten(text)} is after the end of the run at {seconds:g} s. Raise --seconds.")
    return Event(text, int(node), when)


@dataclass(frozen=True, slots=True)
class Events:
    """What the options say."""

    kill: tuple[Event, ...] = ()
    add: tuple[Event, ...] = ()
    drain: tuple[Event, ...] = ()


def happenings_of(events: Events, capacity: Floats, outage: float, replay: bool) -> tuple[Happening, ...]:
    """Return what happens, in order of time, on nodes with that capacity, (N,), those that are added included."""
    made: list[tuple[Event, Happening]] = [
        *((event, Add(event.at, float(capacity[event.node]))) for event in events.add),
        *((event, Kill(event.at, event.node, outage, replay)) for event in events.kill),
        *((event, Drain(event.at, event.node)) for event in events.drain),
    ]
    made.sort(key=lambda each: each[0].at)  # stable: of what is at one time, nodes come before others go
    _check(made, len(capacity) - len(events.add))
    return tuple(happening for _, happening in made)


def check_added(added: Sequence[Event], nodes: int) -> None:
    """Refuse a node that is added under any number but the next one."""
    for number, event in enumerate(sorted(added, key=lambda event: event.at), start=nodes):
        if event.node != number:
            raise click.BadParameter(
                f"{shorten(event.text)} adds node {event.node}, but the next free number is {number}. "
                f"Write {number}@{event.at:g}."
            )


def _check(happenings: Sequence[tuple[Event, Happening]], nodes: int) -> None:
    alive = set(range(nodes))
    for event, happening in happenings:
        if isinstance(happening, Add):
            alive.add(event.node)
            continue
        if event.node not in alive:
            there = ", ".join(map(str, sorted(alive)))
            raise click.BadParameter(
                f"{shorten(event.text)} names node {event.node}, but the nodes at that time are {there}. Name one."
            )
        if len(alive) == 1:
            raise click.BadParameter(f"{shorten(event.text)} takes the last node. Leave one, or add another before.")
        alive.remove(event.node)


def told(happening: Happening, number: int) -> str:
    """Return what happens in words; `number` is that of the node."""
    verb = {Kill: "is killed", Add: "is added", Drain: "is drained"}[type(happening)]
    return f"node {number} {verb} at {happening.at:g} s"

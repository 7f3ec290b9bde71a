"""Random graphs of SQL operators that compute something a real engine can be checked on.

Rule 1: always sound: an operator reads only streams of the shape it needs, and streams without a reader are outputs.
Rule 2: results stay small: estimated rates choose the windows of joins, and joins are few on any path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.network.build import Builder, Stream
from drover.network.durations import Micros, parse_duration
from drover.network.functions import Span
from drover.network.model import Network
from drover_lab.generate import clauses
from drover_lab.generate.clauses import EVENTS, Grouping
from drover_lab.generate.ranges import demand, demand_range
from drover_lab.generate.rows import ROWS

SOURCE_RATE: Final = 1e6 / ROWS.gap  # tuples per second, as `rows` draws them
STEP: Final[Micros] = 100_000  # windows of joins are multiples of this


@dataclass(frozen=True, slots=True, kw_only=True)
class DagParameters:
    """Counts and probabilities of a random graph; the papers give none for graphs of real operators."""

    sources: int = 3
    operators: int = 20
    filter: float = 3.0  # this and the next five: how often a kind is chosen, relative to the others
    map: float = 3.0
    union: float = 1.0
    switch: float = 1.0
    aggregate: float = 1.5
    join: float = 1.5
    sharing: float = 0.3  # probability of reading a stream that already has a reader
    branches: tuple[int, int] = (1, 3)  # cases of a switch
    merged: tuple[int, int] = (2, 3)  # inputs of a union
    joins: int = 2  # on any path from a source
    fan_out: float = 1.0  # expected results of a join per row of its faster input
    longest: Span = "5 s"  # window of a join, on either side
    timeout: float = 0.2  # share of aggregates with a time-out
    lateness: Span = "1 s"  # of every source

    def __post_init__(self) -> None:
        """Raise DroverError for a parameter out of range."""
        for name, least in (("sources", 1), ("operators", 1), ("joins", 0), ("fan_out", 0)):
            demand(name, getattr(self, name), least)
        for name in KINDS:
            demand(name, getattr(self, name), 0)
        demand("sum of the kinds", sum(getattr(self, name) for name in KINDS), 1e-9)
        for name in ("sharing", "timeout"):
            demand(name, getattr(self, name), 0, 1)
        demand_range("branches", self.branches, 1)
        demand_range("merged", self.merged, 2)


@dataclass(frozen=True, slots=True)
class Port:
    """A stream that operators may read, with its properties."""

    stream: Stream
    grouping: Grouping = EVENTS
    rate: float = SOURCE_RATE  # expected tuples per second
    joins: int = 0  # on the longest path to it


@dataclass(slots=True)
class DagDraft:
    """A graph under construction."""

    rng: Generator
    parameters: DagParameters
    builder: Builder
    ports: list[Port] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

    def add(self, port: Port) -> None:
        """Add a new stream without readers."""
        self.ports.append(port)
        self.unread.add(port.stream.name)

    def pick(self, suits: Callable[[Port], bool]) -> Port | None:
        """Return a stream for which `suits` is true, or None; mostly one without readers."""
        suited = [port for port in self.ports if suits(port)]
        fresh = [port for port in suited if port.stream.name in self.unread]
        shares = self.rng.random() < self.parameters.sharing
        choices = suited if shares or not fresh else fresh
        if not choices:
            return None
        port = choices[self.rng.integers(len(choices))]
        self.unread.discard(port.stream.name)
        return port

    def between(self, bounds: tuple[int, int]) -> int:
        """Return a whole number from the first to the second of `bounds`."""
        low, high = bounds
        return int(self.rng.integers(low, high + 1))


def _always(_port: Port) -> bool:
    return True


def _is_events(port: Port) -> bool:
    return port.grouping == EVENTS


def _filter(draft: DagDraft, name: str) -> bool:
    port = draft.pick(_always)
    if port is None:
        return False
    where, share = clauses.predicate(draft.rng, port.grouping)
    draft.add(Port(port.stream.filter(name, where), port.grouping, port.rate * share, port.joins))
    return True


def _map(draft: DagDraft, name: str) -> bool:
    port = draft.pick(_always)
    if port is None:
        return False
    if port.grouping != EVENTS:
        mapped = port.stream.map(name, clauses.back_to_events(port.grouping))
    elif draft.rng.random() < 0.5:
        mapped = port.stream.extend(name, clauses.projection(draft.rng))
    else:
        mapped = port.stream.map(name, clauses.reordering(draft.rng))
    draft.add(Port(mapped, EVENTS, port.rate, port.joins))
    return True


def _union(draft: DagDraft, name: str) -> bool:
    # Results of windows differ in what else they compute; events always have the same columns.
    if sum(map(_is_events, draft.ports)) < 2:
        return False
    chosen: list[Port] = []
    for _ in range(draft.between(draft.parameters.merged)):
        port = draft.pick(lambda port: _is_events(port) and port not in chosen)
        if port is not None:
            chosen.append(port)
    merged = chosen[0].stream.union(name, *(port.stream for port in chosen[1:]))
    draft.add(Port(merged, EVENTS, sum(port.rate for port in chosen), max(port.joins for port in chosen)))
    return True


def _switch(draft: DagDraft, name: str) -> bool:
    port = draft.pick(_is_events)
    if port is None:
        return False
    cases = {
        f"case{index}": clauses.predicate(draft.rng, EVENTS)[0]
        for index in range(draft.between(draft.parameters.branches))
    }
    rest = "rest" if draft.rng.random() < 0.5 else None
    branches = port.stream.switch(name, cases, rest=rest)
    for branch in branches.values():
        draft.add(Port(branch, EVENTS, port.rate / len(branches), port.joins))
    return True


def _aggregate(draft: DagDraft, name: str) -> bool:
    port = draft.pick(_is_events)
    if port is None:
        return False
    rng = draft.rng
    grouping = clauses.GROUPINGS[rng.integers(len(clauses.GROUPINGS))]
    size, advance = clauses.WINDOWS[rng.integers(len(clauses.WINDOWS))]
    timeout = clauses.choose(rng, clauses.TIMEOUTS) if rng.random() < draft.parameters.timeout else None
    compute = clauses.computation(rng)
    results = port.stream.aggregate(name, compute, size=size, advance=advance, group_by=grouping, timeout=timeout)
    per_window = min(clauses.KEYS ** len(grouping), port.rate * parse_duration(size) / 1e6)
    draft.add(Port(results, grouping, per_window * 1e6 / parse_duration(advance), port.joins))
    return True


def _join(draft: DagDraft, name: str) -> bool:
    parameters = draft.parameters

    def suits(port: Port) -> bool:
        return _is_events(port) and port.joins < parameters.joins

    left = draft.pick(suits)
    right = draft.pick(suits)
    if left is None or right is None:
        return False
    slow, fast = sorted((left.rate, right.rate))
    # slow * fast * window / KEYS pairs per second meet; they shall be at most fan_out * fast.
    fitting = int(parameters.fan_out * clauses.KEYS / max(slow, 1e-3) * 1e6) // 2
    steps = min(fitting, parse_duration(parameters.longest)) // STEP
    spans = [timedelta(microseconds=STEP * int(draft.rng.integers(steps + 1))) for _ in range(2)]
    where = clauses.choose(draft.rng, clauses.PAIR_PREDICATES) if draft.rng.random() < 0.5 else None
    joined = left.stream.join(
        name, right.stream, within=(spans[0], spans[1]), on="key", where=where, select=clauses.PAIR_SELECT
    )
    pairs = slow * fast * sum(span.total_seconds() for span in spans) / clauses.KEYS
    # Streams of one origin also meet themselves: every row its own copy.
    draft.add(Port(joined, EVENTS, pairs + slow, max(left.joins, right.joins) + 1))
    return True


# Each adds one operator of its kind, or returns False if no stream suits it.
KINDS: Final[Mapping[str, Callable[[DagDraft, str], bool]]] = {
    "filter": _filter,
    "map": _map,
    "union": _union,
    "switch": _switch,
    "aggregate": _aggregate,
    "join": _join,
}
DAGS: Final = DagParameters()


def dags(rng: Generator, parameters: DagParameters = DAGS, *, name: str = "dag") -> Network:
    """Return a random graph of exactly `parameters.operators` operators; streams without readers are outputs."""
    draft = DagDraft(rng, parameters, Builder(name))
    for k in range(parameters.sources):
        source = draft.builder.source(f"s{k}", clauses.EVENT_COLUMNS, time="ts", lateness=parameters.lateness)
        draft.add(Port(source))
    weights = np.array([getattr(parameters, kind) for kind in KINDS], dtype=float)  # (kinds,)
    for j in range(parameters.operators):
        kind = str(rng.choice(list(KINDS), p=weights / weights.sum()))
        # A filter fits every stream, so it replaces a kind that the joins on the path or a lack of streams forbid.
        if not KINDS[kind](draft, f"{kind}{j}"):
            _filter(draft, f"filter{j}")
    for port in draft.ports:
        if port.stream.name in draft.unread:
            port.stream.output()
    return draft.builder.build()

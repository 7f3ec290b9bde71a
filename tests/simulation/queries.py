"""Queries that a client of a simulated run submits and drops, and what it was told about them.

Rule 1: an answer is a promise: an accepted query runs until it is dropped. If the run dies before it answers, the query
is accepted or not, and the list of names says which.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.random import Generator

from drover.network.model import Network


@dataclass(slots=True)
class ClientQuery:
    """A query as its client knows it."""

    name: str
    entry: Mapping[str, Any]  # Any: as in a query file
    accepted: bool | None = None  # None if nobody knows yet
    gone: bool | None = False  # whether it is dropped; None if nobody knows yet

    def learn(self, names: Collection[str]) -> None:
        """Learn from a list of names, after a restart, what became of requests without an answer."""
        if self.accepted is None:
            self.accepted = self.name in names
        if self.gone is None:
            self.gone = self.name not in names

    @property
    def runs(self) -> bool:
        """Whether the client may rely on it."""
        return bool(self.accepted) and self.gone is False


@dataclass(slots=True)
class ClientQueries:
    """All queries of a history."""

    every: list[ClientQuery] = field(default_factory=list)

    def draw(self, network: Network, rng: Generator) -> ClientQuery:
        """Return a new query that is about to be submitted."""
        name = f"q{len(self.every)}"
        made = ClientQuery(name, draw_entry(network, rng, name))
        self.every.append(made)
        return made

    def running(self) -> list[ClientQuery]:
        """Return the queries that run, as far as the client knows."""
        return [query for query in self.every if query.runs]

    def learn(self, names: Collection[str]) -> None:
        """Compare the promises with the names that the run has now."""
        for query in self.every:
            was = query.accepted, query.gone
            query.learn(names)
            if None not in was:
                assert query.runs == (query.name in names), f"{query.name} was {query} and the run has {sorted(names)}"


def draw_entry(network: Network, rng: Generator, name: str) -> dict[str, Any]:
    """Return a query over a source: a filter, then perhaps a map or windows."""
    source = network.sources[int(rng.integers(len(network.sources)))].name
    where = f"key % {int(rng.integers(1, 4))} = 0 and amount > {int(rng.integers(-500, 500))}"
    operators: dict[str, Any] = {"mine": {"kind": "filter", "input": source, "where": where}}
    match int(rng.integers(3)):
        case 1:
            more = f"amount + {int(rng.integers(9))}"
            operators["far"] = {"kind": "map", "input": "mine", "select": {"key": "key", "more": more}}
        case 2:
            compute = {"n": "count(*)", "total": "sum(amount)"}
            operators["counts"] = {"kind": "aggregate", "input": "mine", "size": "4 s", "compute": compute}
    return {"name": name, "tenant": "acme", "operators": operators}

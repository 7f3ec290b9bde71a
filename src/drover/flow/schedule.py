"""Hops: when, within a micro-batch, each operator runs and where each stream travels.

Rule 1: an operator runs in the first hop in which all its inputs are on its node.
Rule 2: a stream goes once to each (node, hop) where somebody reads it, however many read it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from drover.network.model import Network
from drover.network.operators import Operator
from drover.placement.plan import Plan, unit_of


class Place(NamedTuple):
    """A node in a hop."""

    hop: int
    node: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a plan means for one micro-batch.

    `runs` has the operators of each place in topological order; `routes` the places to which each stream is shipped
    (the place where it is made, if an operator there reads it, is not among them).
    """

    hops: int
    nodes: int
    runs: Mapping[Place, tuple[Operator, ...]]
    place_of: Mapping[str, Place]  # by operator
    routes: Mapping[str, tuple[Place, ...]]
    herds: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)  # families that run at each place
    wanted: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)  # where only families read each stream


def make_schedule(network: Network, plan: Plan) -> Schedule:
    """Return the hops of a plan."""
    place_of: dict[str, Place] = {}
    made_at: dict[str, Place] = {}
    runs: dict[Place, tuple[Operator, ...]] = {}
    for operator in network.order:
        node = plan.node_of[unit_of(operator)]
        hop = max((arrival(made_at.get(stream), node) for stream in operator.inputs), default=0)
        place = Place(hop, node)
        place_of[operator.name] = place
        made_at |= dict.fromkeys(operator.outputs, place)
        runs[place] = (*runs.get(place, ()), operator)
    routes = {
        stream: tuple(sorted({place_of[reader.name] for reader in readers} - {made_at.get(stream)}))
        for stream, readers in network.readers.items()
    }
    hops = 1 + max((place.hop for place in runs), default=0)
    return Schedule(hops, plan.nodes, runs, place_of, routes)


def arrival(made_at: Place | None, node: int) -> int:
    """Return the hop in which a stream made there (None: a source) can be read on `node`."""
    if made_at is None:
        return 0
    return made_at.hop if made_at.node == node else made_at.hop + 1

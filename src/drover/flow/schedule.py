"""Hops: when, within a micro-batch, each operator runs and where each stream travels.

Rule 1: an operator runs in the first hop in which all its inputs are on its node.
Rule 2: a stream goes once to each (node, hop) where somebody reads it, however many read it there.
Rule 3: what several instances of a join make is put together in the hop after the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from drover.diffusion.epochs import Epochs
from drover.flow.instances import instances_of, make_instances, port_of
from drover.network.model import Network
from drover.network.operators import Join, Operator
from drover.placement.plan import Plan, unit_of


class Place(NamedTuple):
    """A node in a hop."""

    hop: int
    node: int


class Deal(NamedTuple):
    """How the rows of a stream are dealt to the instances of a join that is spread."""

    port: str
    side: int
    time: str  # column with event time
    epochs: Epochs
    places: tuple[Place, ...]  # of the instances
    weights: tuple[float, ...]  # of the rows or columns of the present grid; others are equal


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a plan means for one micro-batch.

    `runs` has the operators of each place in topological order, of joins that are spread their instances; `routes` the
    places to which each stream is shipped as a whole (the place where it is made, if an operator there reads it, is not
    among them); `deals` how streams are cut for joins that are spread.
    """

    hops: int
    nodes: int
    runs: Mapping[Place, tuple[Operator, ...]]
    place_of: Mapping[str, Place]  # by operator; of a join that is spread, that of its first instance
    routes: Mapping[str, tuple[Place, ...]]
    deals: Mapping[str, tuple[Deal, ...]] = field(default_factory=dict)
    made_at: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)  # by stream, but for sources
    herds: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)  # families that run at each place
    wanted: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)  # where only families read each stream


def make_schedule(network: Network, plan: Plan) -> Schedule:
    """Return the hops of a plan."""
    place_of: dict[str, Place] = {}
    made_at: dict[str, tuple[Place, ...]] = {}
    runs: dict[Place, tuple[Operator, ...]] = {}
    spread: dict[str, tuple[Place, ...]] = {}
    for operator in network.order:
        placed: list[tuple[Operator, int]] = [(operator, plan.node_of[unit_of(operator)])]
        if isinstance(operator, Join) and operator.spread is not None:
            placed = [*make_instances(operator, plan)]
        places = []
        for runner, node in placed:
            hop = max((arrival(made_at.get(stream, ()), node) for stream in operator.inputs), default=0)
            places.append(Place(hop, node))
            runs[places[-1]] = (*runs.get(places[-1], ()), runner)
        place_of[operator.name] = places[0]
        made_at |= dict.fromkeys(operator.outputs, tuple(places))
        if placed[0][0] is not operator:
            spread[operator.name] = tuple(places)
    routes = {}
    for stream, readers in network.readers.items():
        read_at = {place_of[reader.name] for reader in readers if reader.name not in spread}
        makers = made_at.get(stream, ())
        routes[stream] = tuple(sorted(read_at - set(makers if len(makers) == 1 else ())))
    hops = 1 + max((place.hop for place in runs), default=0)
    return Schedule(hops, plan.nodes, runs, place_of, routes, _deals(network, plan, spread), made_at)


def _deals(network: Network, plan: Plan, spread: Mapping[str, tuple[Place, ...]]) -> dict[str, tuple[Deal, ...]]:
    """Return how streams are cut; `spread` has the places of the instances of each join that is spread."""
    found: dict[str, tuple[Deal, ...]] = {}
    for operator in network.order:
        if isinstance(operator, Join) and operator.name in spread:
            made = instances_of(operator, plan)
            for side, stream in enumerate(operator.inputs):
                time = network.streams[stream].time or ""
                port, places = port_of(operator, side), spread[operator.name]
                deal = Deal(port, side, time, made.epochs, places, made.weights[side])
                found[stream] = (*found.get(stream, ()), deal)
    return found


def arrival(made_at: tuple[Place, ...], node: int) -> int:
    """Return the hop in which a stream made there (nowhere: a source) can be read on `node`."""
    if not made_at:
        return 0
    alone = len(made_at) == 1 and made_at[0].node == node
    return made_at[0].hop if alone else 1 + max(place.hop for place in made_at)

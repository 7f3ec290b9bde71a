"""Hops: in which hop of a micro-batch each operator runs, and where each stream travels.

Rule 1: an operator runs in the first hop in which all its inputs are on its node.
Rule 2: a stream goes once to each (node, hop) with a reader, however many readers are there.
Rule 3: the output of several instances of a join is complete in the hop after the last of them.
Rule 4: only columns that somebody at a place reads travel there: see `pruning`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from drover.diffusion.epochs import Epochs
from drover.flow.frames import FramePort
from drover.flow.instances import instances_of, make_instances, port_of
from drover.network.model import Network
from drover.network.operators import Join, Operator
from drover.placement.plan import Plan, unit_of


class HopNode(NamedTuple):
    """A node in a hop."""

    hop: int
    node: int


class DistributionRule(NamedTuple):
    """How the rows of a stream are distributed to the instances of a spread join."""

    port: FramePort
    side: int
    time: str  # column with event time
    epochs: Epochs
    places: tuple[HopNode, ...]  # of the instances
    weights: tuple[float, ...]  # of the rows or columns of the newest grid; equal if there are not as many


TravellingColumns = Mapping[tuple[FramePort, HopNode], tuple[str, ...]]  # by port and place, where these are not all


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a plan means for one micro-batch.

    `runs` has the operators of each place in topological order, with the instances of spread joins. `routes` has the
    places that all rows of a stream travel to, without the place where it is made. `distributions` says how streams
    are divided for spread joins. `columns` has the columns that travel. `resumed` has those of each input that are
    needed, by operator that works off what it has held.
    """

    hops: int
    nodes: int
    runs: Mapping[HopNode, tuple[Operator, ...]]
    place_of: Mapping[str, HopNode]  # by operator; for a spread join, the place of its first instance
    routes: Mapping[str, tuple[HopNode, ...]]
    distributions: Mapping[str, tuple[DistributionRule, ...]] = field(default_factory=dict)  # by stream
    made_at: Mapping[str, tuple[HopNode, ...]] = field(default_factory=dict)  # by stream, without sources
    herds: Mapping[HopNode, tuple[str, ...]] = field(default_factory=dict)  # families that run at each place
    wanted: Mapping[str, tuple[HopNode, ...]] = field(default_factory=dict)  # where only families read each stream
    columns: TravellingColumns = field(default_factory=dict)
    resumed: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)


def make_schedule(network: Network, plan: Plan) -> Schedule:
    """Return the hops of a plan."""
    place_of: dict[str, HopNode] = {}
    made_at: dict[str, tuple[HopNode, ...]] = {}
    runs: dict[HopNode, tuple[Operator, ...]] = {}
    spread: dict[str, tuple[HopNode, ...]] = {}
    for operator in network.order:
        placed: list[tuple[Operator, int]] = [(operator, plan.node_of[unit_of(operator)])]
        if isinstance(operator, Join) and operator.spread is not None:
            # Also with one instance: its rows need draws, because windows that are open now may be spread later.
            placed = [*make_instances(operator, plan)]
        places = []
        for runner, node in placed:
            # Instances of one join may run in different hops: each waits only for the streams on its own node.
            hop = max((arrival(made_at.get(stream, ()), node) for stream in operator.inputs), default=0)
            places.append(HopNode(hop, node))
            runs[places[-1]] = (*runs.get(places[-1], ()), runner)
        place_of[operator.name] = places[0]
        made_at |= dict.fromkeys(operator.outputs, tuple(places))
        if placed[0][0] is not operator:
            spread[operator.name] = tuple(places)
    routes = {}
    for stream, readers in network.readers.items():
        read_at = {place_of[reader.name] for reader in readers if reader.name not in spread}
        makers = made_at.get(stream, ())
        # With several makers, the stream travels even to their own nodes: each has only a part of the rows.
        routes[stream] = tuple(sorted(read_at - set(makers if len(makers) == 1 else ())))
    # At least one, even if sources go straight to the sinks.
    hops = 1 + max((place.hop for place in runs), default=0)
    return Schedule(hops, plan.nodes, runs, place_of, routes, _distributions(network, plan, spread), made_at)


def _distributions(
    network: Network, plan: Plan, spread: Mapping[str, tuple[HopNode, ...]]
) -> dict[str, tuple[DistributionRule, ...]]:
    """Return how streams are divided; `spread` has the places of the instances of each spread join."""
    found: dict[str, tuple[DistributionRule, ...]] = {}
    for operator in network.order:
        if isinstance(operator, Join) and operator.name in spread:
            made = instances_of(operator, plan)
            for side, stream in enumerate(operator.inputs):
                time = network.streams[stream].time or ""
                port = port_of(operator, side)
                places = spread[operator.name]
                rule = DistributionRule(port, side, time, made.epochs, places, made.weights[side])
                found[stream] = (*found.get(stream, ()), rule)
    return found


def arrival(made_at: tuple[HopNode, ...], node: int) -> int:
    """Return the hop in which `node` can read a stream that is made at these places; at none, if it is a source."""
    if not made_at:
        return 0
    # On the same node, rows pass in memory and can be read in the hop that makes them.
    alone = len(made_at) == 1 and made_at[0].node == node
    return made_at[0].hop if alone else 1 + max(place.hop for place in made_at)

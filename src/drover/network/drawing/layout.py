"""Layered layout of a directed acyclic graph, from left to right.

Rule 1: the layout knows boxes and wires, not networks; equal inputs give equal drawings.
Rule 2: a wire over several layers has a place of its own in each (a virtual box), so that it runs through no other box.
Rule 3: everything but sorting is linear in boxes, wires and virtual boxes.
The scheme is that of Sugiyama, Tagawa and Toda (1981): layers, order by barycentres, coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from drover.network.drawing.ordering import Box, Graph, Pixels, neighbours, order

Point: TypeAlias = tuple[Pixels, Pixels]

BETWEEN: Final[Pixels] = 22  # two boxes of a layer
BESIDE: Final[Pixels] = 12  # a wire and its neighbour
GAP: Final[Pixels] = 56  # two layers
PASSES: Final = 9  # odd: the last one goes rightwards and makes chains straight
STRAIGHT: Final = 8.0  # weight of straight wires against centred boxes


@dataclass(frozen=True, slots=True)
class Connector:
    """A connection from the right side of a box, `leaves` below its top, to the left side of another."""

    source: int
    target: int
    leaves: Pixels


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Positions: top left corners of boxes, points of wires (straight from odd to even points), and the total size."""

    corners: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    width: Pixels
    height: Pixels


def arrange(boxes: Sequence[Box], wires: Sequence[Connector]) -> Arrangement:
    """Return places for boxes and routes for wires; the graph must have no cycle."""
    graph = _split(boxes, wires, _layers(len(boxes), wires))
    layers = order(graph)
    middles = _box_middles(graph, layers)
    return _draw(graph, wires, layers, middles)


def _layers(count: int, wires: Sequence[Connector]) -> list[int]:
    """Return the layer of each box: after all boxes it depends on; a root is just before the first that needs it."""
    followers: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for wire in wires:
        followers[wire.source].append(wire.target)
        waits[wire.target] += 1
    roots = [box for box in range(count) if not waits[box]]
    layer = [0] * count
    free = list(roots)
    for box in free:  # grows while it is walked
        for follower in followers[box]:
            layer[follower] = max(layer[follower], layer[box] + 1)
            waits[follower] -= 1
            if not waits[follower]:
                free.append(follower)
    for box in roots:
        if followers[box]:
            layer[box] = min(layer[follower] for follower in followers[box]) - 1
    return layer


def _split(boxes: Sequence[Box], wires: Sequence[Connector], layer: list[int]) -> Graph:
    """Split long wires at every layer; wires that leave a box at the same point share virtual boxes."""
    every = list(boxes)
    layer = list(layer)
    shared: dict[tuple[int, Pixels, int], int] = {}
    links: dict[tuple[int, int, Pixels], None] = {}
    chains = []
    for wire in wires:
        chain = [wire.source]
        for between in range(layer[wire.source] + 1, layer[wire.target]):
            # Wires from one point to several targets run together until they part, instead of as parallel lines.
            key = (wire.source, wire.leaves, between)
            if key not in shared:
                shared[key] = len(every)
                every.append(Box(0, 0))
                layer.append(between)
            chain.append(shared[key])
        chain.append(wire.target)
        chains.append(tuple(chain))
        for index, (start, end) in enumerate(pairwise(chain)):
            links[start, end, wire.leaves if index == 0 else 0.0] = None
    return Graph(tuple(every), tuple(layer), tuple(links), tuple(chains), len(boxes))


def _box_middles(graph: Graph, layers: list[list[int]]) -> list[Pixels]:
    """Return the middle of each box: close to the boxes it is linked with, in order, and apart from its neighbours."""
    before, behind = neighbours(graph)
    middles = [0.0] * len(graph.boxes)
    for index in range(PASSES):
        for layer in layers if index % 2 == 0 else layers[::-1]:
            targets = []
            weights = []
            for box in layer:
                half = graph.boxes[box].height / 2
                linked = [_port(graph, middles, other, leaves) for other, leaves in before[box]]
                # The first and the last pass look at the inputs alone, so that wires enter boxes as straight as
                # possible.
                if 0 < index < PASSES - 1 or not linked:
                    linked += [
                        middles[other] + (half - leaves if box < graph.real else 0.0) for other, leaves in behind[box]
                    ]
                targets.append(sum(linked) / len(linked) if linked else middles[box])
                weights.append(STRAIGHT if box >= graph.real else 1.0)
            for box, middle in zip(layer, _spread(graph, layer, targets, weights), strict=True):
                middles[box] = middle
    return middles


def _port(graph: Graph, middles: list[Pixels], box: int, leaves: Pixels) -> Pixels:
    """Return the height at which a wire leaves a box."""
    return middles[box] + (leaves - graph.boxes[box].height / 2 if box < graph.real else 0.0)


def _spread(graph: Graph, layer: list[int], targets: list[Pixels], weights: list[float]) -> Iterator[Pixels]:
    """Yield positions close to the desired ones, by least squares, in order and apart: isotonic regression."""
    offsets = []
    offset = 0.0
    for index, box in enumerate(layer):
        if index:
            above = layer[index - 1]
            apart = BETWEEN if box < graph.real and above < graph.real else BESIDE
            offset += (graph.boxes[above].height + graph.boxes[box].height) / 2 + apart
        offsets.append(offset)
    pools: list[
        tuple[float, float, int]
    ] = []  # weighted sum of desired positions, weight, boxes; adjacent violators are pooled
    for linked, weight, shift in zip(targets, weights, offsets, strict=True):
        pool = ((linked - shift) * weight, weight, 1)
        while pools and pools[-1][0] / pools[-1][1] >= pool[0] / pool[1]:
            last = pools.pop()
            pool = (last[0] + pool[0], last[1] + pool[1], last[2] + pool[2])
        pools.append(pool)
    means = (total / weight for total, weight, boxes in pools for _ in range(boxes))
    return (mean + shift for mean, shift in zip(means, offsets, strict=True))


def _draw(graph: Graph, wires: Sequence[Connector], layers: list[list[int]], middles: list[Pixels]) -> Arrangement:
    """Return coordinates that begin at 0."""
    top = min((middles[box] - graph.boxes[box].height / 2 for layer in layers for box in layer), default=0.0)
    bottom = max((middles[box] + graph.boxes[box].height / 2 for layer in layers for box in layer), default=0.0)
    lefts = []
    rights = []
    x = 0.0
    for layer in layers:
        lefts.append(x)
        x += max(graph.boxes[box].width for box in layer)
        rights.append(x)
        x += GAP
    corners = tuple(
        (lefts[graph.layer[box]], middles[box] - graph.boxes[box].height / 2 - top) for box in range(graph.real)
    )
    entries = _entries(graph, wires, middles)
    routes = []
    for number, (wire, chain) in enumerate(zip(wires, graph.chains, strict=True)):
        start_x, start_y = corners[wire.source]
        points = [(start_x + graph.boxes[wire.source].width, start_y + wire.leaves)]
        points.append((rights[graph.layer[wire.source]], start_y + wire.leaves))
        for box in chain[1:-1]:
            height = middles[box] - top
            points += [(lefts[graph.layer[box]], height), (rights[graph.layer[box]], height)]
        points.append((corners[wire.target][0], corners[wire.target][1] + entries[number]))
        routes.append(tuple(points))
    return Arrangement(corners, tuple(routes), max(x - GAP, 0.0), bottom - top)


def _entries(graph: Graph, wires: Sequence[Connector], middles: list[Pixels]) -> dict[int, Pixels]:
    """Return, for each wire, how far below the top of its target it ends; wires end side by side, in order."""
    arriving: dict[int, list[tuple[Pixels, int]]] = {}
    for number, (wire, chain) in enumerate(zip(wires, graph.chains, strict=True)):
        leaves = wire.leaves if chain[-2] < graph.real else 0.0
        arriving.setdefault(wire.target, []).append((_port(graph, middles, chain[-2], leaves), number))
    entries = {}
    for target, found in arriving.items():
        height = graph.boxes[target].height
        for index, (_, number) in enumerate(sorted(found)):
            entries[number] = height * (index + 1) / (len(found) + 1)
    return entries
